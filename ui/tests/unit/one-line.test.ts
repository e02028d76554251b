import { expect, it } from 'vitest';
import { oneLine } from '../../src/parts/one-line';

it('takes the marks of Markdown off a title', () => {
  expect(oneLine('Where is my order **10482**?')).toBe('Where is my order 10482?');
  expect(oneLine('# Order\n\n- *two* `lamps`\n> [sent](https://a.example)')).toBe('Order two lamps sent');
  expect(oneLine('```json\n{"a": 1}\n```')).toBe('{"a": 1}');
  expect(oneLine('cut off **in the mid')).toBe('cut off in the mid');
});

it('leaves what only looks like it', () => {
  for (const text of ['2 * 3 * 4', '2**10', 'a_b_c and _x', 'order #10482', '5 > 4 - 1', 'price*', '~/notes', 'A-100'])
    expect(oneLine(text)).toBe(text);
});

import { expect, test } from 'vitest';
import { filesIn, filesOfParts, madeFiles } from '../../src/run/made';

const file = (key: string, more = {}): Record<string, unknown> => ({
  storage_key: key,
  name: `${key}.png`,
  media_type: 'image/png',
  size: 7,
  ...more,
});

test('files are read wherever they are listed, each once', () => {
  const a = { key: 'a', name: 'a.png', type: 'image/png', size: 7 };
  expect(madeFiles([file('a'), file('a'), file('b')]).map((x) => x.key)).toEqual(['a', 'b']);
  expect(madeFiles([{ storage_key: 'a', name: 'a.png', mime_type: 'image/png', size_bytes: 7, type: 'image' }])).toEqual([a]);
  expect(madeFiles([file('a', { name: null, size: undefined })])).toEqual([{ key: 'a', name: 'image/png', type: 'image/png', size: null }]);
  expect(
    filesOfParts([
      { type: 'text', text: 'x' },
      { type: 'file', ...file('b'), type2: 0 },
      { type: 'result', parts: [file('c')] },
    ]).map((x) => x.key),
  ).toEqual(['b', 'c']);
  expect([filesIn([file('a')]), filesIn({ result: 'x', files: [file('a')] })]).toEqual([[a], [a]]);
});

test('what is no list of files is none', () => {
  for (const wrong of [null, undefined, 'x', 3, {}, [null, 3, {}, { storage_key: 3, media_type: 'image/png' }, { storage_key: 'k' }]]) {
    expect(madeFiles(wrong)).toEqual([]);
    expect(filesIn(wrong)).toEqual([]);
  }
});

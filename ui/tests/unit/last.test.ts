import { expect, it, vi } from 'vitest';
import type { GraphNode } from '@wfstudio/client';

vi.stubGlobal('localStorage', { getItem: () => null });
vi.stubGlobal('location', { href: 'http://a.example/studio' });
vi.stubGlobal('document', { documentElement: { lang: 'en' }, querySelector: () => null });
const { keysOf } = await import('../../src/graph/order');
const { markOf, ticks } = await import('../../src/run/rows');
const { waited } = await import('../../src/run/waited');

const node = (type: string, data: Record<string, unknown>): GraphNode => ({ id: 'n', type, position: { x: 0, y: 0 }, data }) as GraphNode;

it('knows which keys a field reads and writes', () => {
  const llm = node('llm', { prompt: 'Say {{input}} to {{customer.name}} and {{["odd key"]}}, {{input}}', output_key: 'said' });
  expect(keysOf(llm, 'prompt').reads).toEqual(['input', 'customer', 'odd key']);
  expect(keysOf(llm, 'output_key')).toEqual({ reads: [], writes: 'said' });
  expect(keysOf(node('llm', {}), 'output_key').writes).toBe('llm_response');
  expect(keysOf(node('tool', { parameters: { order: '{{order_id}}' } }), 'parameters').reads).toEqual(['order_id']);
  expect(keysOf(node('condition', { rules: [{ state_key: 'a.b' }, { state_key: 'a' }, null] }), 'rules').reads).toEqual(['a']);
  expect(keysOf(node('condition', { state_key: 'order.total' }), 'state_key').reads).toEqual(['order']);
  expect(keysOf(node('set_state', { key: 'a.b', value: '{{c}}' }), 'key').writes).toBe('a');
});

it('tells waiting from work', () => {
  expect(waited(0, 10_000, 400, [])).toEqual([{ from: 240, to: 9840 }]);
  expect(waited(0, 43, 0, [])).toEqual([{ from: 0, to: 43 }]);
  expect(waited(0, 12, 2, [])).toEqual([]);
  expect(waited(0, 450, 300, [])).toEqual([]);
  expect(waited(0, null, null, [])).toEqual([]);
});

it('marks an axis with as few digits as it needs', () => {
  expect([0, 20, 500, 1000, 1500, 20_000, 90_000].map(markOf)).toEqual(['0', '20 ms', '500 ms', '1 s', '1.5 s', '20 s', '1 min 30 s']);
  expect([300_000, 3_600_000, 5_400_000].map(markOf)).toEqual(['5 min', '1 h', '1 h 30 min']);
  expect(ticks(2_000_000, 640).map(markOf)).toEqual(['0', '10 min', '20 min', '30 min']);
  expect(ticks(4000, 640).map(markOf)).toEqual(['0', '1 s', '2 s', '3 s', '4 s']);
});

// Owns the tests of reading events: any cut, any end of line, nothing that is no event.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseEvents, readEvents } from '../dist/index.js';

const TEXT = [
  '\uFEFFretry: 2000',
  '',
  'id: 1',
  'event: thread',
  'data: {"trace_id":"t"}',
  '',
  ': hb',
  '',
  'id: L2',
  'event: token',
  'data: {"delta":"olá\\n",',
  'data:"n":1}',
  '',
  'id: 3',
  'event: odd',
  'data: not json',
  '',
  'data: [1]',
  '',
  'data: {"bare":true}',
  '',
  'event: unfinished',
  'data: {}',
];
const WANTED = [
  { id: '1', name: 'thread', data: { trace_id: 't' } },
  { id: 'L2', name: 'token', data: { delta: 'olá\n', n: 1 } },
  { id: null, name: 'message', data: { bare: true } },
];

for (const [name, end] of [
  ['newline', '\n'],
  ['return', '\r'],
  ['both', '\r\n'],
]) {
  test(`the same events however text with ${name} is cut`, () => {
    const text = TEXT.join(end);
    for (let size = 1; size <= text.length; size += 1) {
      const told = [];
      const feed = parseEvents((event) => told.push(event));
      for (let at = 0; at < text.length; at += size) feed(text.slice(at, at + size));
      assert.deepEqual(told, WANTED, `pieces of ${size}`);
    }
  });
}

test('characters that are cut between chunks stay whole', async () => {
  const body = new ReadableStream({
    start(control) {
      for (const byte of new TextEncoder().encode(TEXT.join('\n'))) control.enqueue(new Uint8Array([byte]));
      control.close();
    },
  });
  const told = [];
  await readEvents(body, (event) => told.push(event));
  assert.deepEqual(told, WANTED);
});

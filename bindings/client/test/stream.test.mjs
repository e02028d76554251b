// Owns the tests of runs as streams: each event once through cut lines, typed ends, leaving, pressure on the sender.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, EVENTS } from '../dist/index.js';
import { json, serve, stream, told } from './server.mjs';

const BEGAN = [
  ['thread', { trace_id: 'T', thread_id: 'H' }],
  ['token', { trace_id: 'T', delta: 'a' }],
];
const DONE = ['trace_completed', { trace_id: 'T', reply: 'a' }];
const START = 'POST /studio/workflows/draft/run/stream';
const TAIL = 'GET /studio/workflows/runs/T/events/stream';

const all = async (run) => {
  const names = [];
  for await (const event of run) names.push(event.name);
  return names;
};

test('a run that is cut again and again goes on where it was, each event once, under one key', async (t) => {
  const deltas = [...'bcdef'].map((delta) => ['token', { trace_id: 'T', delta }]);
  const events = [...BEGAN, ...deltas, DONE];
  const { url, asked } = await serve(t, [
    [START, told(events, 3)],
    [TAIL, told(events, 3)],
  ]);
  const lines = [];
  const run = new Client({ url, onLine: (key, tries) => lines.push(tries) }).run('draft', { message: 'hi' });
  const ids = [];
  for await (const event of run) ids.push(event.id);
  assert.deepEqual(ids, ['1', '2', '3', '4', '5', '6', '7', '8']);
  assert.deepEqual(await run.end, { kind: 'rested', answer: null });
  assert.equal(run.traceId, 'T');
  const seen = asked.map((a) => [a.method, a.headers['last-event-id']]);
  assert.deepEqual(seen.at(0), ['POST', undefined]);
  assert.deepEqual(seen.at(-1), ['GET', '6']);
  assert.equal(new Set(asked.filter((a) => a.method === 'POST').map((a) => a.headers['idempotency-key'])).size, 1);
  assert.ok(lines.includes(1) && lines.at(-1) === 0);
});

test('a full server is asked again under the same key; one that stays full refuses', { timeout: 60_000 }, async (t) => {
  const full = json(429, { code: 'too_many_runs' }, { 'Retry-After': '0' });
  const { url, asked } = await serve(t, [
    [START, full, stream([...BEGAN, DONE])],
    [/third/, full],
    [/other/, json(429, { code: 'too_many_runs' }, { 'Retry-After': '600' })],
  ]);
  const studio = new Client({ url });
  assert.deepEqual((await studio.run('draft').end).kind, 'rested');
  assert.equal(asked.length, 2);
  assert.ok(asked[0].headers['idempotency-key'] && asked[0].headers['idempotency-key'] === asked[1].headers['idempotency-key']);
  await assert.rejects(all(studio.run('third')), { status: 429 });
  assert.equal(asked.length, 6);
  const other = studio.run('other', {}, { key: 'mine' });
  await assert.rejects(all(other), { status: 429, code: 'too_many_runs' });
  assert.equal((await other.end).kind, 'refused');
  assert.equal(asked.at(-1).headers['idempotency-key'], 'mine');
});

test('a run that nothing more is told of is lost, with the reason', async (t) => {
  const { url } = await serve(t, [
    [START, stream(BEGAN, 'cut')],
    [TAIL, json(403, { code: 'forbidden' })],
  ]);
  const run = new Client({ url }).run('draft');
  const names = [];
  await assert.rejects(
    async () => {
      for await (const event of run) names.push(event.name);
    },
    { code: 'forbidden' },
  );
  assert.deepEqual([names, (await run.end).kind], [['thread', 'token'], 'lost']);
});

test('who stops looking leaves the line and not the run', async (t) => {
  let gone;
  const left = new Promise((go) => (gone = go));
  const { url, asked } = await serve(t, [
    [
      START,
      (response, request) => {
        request.socket.on('close', gone);
        stream(BEGAN, 'hold')(response);
      },
    ],
  ]);
  const run = new Client({ url }).run('draft');
  for await (const event of run) if (event.name === 'token') break;
  await left;
  assert.deepEqual(await run.end, { kind: 'lost', problem: null });
  assert.equal(asked.length, 1);
});

test('a signal ends the iteration without an error', async (t) => {
  const { url } = await serve(t, [[START, stream(BEGAN, 'hold')]]);
  const stop = new AbortController();
  const names = [];
  for await (const event of new Client({ url }).run('draft', {}, { signal: stop.signal })) {
    names.push(event.name);
    if (event.name === 'token') setTimeout(() => stop.abort(), 100);
  }
  assert.deepEqual(names, ['thread', 'token']);
  assert.deepEqual(await all(new Client({ url }).run('draft', {}, { signal: AbortSignal.abort() })), []);
});

test('a slow reader slows the sender', { timeout: 60_000 }, async (t) => {
  let sent = 0;
  const many = 20_000;
  const { url } = await serve(t, [
    [
      START,
      async (response) => {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        const delta = 'x'.repeat(2000);
        for (; sent < many; sent += 1)
          if (!response.write(`id: ${sent + 1}\nevent: token\ndata: ${JSON.stringify({ trace_id: 'T', delta })}\n\n`))
            await new Promise((go) => response.once('drain', go));
        response.end(`id: ${many + 1}\nevent: trace_completed\ndata: {"trace_id":"T"}\n\n`);
      },
    ],
  ]);
  const run = new Client({ url }).run('draft');
  let got = 0;
  for await (const event of run) {
    got += 1;
    if (got === 1) {
      // Until no more is sent; all is too much.
      for (let before = -1; before !== sent;) {
        before = sent;
        await new Promise((go) => setTimeout(go, 300));
      }
      assert.ok(sent < many, 'it is sent on while nobody reads');
    }
    if (event.name === 'trace_completed') assert.equal(got, many + 1);
  }
  assert.equal(got, many + 1);
});

test('a pause is answered on its own stream; the tail begins behind what was seen', async (t) => {
  const { url, asked } = await serve(t, [
    [/resume/, stream([['trace_completed', { trace_id: 'T' }]], 'end', 9)],
    [TAIL, stream([DONE], 'end', 6)],
  ]);
  const studio = new Client({ url });
  assert.deepEqual(await all(studio.resume('T', { approval: 'approve' })), ['trace_completed']);
  assert.deepEqual(await all(studio.tail('T', { after: '5' })), ['trace_completed']);
  assert.deepEqual(
    asked.map((a) => [`${a.method} ${a.url}`, a.body, a.headers['last-event-id']]),
    [
      ['POST /studio/api/runs/T/resume/stream', '{"approval":"approve"}', undefined],
      [TAIL, '', '5'],
    ],
  );
});

test('a stream is read once, and its names are those of the library', async (t) => {
  const { url } = await serve(t, [[START, stream([...BEGAN, DONE])]]);
  const run = new Client({ url }).run('draft');
  await all(run);
  await assert.rejects(all(run), TypeError);
  assert.ok(EVENTS.includes('trace_completed') && EVENTS.includes('tool_approval_required'));
});

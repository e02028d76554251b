// Owns the tests of what ends a line: clean ends in the middle, silence, pauses in branches, refusals, times that a server names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '../dist/index.js';
import { json, serve, stream, text } from './server.mjs';

const BEGAN = [
  ['thread', { trace_id: 'T', thread_id: 'H' }],
  ['token', { trace_id: 'T', delta: 'a' }],
];
const DONE = ['trace_completed', { trace_id: 'T', reply: 'a' }];
const START = 'POST /studio/workflows/draft/run/stream';
const TAIL = 'GET /studio/workflows/runs/T/events/stream';
const RUN = /GET .*\/api\/runs\/T/;
const run = (status) => json(200, { trace: { id: 'T', status }, steps: [], spans: [] });
const pause = (name, id, more) => [name, { trace_id: 'T', pause_id: id, ...more }];

const all = async (events) => {
  const names = [];
  for await (const event of events) names.push(event.name);
  return names;
};
const ids = (asked) => asked.map((a) => [a.method, a.headers['last-event-id']]);

test('what a line that ended has not told yet is told, also of a run that rests meanwhile', async (t) => {
  const { url, asked } = await serve(t, [
    [START, stream(BEGAN, 'end')],
    [TAIL, stream([['token', { trace_id: 'T', delta: 'b' }], DONE], 'end', 3)],
    [RUN, run('completed')],
  ]);
  const told = new Client({ url }).run('draft');
  assert.deepEqual(await all(told), ['thread', 'token', 'token', 'trace_completed']);
  assert.deepEqual(await told.end, { kind: 'rested', answer: null });
  assert.deepEqual(ids(asked), [
    ['POST', undefined],
    ['GET', '2'],
  ]);
});

test('a run that came to rest between two tries is told to its end', { timeout: 60_000 }, async (t) => {
  const full = json(429, { code: 'too_many_streams' });
  const { url, asked } = await serve(t, [
    [START, stream(BEGAN, 'cut')],
    [TAIL, full, full, full, stream([DONE], 'end', 3)],
    [RUN, run('completed')],
  ]);
  assert.deepEqual(await all(new Client({ url }).run('draft')), ['thread', 'token', 'trace_completed']);
  assert.equal(asked.filter((a) => RUN.test(`${a.method} ${a.url}`)).length, 1);
});

test('a line that dies without a word is opened again', { timeout: 60_000 }, async (t) => {
  const { url, asked } = await serve(t, [
    [START, stream(BEGAN, 'hold')],
    [TAIL, () => undefined, stream([DONE], 'end', 3)],
  ]);
  assert.deepEqual(await all(new Client({ url, silence: 1500 }).run('draft')), ['thread', 'token', 'trace_completed']);
  assert.deepEqual(ids(asked), [
    ['POST', undefined],
    ['GET', '2'],
    ['GET', '2'],
  ]);
});

test('heartbeats are words, a reader who takes his time is no silence, and a run may be long in beginning', async (t) => {
  const { url, asked } = await serve(t, [
    [
      START,
      async (response) => {
        await new Promise((go) => setTimeout(go, 3000));
        stream([...BEGAN, ...Array(300).fill(BEGAN[1])], 'hold')(response);
        for (let n = 0; n < 15; n += 1) {
          await new Promise((go) => setTimeout(go, 300));
          response.write(': hb\n\n');
        }
        response.end(text([DONE], 303));
      },
    ],
  ]);
  let count = 0;
  for await (const event of new Client({ url, silence: 2000 }).run('draft')) {
    count += 1;
    if (count === 1) await new Promise((go) => setTimeout(go, 5000));
    assert.ok(event.id);
  }
  assert.deepEqual([count, asked.length], [303, 1]);
});

test('a pause outside of branches ends the stream at once', async (t) => {
  const { url, asked } = await serve(t, [[START, stream([BEGAN[0], pause('human_input_required', 'a')])]]);
  assert.deepEqual(await all(new Client({ url }).run('draft')), ['thread', 'human_input_required']);
  assert.equal(asked.length, 1);
});

test('the pause of a branch may be followed by that of another', { timeout: 60_000 }, async (t) => {
  const [one, two] = [{ branch_id: 'one' }, { branch_id: 'two' }];
  const rests = stream([['run_terminal', { trace_id: 'T', status: 'awaiting_input' }]], 'end', 6);
  const lines = [];
  const { url, asked } = await serve(t, [
    [START, stream([BEGAN[0], ['parallel_interrupt', { trace_id: 'T', ...one }], pause('human_input_required', 'a', one)])],
    [TAIL, stream([['parallel_interrupt', { trace_id: 'T', ...two }], pause('tool_approval_required', 'b', two)], 'end', 4), rests],
  ]);
  const names = await all(new Client({ url, onLine: (_, tries) => lines.push(tries) }).run('draft'));
  assert.deepEqual(names, [
    'thread',
    'parallel_interrupt',
    'human_input_required',
    'parallel_interrupt',
    'tool_approval_required',
    'run_terminal',
  ]);
  assert.deepEqual(ids(asked).slice(1), [
    ['GET', '3'],
    ['GET', '5'],
  ]);
  assert.ok(
    lines.every((tries) => tries === 0),
    'nobody is told that the line was cut',
  );
});

test('a very late time that the server names is no reason to ask without a pause', { timeout: 60_000 }, async (t) => {
  const { url, asked } = await serve(t, [
    [START, stream(BEGAN, 'cut')],
    [TAIL, json(503, { code: 'unavailable' }, { 'Retry-After': '9999999' })],
  ]);
  const told = new Client({ url }).run('draft', {}, { signal: AbortSignal.timeout(1200) });
  assert.equal((await told.end).kind, 'lost');
  assert.ok(asked.length < 4, `${asked.length} requests`);
});

test('where nobody can sign in, a refused token is told', { timeout: 60_000 }, async (t) => {
  const { url, asked } = await serve(t, [
    [START, json(401, { code: 'unauthenticated' })],
    [/other/, stream(BEGAN, 'cut')],
    [TAIL, json(401, { code: 'unauthenticated' })],
  ]);
  const studio = new Client({ url, headers: { Authorization: 'Bearer old' } });
  await assert.rejects(all(studio.run('draft')), { status: 401, code: 'unauthenticated' });
  assert.equal(asked.length, 1);
  const other = studio.run('other');
  await assert.rejects(all(other), { status: 401 });
  assert.equal((await other.end).kind, 'lost');
});

test('who says at once that somebody signed in is heard', { timeout: 60_000 }, async (t) => {
  const { url } = await serve(t, [[START, json(401, { code: 'unauthenticated' }), stream([...BEGAN, DONE])]]);
  let undone = 0;
  const onSignedIn = (go) => {
    go();
    return () => (undone += 1);
  };
  assert.deepEqual(await all(new Client({ url, onSignedIn }).run('draft')), ['thread', 'token', 'trace_completed']);
  assert.equal(undone, 1);
});

test('who always says at once that somebody signed in is no reason to ask without a pause', { timeout: 60_000 }, async (t) => {
  const { url, asked } = await serve(t, [[START, json(401, { code: 'unauthenticated' })]]);
  const onSignedIn = (go) => {
    go();
    return () => undefined;
  };
  const told = new Client({ url, onSignedIn }).run('draft', {}, { signal: AbortSignal.timeout(1200) });
  assert.equal((await told.end).kind, 'lost');
  assert.ok(asked.length < 6, `${asked.length} requests`);
});

test('where somebody can, the run waits for it', { timeout: 60_000 }, async (t) => {
  let signIn;
  const { url, asked } = await serve(t, [[START, json(401, { code: 'unauthenticated' }), stream([...BEGAN, DONE])]]);
  const onSignedIn = (go) => {
    signIn = go;
    return () => undefined;
  };
  const told = new Client({ url, onSignedIn }).run('draft');
  const names = all(told);
  while (!signIn) await new Promise((go) => setTimeout(go, 10));
  assert.equal(asked.length, 1);
  signIn();
  assert.deepEqual(await names, ['thread', 'token', 'trace_completed']);
});

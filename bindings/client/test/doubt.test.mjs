// Owns the tests of what nobody knows: requests that may have arrived end as lost, under their key; errors of the program end at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, isProblem, Problem } from '../dist/index.js';
import { json, serve, stream } from './server.mjs';

const BEGAN = [
  ['thread', { trace_id: 'T', thread_id: 'H' }],
  ['token', { trace_id: 'T', delta: 'a' }],
];
const DONE = ['trace_completed', { trace_id: 'T', reply: 'a' }];
const START = 'POST /studio/workflows/draft/run/stream';
const TAIL = 'GET /studio/workflows/runs/T/events/stream';
const RUN = /GET .*\/api\/runs\/T/;
const LONG = { timeout: 60_000 };

const cut = (response) => response.destroy();
const page = (response) => {
  response.writeHead(200, { 'Content-Type': 'text/html' });
  response.end('<html>');
};
const all = async (events) => {
  const names = [];
  for await (const event of events) names.push(event.name);
  return names;
};
const keys = (asked) => new Set(asked.map((a) => a.headers['idempotency-key']));
const thrower = (error) => () => {
  throw error;
};

for (const [what, answers, tries, code] of [
  ['an answer that never comes', [cut], 4, 'offline'],
  ['a page to sign in at', [page], 4, 'no_events'],
  ['a gateway that says no', [json(502, { code: 'bad_gateway' })], 4, 'bad_gateway'],
  ['a key that stays in progress', [json(409, { code: 'idempotency_in_progress' })], 4, 'idempotency_in_progress'],
  ['a fault of the server', [json(500, { code: 'internal' })], 1, 'internal'],
  ['a refusal behind a line that was cut', [cut, json(401, { code: 'unauthenticated' })], 2, 'unauthenticated'],
  ['a full server behind a fault that passes', [json(503), json(429, { code: 'full' }, { 'Retry-After': '600' })], 2, 'full'],
]) {
  test(`${what} is no refusal: the run is lost, with its key`, LONG, async (t) => {
    const { url, asked } = await serve(t, [[START, ...answers]]);
    const run = new Client({ url }).run('draft');
    await assert.rejects(all(run), { code });
    const end = await run.end;
    assert.deepEqual([end.kind, end.problem.code, asked.length, keys(asked)], ['lost', code, tries, new Set([end.key])]);
  });
}

test('what the server refuses with its first word is refused', async (t) => {
  const { url, asked } = await serve(t, [[START, json(422, { code: 'graph_invalid' })]]);
  const end = await new Client({ url }).run('draft').end;
  assert.deepEqual([end.kind, end.problem.code, 'key' in end, asked.length], ['refused', 'graph_invalid', false, 1]);
});

test('under the key of a lost request its run is found', LONG, async (t) => {
  const { url, asked } = await serve(t, [[START, cut, json(403, { code: 'forbidden' }), stream([...BEGAN, DONE])]]);
  const studio = new Client({ url });
  const { key } = await studio.run('draft').end;
  const run = studio.run('draft', {}, { key });
  assert.deepEqual(await all(run), ['thread', 'token', 'trace_completed']);
  assert.deepEqual([asked.length, keys(asked)], [3, new Set([key])]);
});

test('who leaves before anything was told can look again, too; who was told something follows the run', async (t) => {
  const leave = new AbortController();
  const { url, asked } = await serve(t, [
    [START, () => leave.abort()],
    [/other/, stream(BEGAN, 'cut')],
    [TAIL, json(403, { code: 'forbidden' })],
  ]);
  const studio = new Client({ url });
  const left = await studio.run('draft', {}, { signal: leave.signal }).end;
  assert.deepEqual([left.kind, left.problem, keys(asked)], ['lost', null, new Set([left.key])]);
  const lost = await studio.run('other').end;
  assert.deepEqual([lost.kind, 'key' in lost], ['lost', false]);
});

/** It ended with what the program threw. */
const ended = (end, cause) => {
  assert.deepEqual([end.kind, isProblem(end.problem), end.problem.status, end.problem.code], ['lost', true, -1, 'client_error']);
  let found = end.problem.cause;
  while (found !== cause && found?.cause) found = found.cause;
  assert.equal(found, cause);
};

test('a body that is no JSON is thrown at once and never sent', { timeout: 60_000 }, async (t) => {
  const { url, asked } = await serve(t, [[START, stream([...BEGAN, DONE])]]);
  const run = new Client({ url }).run('draft', { state: { id: 10n } });
  await assert.rejects(all(run), { code: 'client_error', message: /BigInt/ });
  assert.ok((await run.end).problem.cause instanceof TypeError);
  assert.equal(asked.length, 0);
});

test('headers that throw end a run, before it and in the middle', { timeout: 60_000 }, async (t) => {
  const { url, asked } = await serve(t, [[START, stream(BEGAN, 'cut')]]);
  const error = new Error('no token');
  const first = new Client({ url, headers: thrower(error) }).run('draft');
  await assert.rejects(all(first), { code: 'client_error' });
  ended(await first.end, error);
  let calls = 0;
  const headers = () => (++calls === 1 ? {} : thrower(error)());
  ended(await new Client({ url, headers }).run('draft').end, error);
  assert.deepEqual([asked.length, calls], [1, 2]);
});

for (const [what, error] of [
  ['an error', new Error('no login')],
  ['a Problem of another request', new Problem({ status: 503, code: 'unavailable', title: '', detail: '' })],
]) {
  test(`renew that rejects with ${what} is asked once`, { timeout: 60_000 }, async (t) => {
    const { url, asked } = await serve(t, [
      [START, stream(BEGAN, 'cut')],
      [TAIL, json(401, { code: 'unauthenticated' })],
    ]);
    let renewed = 0;
    const renew = async () => {
      renewed += 1;
      throw error;
    };
    ended(await new Client({ url, renew }).run('draft').end, error);
    assert.deepEqual([renewed, asked.length], [1, 2]);
  });
}

for (const [what, error] of [
  ['an error', new Error('not drawn')],
  ['a Problem', new Problem({ status: 503, code: 'unavailable', title: '', detail: '' })],
]) {
  test(`onEvent that throws ${what} ends the following and lets the connection go`, { timeout: 60_000 }, async (t) => {
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
    const told = [];
    const onEvent = (event) => {
      told.push(event.name);
      throw error;
    };
    const { signal } = new AbortController();
    ended(await new Client({ url }).follow({ path: '/workflows/draft/run/stream', body: {}, signal, onEvent }), error);
    await left;
    assert.deepEqual([told, asked.length], [['thread'], 1]);
  });
}

test('whatever else of the program throws ends the following, and `end` does not reject', LONG, async (t) => {
  const { url, asked } = await serve(t, [
    [START, stream(BEGAN, 'cut')],
    [TAIL, json(429, { code: 'too_many_streams' })],
    [RUN, json(200, { trace: { id: 'T', status: 'running' }, steps: [], spans: [] })],
  ]);
  const error = new Error('not mine');
  const { signal } = new AbortController();
  const request = { path: '/workflows/draft/run/stream', body: {}, signal, onEvent: () => undefined };
  ended(await new Client({ url }).follow({ ...request, ready: () => Promise.reject(error) }), error);
  ended(await new Client({ url, onLine: thrower(error) }).run('draft').end, error);
  ended(await new Client({ url, onConnection: thrower(error) }).run('draft').end, error);
  assert.equal(asked.length, 3);
  ended(await new Client({ url }).run('draft', {}, { onLook: thrower(error) }).end, error);
});

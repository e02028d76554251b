// Owns the tests of requests: addresses, what is sent along, problems, renewed sessions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, isProblem, Problem, withQuery } from '../dist/index.js';
import { json, serve } from './server.mjs';

test('an operation is a method, a path and a query', async (t) => {
  const { url, asked } = await serve(t, [[/./, json(200, { data: [], next_cursor: null })]]);
  const studio = new Client({ url, headers: { Authorization: 'Bearer t' } });
  await studio.call('GET /api/workflows', { query: { q: 'a&b', limit: 5, cursor: undefined } });
  await studio.call('PUT /api/agents/{id}', { path: { id: 'a/ü?' }, body: { name: 'A' }, revision: 7 });
  const [list, put] = asked;
  assert.equal(`${list.method} ${list.url}`, 'GET /studio/api/workflows?q=a%26b&limit=5');
  assert.deepEqual([list.headers.authorization, list.headers['x-requested-with']], ['Bearer t', undefined]);
  assert.equal(`${put.method} ${put.url}`, 'PUT /studio/api/agents/a%2F%C3%BC%3F');
  assert.deepEqual([put.body, put.headers['if-match'], put.headers['x-requested-with']], ['{"name":"A"}', '"7"', 'XMLHttpRequest']);
});

test('what would be another path is not sent', async (t) => {
  const { url, asked } = await serve(t, [[/./, json(200, {})]]);
  const studio = new Client({ url });
  for (const run of ['', '.', '..']) await assert.rejects(studio.call('DELETE /api/runs/{run}', { path: { run } }), TypeError);
  assert.equal(asked.length, 0);
});

test('a refusal is a Problem with all that was said', async (t) => {
  const problem = {
    type: 'urn:studio:problem:invalid',
    code: 'invalid',
    title: 'Invalid',
    detail: 'No name.',
    errors: { name: ['is missing'] },
  };
  const { url } = await serve(t, [
    [/POST/, json(422, problem, { 'X-Request-Id': 'r1' })],
    [/GET .*runs/, json(503, undefined, { 'Retry-After': '2' })],
  ]);
  const studio = new Client({ url });
  const first = await studio.call('POST /api/agents', { body: { name: '' } }).catch((error) => error);
  assert.ok(isProblem(first) && first instanceof Error);
  assert.deepEqual(
    [first.status, first.code, first.message, first.field('name'), first.requestId],
    [422, 'invalid', 'No name.', 'is missing', 'r1'],
  );
  const second = await studio.call('GET /api/runs').catch((error) => error);
  assert.deepEqual([second.status, second.code, second.retryAfter], [503, 'http_503', 2000]);
});

test('without a server the problem is `offline`, and that is told', async () => {
  const told = [];
  const studio = new Client({ url: 'http://127.0.0.1:9/studio', onConnection: (change) => told.push(change) });
  await assert.rejects(studio.call('GET /api/settings'), { status: 0, code: 'offline' });
  assert.deepEqual(told, [{ offline: true }]);
});

test('a line that breaks in the middle of an answer is `offline`; an abort there is an abort', async (t) => {
  const part = (status, cut) => (response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': 100 });
    response.write('{"a":', () => cut && response.destroy());
  };
  const { url } = await serve(t, [
    [/settings/, part(200, true)],
    [/runs/, part(200)],
    [/agents/, part(500)],
  ]);
  const told = [];
  const studio = new Client({ url, onConnection: (change) => told.push(change) });
  await assert.rejects(studio.call('GET /api/settings'), { status: 0, code: 'offline' });
  assert.deepEqual(told.at(-1), { offline: true });
  for (const operation of ['GET /api/runs', 'GET /api/agents']) {
    const error = await studio.call(operation, { signal: AbortSignal.timeout(200) }).catch((e) => e);
    assert.deepEqual([error instanceof Problem, error.name], [false, 'TimeoutError'], operation);
  }
});

test('a header is sent once, however its name is written; one that cannot be sent is an error of the program', async (t) => {
  const { url, asked } = await serve(t, [[/./, json(200, {})]]);
  const headers = { accept: 'text/plain', 'content-type': 'application/json', 'x-requested-with': 'mine', 'idempotency-key': 'one' };
  await new Client({ url, headers }).call('POST /api/agents', { body: { name: 'A' }, headers: { 'Idempotency-Key': 'two' } });
  const sent = asked[0].headers;
  assert.deepEqual(
    Object.keys(headers).map((name) => sent[name]),
    ['text/plain', 'application/json', 'XMLHttpRequest', 'two'],
  );
  // What is no plain object has no names of headers that its class has.
  const inherited = Object.create({ append: 'x' }, { 'X-Own': { value: 'y', enumerable: true } });
  await new Client({ url, headers: inherited }).call('GET /api/settings');
  assert.deepEqual([asked[1].headers['x-own'], asked[1].headers.append], ['y', undefined]);
  const bad = new Client({ url, headers: { Authorization: 'Bearer \u{1f511}' } });
  await assert.rejects(bad.call('GET /api/settings'), TypeError);
  assert.equal((await bad.run('draft').end).problem.code, 'client_error');
  assert.equal(asked.length, 2);
});

test('an aborted request is an abort, no problem', async (t) => {
  const { url } = await serve(t, [[/./, () => undefined]]);
  const error = await new Client({ url }).call('GET /api/settings', { signal: AbortSignal.timeout(20) }).catch((e) => e);
  assert.ok(!(error instanceof Problem));
  assert.equal(error.name, 'TimeoutError');
});

test('a session that could be renewed is gone on with, once', async (t) => {
  const { url, asked } = await serve(t, [
    [/./, json(401, { code: 'unauthenticated' }), json(200, {}), json(401, { code: 'unauthenticated' })],
  ]);
  let token = 'old';
  const studio = new Client({
    url,
    headers: () => ({ Authorization: token }),
    renew: async () => {
      token = 'new';
      return true;
    },
  });
  await studio.call('GET /api/settings');
  assert.deepEqual(
    asked.map((a) => a.headers.authorization),
    ['old', 'new'],
  );
  await assert.rejects(studio.call('GET /api/settings'), { status: 401 });
  assert.equal(asked.length, 4);
});

test('an answer without content is nothing; empty members of a query are left out', async (t) => {
  const { url } = await serve(t, [[/./, json(204)]]);
  assert.equal(await new Client({ url }).call('DELETE /api/agents/{id}', { path: { id: 'a' }, body: {} }), undefined);
  assert.equal(withQuery('/x', { a: null, b: '', c: 0, d: false }), '/x?c=0&d=false');
});

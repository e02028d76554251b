/** Owns proof that each mount carries everything, and says what went wrong where it cannot. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import http from 'node:http';
import { connect as connect2, createServer as createServer2 } from 'node:http2';
import net from 'node:net';
import test from 'node:test';
import compression from 'compression';
import express from 'express';
import { HttpAnswer } from '../dist/http/answer.js';
import { mount } from '../dist/http/express.js';
import { handler } from '../dist/http/fetch.js';
import { answer, listener } from '../dist/http/node.js';
import { calling, gate, opened, until } from './opened.mjs';

const FRAMEWORKS = ['http', 'express', 'fastify', 'koa', 'nest', 'fetch'];
const post = (body, more = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...more },
  body: JSON.stringify(body),
});

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** A studio behind one of the hosts of the conformance suite. */
async function served(t, framework) {
  const { studio, refunds } = await opened(t);
  const port = await freePort();
  const find = () => async () => ["the host's own page", 'text/plain'];
  const seen = [];
  const marks = (get) => ({
    user: async (request) => {
      seen.push(get(request, 'x-user'));
      return { id: '7', name: 'Zoë' };
    },
  });
  const { serve } = await import(`./hosts/${framework}.mjs`);
  const end = await serve({ studio, marks, find, port });
  t.after(() => end?.());
  return { studio, refunds, seen, base: `http://127.0.0.1:${port}`, port };
}

/** A request whose address is sent as it stands. */
function raw(port, target, headers = {}) {
  return new Promise((resolve, reject) => {
    const sent = http.request({ port, host: '127.0.0.1', path: target, headers }, async (answer) => {
      const parts = [];
      for await (const part of answer) parts.push(part);
      resolve({ status: answer.statusCode, headers: answer.headers, text: Buffer.concat(parts).toString() });
    });
    sent.on('error', reject).end();
  });
}

const bytesOf = (size) => Buffer.from(Uint8Array.from({ length: size }, (_, at) => (at * 7 + (at >> 8)) & 0xff));

for (const framework of FRAMEWORKS) {
  test(`${framework}: pages, JSON, refusals, the host's own routes`, async (t) => {
    const { base, port } = await served(t, framework);
    assert.equal(await (await fetch(`${base}/own/page`)).text(), "the host's own page");
    const page = await fetch(`${base}/studio/workflows`, { headers: { accept: 'text/html' } });
    assert.deepEqual([page.status, page.headers.get('content-type').split(';')[0]], [200, 'text/html']);
    const name = 'Zoë\'s "agent"\n2';
    const made = await fetch(`${base}/studio/api/agents`, post({ name, provider: 'script', model: 'echo' }));
    const agent = await made.json();
    assert.deepEqual([made.status, agent.name], [201, name]);
    const found = await raw(port, `/studio/api/agents?q=${encodeURIComponent("Zoë's")}`);
    assert.deepEqual(
      JSON.parse(found.text).data.map((one) => one.id),
      [agent.id],
    );
    const gone = await fetch(`${base}/studio/api/agents/${agent.id}`, { method: 'DELETE', headers: { 'x-requested-with': 'test' } });
    assert.deepEqual([gone.status, await gone.text()], [204, '']);
    const missing = await raw(port, '/studio/api/agents/a%2Fb%20%C3%BC');
    assert.deepEqual([missing.status, JSON.parse(missing.text).code], [404, 'not_found']);
    assert.ok(missing.headers['content-type'].startsWith('application/problem+json'));
    const malformed = await fetch(`${base}/studio/api/agents`, { ...post({}), body: '{' });
    assert.deepEqual([malformed.status, (await malformed.json()).code], [400, 'malformed_json']);
    const head = await fetch(`${base}/studio/api/settings`, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
  });

  test(`${framework}: a run is streamed, paused and resumed`, async (t) => {
    const { base, refunds } = await served(t, framework);
    const first = await fetch(`${base}/studio/workflows/refund/run/stream`, post({ message: 'Please refund order A-100' }));
    const told = await first.text();
    assert.ok(first.headers.get('content-type').startsWith('text/event-stream'));
    assert.ok(told.startsWith('retry: 2000\n') && told.includes('event: tool_approval_required'), told);
    const run = (await (await fetch(`${base}/studio/api/runs`)).json()).data[0].trace_id;
    const second = await (await fetch(`${base}/studio/workflows/traces/${run}/resume/stream`, post({ approval: 'approve' }))).text();
    assert.ok(second.includes('event: trace_completed'), second);
    assert.deepEqual(refunds, [['A-100', 25]]);
  });

  test(`${framework}: large bodies come and go byte for byte, too large ones are refused`, async (t) => {
    const { base } = await served(t, framework);
    const sent = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), bytesOf(9_000_000)]);
    const form = new FormData();
    form.append('file', new Blob([sent], { type: 'image/png' }), 'a.png');
    const made = await fetch(`${base}/studio/api/attachments`, { method: 'POST', body: form, headers: { 'x-requested-with': 'test' } });
    assert.equal(made.status, 201);
    const { storage_key } = await made.json();
    const kept = await fetch(`${base}/studio/api/attachments/file?storage_key=${encodeURIComponent(storage_key)}`);
    assert.ok(Buffer.from(await kept.arrayBuffer()).equals(sent));
    const large = await fetch(`${base}/studio/api/agents`, post({ name: 'x'.repeat(12_000_000) }));
    assert.equal(large.status, 413);
    assert.ok((await large.text()).length > 10);
  });

  test(`${framework}: a client that leaves closes its stream`, async (t) => {
    const { studio, base } = await served(t, framework);
    const [begun, told] = [gate(), gate()];
    studio.tool({ name: 'slow', timeoutMs: 30_000 }, async (_input, { signal }) => {
      begun.open();
      await new Promise((done) => signal.addEventListener('abort', done, { once: true }));
      told.open();
    });
    await studio.call('workflow.save', calling('slow'));
    const control = new AbortController();
    const answer = await fetch(`${base}/studio/workflows/calls-slow/run/stream`, {
      ...post({ message: 'x', on_disconnect: 'cancel' }),
      signal: control.signal,
    });
    await answer.body.getReader().read();
    await begun.opened;
    control.abort();
    await told.opened;
  });

  test(`${framework}: a mark that is misspelt lets nobody in`, async (t) => {
    const { studio } = await opened(t);
    const port = await freePort();
    const { serve } = await import(`./hosts/${framework}.mjs`);
    t.mock.method(console, 'error', () => {});
    const marks = () => ({ gate: true, user: { id: '7' }, tennant: 'ann' });
    const end = await serve({ studio, marks, find: () => async () => ['', 'text/plain'], port });
    t.after(() => end?.());
    assert.equal((await fetch(`http://127.0.0.1:${port}/studio/api/agents`)).status, 500);
  });

  test(`${framework}: a mark that throws lets nobody in`, async (t) => {
    const { studio } = await opened(t);
    const port = await freePort();
    const { serve } = await import(`./hosts/${framework}.mjs`);
    const marks = () => ({
      gate: async () => {
        throw new Error('the session store is away');
      },
    });
    const quiet = t.mock.method(console, 'error', () => {});
    const end = await serve({ studio, marks, find: () => async () => ['', 'text/plain'], port });
    t.after(() => end?.());
    const answer = await fetch(`http://127.0.0.1:${port}/studio/api/agents`);
    assert.equal(answer.status, 500);
    assert.ok(!(await answer.text()).includes('"data"'));
    void quiet;
  });
}

test('a body that was parsed before is told, and its raw bytes are taken where they were kept', async (t) => {
  const { studio } = await opened(t);
  const serve = async (options) => {
    const app = express();
    app.use(express.json(options));
    mount(app, studio, { gate: true });
    const server = await new Promise((done) => {
      const made = app.listen(0, '127.0.0.1', () => done(made));
    });
    t.after(() => server.closeAllConnections() ?? server.close());
    return `http://127.0.0.1:${server.address().port}`;
  };
  const refused = await fetch(`${await serve({})}/studio/api/agents`, post({ name: 'a' }));
  assert.equal(refused.status, 500);
  assert.match((await refused.json()).detail, /before `express\.json\(\)`/);
  const keep = { verify: (request, _response, bytes) => void (request.rawBody = bytes) };
  const taken = await fetch(`${await serve(keep)}/studio/api/agents`, post({ name: 'Kept', provider: 'script', model: 'echo' }));
  assert.equal(taken.status, 201);
});

test('below a path of an Express router', async (t) => {
  const { studio } = await opened(t);
  const [app, router] = [express(), express.Router()];
  mount(router, studio, { gate: (request) => request.get('x-staff') === 'yes' });
  app.use('/shop', router);
  const server = await new Promise((done) => {
    const made = app.listen(0, '127.0.0.1', () => done(made));
  });
  t.after(() => server.closeAllConnections() ?? server.close());
  const base = `http://127.0.0.1:${server.address().port}/shop/studio/api/agents`;
  assert.equal((await fetch(base, { headers: { 'x-staff': 'yes' } })).status, 200);
  assert.equal((await fetch(base)).status, 403);
});

test('compression leaves event streams alone', async (t) => {
  const { studio } = await opened(t);
  const app = express();
  app.use(compression());
  mount(app, studio, { gate: true });
  const server = await new Promise((done) => {
    const made = app.listen(0, '127.0.0.1', () => done(made));
  });
  t.after(() => server.closeAllConnections() ?? server.close());
  const told = await fetch(`http://127.0.0.1:${server.address().port}/studio/workflows/refund/run/stream`, post({ message: 'hi' }));
  assert.equal(told.headers.get('content-encoding'), null);
  await told.text();
});

test('a stream that may be compressed comes piece by piece all the same', async (t) => {
  const { studio } = await opened(t);
  const held = gate();
  t.after(() => held.open());
  studio.tool({ name: 'hold' }, () => held.opened);
  await studio.call('workflow.save', calling('hold'));
  const app = express();
  app.use(compression());
  mount(app, studio, { gate: true });
  const server = await new Promise((done) => {
    const made = app.listen(0, '127.0.0.1', () => done(made));
  });
  t.after(() => server.closeAllConnections() ?? server.close());
  const asked = { id: 'c', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'hi' }] }], trigger: 'submit-message' };
  const told = await fetch(`http://127.0.0.1:${server.address().port}/api/studio/workflows/calls-hold/stream/vercel`, {
    ...post(asked),
    signal: AbortSignal.timeout(10_000),
  });
  assert.equal(told.headers.get('content-encoding'), 'gzip');
  const reader = told.body.getReader();
  const first = await reader.read();
  assert.match(new TextDecoder().decode(first.value), /"type":"start"/, 'the tool still runs');
  held.open();
  while (!(await reader.read()).done);
});

test('a web request whose body was read before is told', async (t) => {
  const { studio } = await opened(t);
  const { POST } = handler(studio, { gate: true });
  const request = new Request('http://127.0.0.1/studio/api/agents', post({ name: 'a' }));
  await request.text();
  const answer = await POST(request);
  assert.equal(answer.status, 500);
  assert.match((await answer.json()).detail, /was read before/);
});

test('an answer that is there as a whole is sent with its length', async (t) => {
  const { port } = await served(t, 'http');
  const told = await raw(port, '/studio/api/settings');
  assert.deepEqual([told.status, told.headers['content-length']], [200, String(Buffer.byteLength(told.text))]);
});

test('a closed studio answers 503', async (t) => {
  const { base, studio } = await served(t, 'http');
  assert.equal((await fetch(`${base}/studio/api/settings`)).status, 200);
  await studio.close(1000);
  const answer = await fetch(`${base}/studio/api/settings`);
  assert.equal(answer.status, 503);
  assert.equal((await answer.json()).status, 503);
  await until(async () => (await fetch(`${base}/own/page`)).ok);
});

test('a body of HTTP/2, whose length nobody says, is read', async (t) => {
  const { studio } = await opened(t);
  const server = createServer2(listener(studio, { gate: true }));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const client = connect2(`http://127.0.0.1:${server.address().port}`);
  t.after(() => client.close());
  const request = client.request({ ':method': 'POST', ':path': '/studio/workflows/refund/run/stream', 'content-type': 'application/json' });
  request.write('{"message":');
  request.end('"Please refund order A-100"}');
  let told = '';
  for await (const part of request.setEncoding('utf8')) told += part;
  assert.match(told, /event: human_input_required|event: tool_approval_required|event: trace_/, told);
});

test('what the application says of caches and what the studio says add up', async (t) => {
  const { studio } = await opened(t);
  const answers = listener(studio);
  const server = http.createServer((request, response) => {
    response.setHeader('Vary', 'Origin');
    answers(request, response);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const { port } = server.address();
  const page = await raw(port, '/studio/workflows', { accept: 'text/html' });
  const asset = await raw(port, `/studio/${page.text.match(/assets\/[^"]+\.js/)[0]}`);
  assert.deepEqual([asset.status, asset.headers.vary], [200, 'Origin, accept-encoding']);
});

test("the application's own pages are served while the studio cannot say its mounts", async (t) => {
  const [closed, refused] = [await opened(t), await opened(t)];
  await closed.studio.close(200);
  refused.studio.tool({ name: 'late', timeoutMs: -1 }, () => 1);
  for (const [{ studio }, status] of [
    [closed, 503],
    [refused, 400],
  ]) {
    const app = express();
    mount(app, studio, { gate: true });
    app.get('/own', (_request, response) => response.send('own'));
    const server = await new Promise((done) => {
      const made = app.listen(0, '127.0.0.1', () => done(made));
    });
    t.after(() => server.closeAllConnections() ?? server.close());
    const base = `http://127.0.0.1:${server.address().port}`;
    assert.equal(await (await fetch(`${base}/own`)).text(), 'own');
    assert.equal((await fetch(`${base}/studio/api/settings`)).status, status);
  }
});

test('a client that left before its request came to the studio', async (t) => {
  const { studio } = await opened(t);
  for (const make of [http.createServer, createServer2]) {
    const [came, left, ended] = [gate(), gate(), gate()];
    const server = make((request, response) => {
      came.open();
      response.once('close', () =>
        setTimeout(() => {
          answer(studio, { gate: true }, request, response).then(ended.open, ended.open);
          left.open();
        }, 10),
      );
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.after(() => server.close());
    const { port } = server.address();
    const client = make === createServer2 ? connect2(`http://127.0.0.1:${port}`) : net.connect(port, '127.0.0.1');
    if (make === createServer2) client.request({ ':path': '/studio/api/settings' }).on('error', () => {});
    else client.write('POST /studio/api/agents HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{');
    await came.opened;
    client.destroy();
    await left.opened;
    await Promise.race([ended.opened, new Promise((_, late) => setTimeout(() => late(new Error('it waits for ever')), 30_000))]);
  }
});

for (const [how, now] of Object.entries({ 'comes later': () => null, 'is there': (pieces) => ({ bytes: pieces.shift() }) })) {
  test(`an answer that the application ends meanwhile, and whose body ${how}`, async (t) => {
    const [pieces, closed] = [[Buffer.from('one'), Buffer.from('two'), undefined], gate()];
    const stream = { now: () => now(pieces), next: async () => ({ bytes: pieces.shift() }), close: closed.open };
    const studio = { http: async () => new HttpAnswer({ status: 200, headers: [] }, stream) };
    const failed = [];
    const server = http.createServer((request, response) => {
      response.on('error', (error) => failed.push(error.code));
      const write = response.write.bind(response);
      response.write = (piece) => [write(piece), response.end()][0];
      void answer(studio, {}, request, response);
    });
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.after(() => server.close());
    assert.equal((await raw(server.address().port, '/studio')).text, 'one');
    await closed.opened;
    assert.deepEqual(failed, []);
  });
}

test('an answer that comes when the application has ended its own', async (t) => {
  const [ended, closed] = [gate(), gate()];
  const stream = { now: () => null, next: async () => ({ bytes: Buffer.from('late') }), close: closed.open };
  const answered = async () => {
    await ended.opened;
    return new HttpAnswer({ status: 200, headers: [['content-type', 'text/plain']] }, stream);
  };
  const server = http.createServer((request, response) => {
    void answer({ http: answered }, {}, request, response);
    response.writeHead(503).end('too slow', ended.open);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const told = await raw(server.address().port, '/studio');
  assert.deepEqual([told.status, told.text], [503, 'too slow']);
  await closed.opened;
});

test('an answer that comes while the application sends its own', async (t) => {
  const [begun, closed] = [gate(), gate()];
  const stream = { now: () => null, next: async () => ({ bytes: Buffer.from('late') }), close: closed.open };
  const answered = async () => {
    await begun.opened;
    return new HttpAnswer({ status: 200, headers: [['content-type', 'text/plain']] }, stream);
  };
  const server = http.createServer(async (request, response) => {
    void answer({ http: answered }, {}, request, response);
    response.writeHead(503).write('too ', begun.open);
    await closed.opened;
    response.end('slow');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const told = await raw(server.address().port, '/studio');
  assert.deepEqual([told.status, told.text], [503, 'too slow']);
});

test('below a path that only the mark says', async (t) => {
  const { studio } = await opened(t);
  const own = (_request, response) => response.end('own');
  for (const [rootPath, path, status] of [
    ['/shop', '/shop/studio/api/settings', 200],
    [() => '/shop/', '/shop/studio/api/settings', 200],
    ['/shop/studio', '/shop/studio/api/settings', 200],
    ['/shop', '/studio/api/settings', 200],
    ['/shop', '/shop/studios', undefined],
    ['/shop', '/shopping/studio/api/settings', undefined],
  ]) {
    const server = http.createServer(listener(studio, { gate: true, rootPath }, own));
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    t.after(() => server.closeAllConnections() ?? server.close());
    const told = await raw(server.address().port, path);
    assert.deepEqual([told.status, told.text === 'own'], [status ?? 200, status === undefined], `${rootPath} ${path}`);
  }
});

test("the mark of the root path is not asked for the application's own pages", async (t) => {
  const { studio } = await opened(t);
  const rootPath = (request) => {
    if (!request.url.startsWith('/shop')) throw new Error('there is no shop');
    return '/shop';
  };
  const server = http.createServer(listener(studio, { gate: true, rootPath }, (_request, response) => response.end('own')));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.closeAllConnections() ?? server.close());
  for (const path of ['/', '/own', '/shops/studios', '/mystudio']) assert.equal((await raw(server.address().port, path)).text, 'own', path);
  assert.equal((await raw(server.address().port, '/shop/studio/api/settings')).status, 200);
});

test('an answer that was read holds no signal', async (t) => {
  const { studio } = await opened(t);
  const { signal } = new AbortController();
  await (await studio.http({ method: 'GET', path: '/studio/api/settings', gate: true }, { signal })).text();
  await studio.http({ method: 'NO METHOD', path: '/studio' }, { signal }).catch(() => {});
  await studio.call('health', {}, { signal });
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

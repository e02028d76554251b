/** The host of the conformance suite (bindings/conformance/README.md): `FRAMEWORK` is http, express, fastify, koa, nest or fetch. */

import { readFileSync } from 'node:fs';
import { Studio, StudioError } from './dist/index.js';

const { PORT, CONFIG, DATABASE, FRAMEWORK = 'http' } = process.env;
const studio = await Studio.open(CONFIG ? JSON.parse(readFileSync(CONFIG, 'utf8')) : { database: { path: DATABASE } });

let journal = [];
const note = (entry) => void journal.push(entry);
const order = { type: 'object', properties: { order_id: { type: 'string' } }, required: ['order_id'] };
const refundSchema = {
  type: 'object',
  properties: { order_id: { type: 'string' }, amount: { type: 'integer' } },
  required: ['order_id', 'amount'],
};

/** A tool that is noted when it is called. */
function tool(declaration, run) {
  studio.tool({ inputSchema: order, ...declaration }, (input, context) => {
    const { tenant = null, user = null } = context.payload;
    note({ op: 'tool.call', name: declaration.name, arguments: input, tenant, user });
    return run(input, context);
  });
}

tool({ name: 'lookup', description: 'Looks an order up', idempotent: true }, ({ order_id }) => ({
  note: 'Grüße, <b>&</b> 🌍',
  order_id,
  status: 'shipped',
}));
tool(
  { name: 'refund', description: 'Pays an order back', requireApproval: true, inputSchema: refundSchema },
  async ({ order_id, amount }) => ({ order_id, refunded: amount }),
);
tool({ name: 'refuse', description: 'Always refuses' }, async () => {
  throw new Error('the order is closed');
});
tool({ name: 'explode', description: 'Always throws' }, () => {
  throw new Error('boom');
});
tool({ name: 'slow', description: 'Takes its time', timeoutMs: 20_000 }, async (_input, { signal }) => {
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
    setTimeout(resolve, 15_000).unref();
  });
  if (signal.aborted) note({ op: 'cancelled', name: 'slow' });
  return null;
});

studio.answer('gate', ({ method, path, user = null }) => {
  note({ op: 'gate', method, path, user });
  return { allow: user?.id === 'ada' };
});
studio.answer('secret.get', ({ name, tenant = null }) => {
  note({ op: 'secret.get', name, tenant });
  if (name !== 'PEER_KEY') throw new Error('no such secret');
  return { value: 'key-of-the-peer' };
});
studio.answer('provider.chat', async function* ({ model, messages }) {
  const last = messages.findLast((message) => message.role === 'user').content;
  note({ op: 'provider.chat', model, last });
  if (model === 'mute') throw new Error('the model is away');
  for (const delta of ['You ', 'said: ', last]) yield { delta };
  const message = { role: 'assistant', content: `You said: ${last}` };
  return { message, usage: { prompt_tokens: 7, completion_tokens: 5 }, finish_reason: 'stop' };
});

const failed = (error) => ({ error: error instanceof StudioError ? error.code : String(error), problem: error.problem?.code ?? null });

async function run({ run, resume, leave_after, cancel_after, count }) {
  const lines = [];
  let [counted, tokens] = [0, 0];
  try {
    const events = run ? studio.run(run) : studio.resume(resume);
    for await (const event of events) {
      const { name } = event;
      if (count) {
        counted += 1;
        if (name === 'token') tokens += 1;
        continue;
      }
      const { data } = event;
      lines.push({ event: name, data });
      if (name === leave_after) return [...lines, { left: true }];
      if (name === cancel_after) events.cancel();
    }
    if (count) lines.push({ counted, tokens });
    lines.push({ end: true });
  } catch (error) {
    lines.push(failed(error));
  }
  return lines;
}

const ends = {
  exit: () => process.exit(0),
  throw: () =>
    setImmediate(() => {
      throw new Error('nobody catches this');
    }),
  now: () => process.reallyExit?.(70) ?? process.kill(process.pid, 'SIGKILL'),
};

/** The routes of the application itself: text or JSON, and the type. */
const own = {
  'GET /own/ping': async () => ['pong', 'text/plain'],
  'GET /own/journal': async () => [JSON.stringify(journal.splice(0)), 'application/json'],
  'POST /own/run': async (body) => [(await run(body)).map((line) => `${JSON.stringify(line)}\n`).join(''), 'application/x-ndjson'],
  'POST /own/call': async ({ op, request }) => [
    JSON.stringify(await studio.call(op, request).then((result) => ({ result }), failed)),
    'application/json',
  ],
  'POST /own/close': async () => (await studio.close(2000), ['{"closed":true}', 'application/json']),
  'POST /own/crash': async ({ how }) => (ends[how](), ['{}', 'application/json']),
};
const find = (method, url) => own[`${method} ${url.split('?', 1)[0]}`] ?? (async () => ['not found', 'text/plain', 404]);

const heads = { user: (id) => ({ id }), gate: (said) => said === 'open', tenant: (said) => said, authorized: (said) => said === 'yes' };
/** The marks of a request, whose headers `get` has. */
export const marks = (get) =>
  Object.fromEntries(
    Object.entries(heads).map(([name, read]) => [
      name,
      (request) => {
        const said = get(request, `x-${name}`);
        return said ? read(said) : undefined;
      },
    ]),
  );

const { serve } = await import(`./test/hosts/${FRAMEWORK}.mjs`);
const end = await serve({ studio, marks, find, port: Number(PORT) });
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.on(signal, async () => {
    await studio.close(5000);
    await end?.();
    process.exit(0);
  });
}

/** Owns what the compiler has to accept and to refuse; it is compiled, not run. */
import { Client, type Agent, type End, type Workflow } from '../src/index.js';

const studio = new Client({ url: '/studio' });

export async function accepted(): Promise<(string | undefined)[]> {
  const list = await studio.call('GET /api/workflows', { query: { limit: 5 } });
  const agent: Agent = await studio.call('POST /api/agents', { body: { name: 'A', provider: 'openai', model: 'm', instructions: '' } });
  const whole: Workflow = await studio.call('GET /api/workflows/{id}', { path: { id: 'draft' } });
  await studio.call('GET /api/settings');
  const run = studio.run('draft', { message: 'hi' });
  for await (const event of run) {
    if (event.name === 'token') event.data.delta.toUpperCase();
    // @ts-expect-error the data of another event
    if (event.name === 'thread') event.data.delta;
    // @ts-expect-error there is no such event
    if (event.name === 'tokens') break;
  }
  for await (const event of studio.chat('a', { message: 'hi' })) if (event.name === 'done') break;
  const end: End = await run.end;
  if (end.kind === 'refused') return [end.problem.code];
  return [list.data[0]?.slug, agent.slug, whole.name];
}

/** Shapes are told down to their last members. */
export async function told(): Promise<(string | number | null | undefined)[]> {
  const { nodes } = (await studio.call('GET /api/workflows/{id}', { path: { id: 'draft' } })).graph;
  const { trace } = await studio.call('GET /api/runs/{run}', { path: { run: 'r' }, query: { include: 'graph' } });
  const key = (await studio.call('GET /api/graph/schema')).node_types[0]?.keys[0];
  const model = (await studio.call('GET /api/providers')).data[0]?.models[0];
  const base = await studio.call('GET /api/knowledge-bases/{id}', { path: { id: 'docs' } });
  // A graph is sent with less than it is answered with.
  await studio.call('POST /api/workflows', { body: { name: 'A', graph: { version: 1, nodes: [{ id: 's', type: 'start' }], edges: [] } } });
  // @ts-expect-error a file of a message is not as it was uploaded
  const address = trace.input.attachments[0]?.url;
  return [
    nodes[0]?.position.x,
    trace.input.message,
    trace.error?.calls?.[0]?.name,
    key?.values?.[0],
    model?.price?.input,
    base.chunking.max_words,
    address,
  ];
}

export function refused(): unknown[] {
  return [
    // @ts-expect-error there is no such operation
    studio.call('GET /api/workflow'),
    // @ts-expect-error the path has a value
    studio.call('GET /api/workflows/{id}'),
    // @ts-expect-error the value has another name
    studio.call('GET /api/workflows/{id}', { path: { run: 'x' } }),
    // @ts-expect-error a body of another shape
    studio.call('POST /api/agents', { body: { name: 5 } }),
    // @ts-expect-error an operation that is a stream
    studio.call('POST /workflows/{id}/run/stream', { path: { id: 'x' } }),
    // @ts-expect-error a message is text
    studio.run('draft', { message: 5 }),
  ];
}

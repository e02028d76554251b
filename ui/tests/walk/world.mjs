/** Owns what a walk is among: two workflows, an agent for each tab's form, one to talk to, and what is expected of them. */

const node = (id, type, x, y, data) => ({ id, type, position: { x, y }, title: id, data });
const edge = (source, target, sourceHandle = 'default') => ({
  id: `${source}-${target}`,
  source,
  target,
  sourceHandle,
  targetHandle: 'default',
});

/** A person is asked, then an agent wants to use a tool, then a model tells something slowly. */
function graph(mark, clerk) {
  const [start, human, agent, model, stop] = ['start', 'human', 'agent', 'model', 'stop'].map((name) => `${name}_${mark}`);
  return {
    version: 1,
    nodes: [
      node(start, 'start', 0, 20, {}),
      node(human, 'human', 200, 0, { prompt: 'Which order?', output_key: 'order' }),
      node(agent, 'agent', 460, 0, {
        config_mode: 'existing',
        agent_id: clerk,
        message: '{{order}}',
        require_tool_approval: true,
        memory: 'none',
        output_key: 'refund',
      }),
      node(model, 'llm', 200, 160, { provider: 'script', model: 'slow', prompt: '{{refund}}', stream: true, output_key: 'said' }),
      node(stop, 'stop', 480, 180, { reply: '{{said}}' }),
    ],
    edges: [edge(start, human), edge(human, agent), edge(agent, model), edge(agent, stop, 'rejected'), edge(model, stop)],
  };
}

/** What a graph looks like on a canvas: the title of each node. */
export const docOf = (g) => Object.fromEntries((g?.nodes ?? []).filter((n) => n.type !== 'note').map((n) => [n.id, n.title || n.id]));
export const same = (a, b) => {
  const keys = Object.keys(a ?? {});
  return !!a && !!b && keys.length === Object.keys(b).length && keys.every((k) => a[k] === b[k]);
};

/** Nodes out of sight are not drawn: what is drawn has to be as it is expected. */
export const agrees = (want, drawn) => Object.entries(drawn).every(([id, title]) => want[id] === title);

export function apiOf(base) {
  return async (path, init = {}) => {
    const response = await fetch(base + path, {
      ...init,
      headers: { 'Content-Type': 'application/json', 'X-Requested-With': 'walk', Origin: new URL(base).origin, ...init.headers },
    });
    if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${path}: ${response.status} ${(await response.text()).slice(0, 300)}`);
    return response.status === 204 ? null : response.json();
  };
}

/** Begins a turn of an agent and hears it to its end. */
async function talk(base, agent, message) {
  const headers = {
    'Content-Type': 'application/json',
    'X-Requested-With': 'walk',
    Origin: new URL(base).origin,
    Accept: 'text/event-stream',
  };
  const answer = await fetch(`${base}/agents/${agent}/chat/stream`, { method: 'POST', headers, body: JSON.stringify({ message }) });
  if (!answer.ok) throw new Error(`the turn of ${agent}: ${answer.status}`);
  await answer.text();
}

/** Two sessions and a run of each workflow wait for a person from the beginning. */
export async function makeWorld(base) {
  const api = apiOf(base);
  const make = (path, body) => api(path, { method: 'POST', body: JSON.stringify(body) });
  const clerk = await make('/api/agents', {
    name: 'Clerk',
    provider: 'script',
    model: 'clerk',
    instructions: 'Refund.',
    tools: [{ ref: 'toolkit:demo', only: ['issue_refund'] }],
    require_tool_approval: true,
  });
  const flows = [];
  for (const mark of ['a', 'b']) {
    const g = graph(mark, clerk.id);
    const made = await make('/api/workflows', { name: `Walk ${mark}`, graph: g });
    const { trace_id } = await make(`/workflows/${made.id}/run`, { message: `begin ${mark}` });
    flows.push({
      id: made.id,
      run: trace_id,
      mark,
      doc: docOf(g),
      log: [docOf(g)],
      presses: [],
      versions: [],
      hands: false,
      touched: false,
    });
  }
  const forms = [];
  for (const n of [0, 1]) {
    const made = await make('/api/agents', { name: `Form ${n}`, provider: 'script', model: 'echo', instructions: 'begin' });
    forms.push({ id: made.id, was: new Set(['begin']), typed: null });
  }
  const tools = [];
  for (const n of [0, 1]) {
    const name = `walk_${Date.now().toString(36)}_${n}`;
    const body = { name, description: 'begin', kind: 'webhook', config: { url: 'https://example.com', method: 'GET', headers: {} } };
    const made = await make('/api/tools', body);
    tools.push({ id: made.id, was: new Set(['begin']), typed: null });
  }
  const talker = await make('/api/agents', { name: 'Talker', provider: 'script', model: 'slow', instructions: 'Talk.' });
  await Promise.all([talk(base, clerk.id, 'first'), talk(base, clerk.id, 'second')]);
  return { base, api, flows, forms, tools, talker, clerk };
}

/** The graph that is stored: the draft where there is one. */
export async function stored(world, id) {
  const workflow = await world.api(`/api/workflows/${id}`);
  const draft = await world.api(`/api/workflows/${id}/draft`).catch(() => null);
  return { doc: docOf(draft?.graph ?? workflow.graph), version: docOf(workflow.graph), revision: draft?.draft_revision ?? null };
}

/** The workflows with names like these. */
export const madeAs = async (world, names) =>
  names.size ? (await world.api('/api/workflows?q=Made%20&limit=100')).data.filter((flow) => names.has(flow.name)) : [];

export const tidyWorld = async (world, made) =>
  Promise.all(
    [
      ...[...world.flows, ...(await madeAs(world, made).catch(() => []))].map((f) => `/api/workflows/${f.id}`),
      ...[...world.forms, world.talker, world.clerk].map((a) => `/api/agents/${a.id}`),
      ...world.tools.map((x) => `/api/tools/${x.id}`),
    ].map((path) => world.api(`${path}?force=true`, { method: 'DELETE' }).catch(() => undefined)),
  );

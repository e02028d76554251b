/** Fills a studio with one of everything, through its public API, and names every route there is to look at. */
import { api, make, streamed } from './browser.mjs';

const first = async (path, more = '') => (await api(`${path}?limit=100${more}`)).data;
const named = async (path, name, body) => (await first(path)).find((x) => x.name === name) ?? make(path, { name, ...body });

const GRAPH = {
  version: 1,
  viewport: { x: 0, y: 0, zoom: 1 },
  annotations: [],
  nodes: [
    { id: 'start_1', type: 'start', position: { x: 40, y: 200 }, title: 'Start', data: {} },
    {
      id: 'llm_1',
      type: 'llm',
      position: { x: 240, y: 180 },
      title: 'Draft',
      data: { provider: 'script', model: 'demo', prompt: '{{input}}', output_key: 'draft' },
    },
    {
      id: 'human_1',
      type: 'human',
      position: { x: 540, y: 180 },
      title: 'Review',
      data: { prompt: 'Is this draft good? {{draft}}', output_key: 'review' },
    },
    { id: 'stop_1', type: 'stop', position: { x: 840, y: 200 }, title: 'Stop', data: { reply: '{{draft}} {{review}}' } },
  ],
  edges: [
    ['start_1', 'llm_1'],
    ['llm_1', 'human_1'],
    ['human_1', 'stop_1'],
  ].map(([source, target], n) => ({ id: `e${n}`, source, target, sourceHandle: 'default', targetHandle: 'default' })),
};

/** One of everything; what is there already is taken. */
export async function fill() {
  const agent = await named('/api/agents', 'Gate agent', {
    provider: 'script',
    model: 'demo',
    slug: 'support-assistant-gate',
    instructions: 'Be brief.',
    description: 'Answers briefly.',
  });
  const asking = await named('/api/agents', 'Gate refunds', {
    provider: 'script',
    model: 'demo',
    slug: 'refund-actions-agent',
    instructions: 'Refund.',
    tools: [{ ref: 'toolkit:demo', only: ['issue_refund'] }],
    require_tool_approval: true,
  }).catch(async () => (await first('/api/agents')).find((a) => a.slug === 'refund-actions-agent'));
  const workflow = await named('/api/workflows', 'Gate review', { graph: GRAPH });
  const tool = await named('/api/tools', 'look_up', {
    description: 'Finds an order by its number',
    kind: 'webhook',
    input_schema: { type: 'object', properties: { order_id: { type: 'string' } }, required: ['order_id'] },
    config: { method: 'GET', url: 'https://shop.example/orders/{order_id}', headers: {} },
  });
  const server = await named('/api/mcp-servers', 'Orders', { transport: 'http', url: 'https://mcp.example/mcp' });
  const knowledge = await named('/api/knowledge-bases', 'Refund policy', {});
  if ((await api(`/api/knowledge-bases/${knowledge.id}/documents`)).data.length === 0)
    await make(`/api/knowledge-bases/${knowledge.id}/documents`, {
      name: 'returns.md',
      text: 'A refund is possible within 30 days of delivery. Items broken on arrival count as a damage claim.\n\nDelivery takes two days.',
    });
  let paused = (await first('/api/runs', '&status=awaiting_input')).find((r) => r.entity_id === workflow.id)?.id;
  if (!paused) paused = (await streamed(`/workflows/${workflow.id}/run/stream`, { message: 'Write to Ada about her order' })).trace;
  let done = (await first('/api/runs', '&status=completed')).find((r) => r.entity_id === workflow.id)?.id;
  if (!done) {
    done = (await streamed(`/workflows/${workflow.id}/run/stream`, { message: 'Thank Grace for her patience' })).trace;
    await streamed(`/api/runs/${done}/resume/stream`, { message: 'Yes, send it' });
  }
  let thread = (await api(`/agents/${agent.id}/chat/threads`)).data[0]?.id;
  if (!thread) thread = (await streamed(`/agents/${agent.id}/chat/stream`, { message: 'Where is my order **10482**?' })).thread;
  let waiting = (await api(`/agents/${asking.id}/chat/threads`)).data.find((x) => x.open_pause)?.id;
  if (!waiting) waiting = (await streamed(`/agents/${asking.id}/chat/stream`, { message: 'Refund A-100' })).thread;
  const classes = (await api('/api/registry/classes').catch(() => ({ data: [] }))).data;
  const importable = classes.slice(0, 3).map(({ ref }, n) => {
    const [kind, ...name] = ref.split(':');
    return [`preview-${n + 1}`, `/workflows/preview?${kind}=${encodeURIComponent(name.join(':'))}`];
  });
  return {
    importable,
    agent: agent.id,
    asking: asking.id,
    workflow: workflow.id,
    tool: tool.id,
    server: server.id,
    knowledge: knowledge.id,
    paused,
    done,
    thread,
    waiting,
  };
}

export const NOWHERE = '0199a000-0000-7000-8000-00000000ffff';

/** Every route, with what it shows. */
export async function places({ withIds = false } = {}) {
  const x = await fill();
  const all = [
    ['workflows', '/workflows'],
    ['workflows-filtered', '/workflows?q=zzzz'],
    ['editor', `/workflows/${x.workflow}/edit`],
    ['editor-chosen', `/workflows/${x.workflow}/edit?node=llm_1`],
    ['editor-paused', `/workflows/${x.workflow}/edit?trace=${x.paused}`],
    ['editor-done', `/workflows/${x.workflow}/edit?trace=${x.done}`],
    ['traces-of-workflow', `/workflows/${x.workflow}/traces`],
    ['traces', '/traces'],
    ['traces-filtered', '/traces?q=zzzz'],
    ['trace', `/traces/${x.done}`],
    ['trace-paused', `/traces/${x.paused}`],
    ['trace-graph', `/traces/${x.done}?view=graph`],
    ['trace-compare', `/traces/compare?a=${x.done}&b=${x.paused}`],
    ['trace-missing', `/traces/${NOWHERE}`],
    ['agents', '/agents'],
    ['agent-new', '/agents/new'],
    ['agent', `/agents/${x.agent}`],
    ['agent-missing', `/agents/${NOWHERE}`],
    ['playground-empty', `/agents/${x.agent}/playground`],
    ['playground', `/agents/${x.agent}/playground?thread=${x.thread}`],
    ['playground-waiting', `/agents/${x.asking}/playground?thread=${x.waiting}`],
    ['tools', '/tools'],
    ['tool-new', '/tools/new'],
    ['tool', `/tools/${x.tool}`],
    ['mcp', '/mcp'],
    ['mcp-new', '/mcp/new'],
    ['mcp-server', `/mcp/${x.server}`],
    ['knowledge', '/knowledge'],
    ['knowledge-base', `/knowledge/${x.knowledge}`],
    ['knowledge-settings', `/knowledge/${x.knowledge}?tab=settings`],
    ['templates', '/templates'],
    ['templates-filtered', '/templates?type=workflows&complexity=advanced&q=refund'],
    ['templates-none', '/templates?q=zzzz'],
    ['template', '/templates?template=workflow/support-rag-hitl'],
    ['template-agent', '/templates?template=agent/refund-actions-agent'],
    ['code-of-workflow', `/workflows/${x.workflow}/edit?code=php`],
    ['code-of-agent', `/agents/${x.agent}?code=python`],
    ['code-of-tool', `/tools/${x.tool}?code=rust`],
    ['import', '/workflows?import=code'],
    ['import-json', '/workflows?import=json'],
    ['preview-missing', '/workflows/preview?class=None'],
    ...x.importable,
    ['usage', '/usage'],
    ['usage-table', '/usage?view=table'],
    ['usage-empty', '/usage?from=2020-01-01&to=2020-01-07'],
    ['settings', '/settings'],
    ['nowhere', '/nowhere'],
  ].map(([name, path]) => ({ name, path, missing: /missing|nowhere/.test(name) }));
  return withIds ? { all, ids: x } : all;
}

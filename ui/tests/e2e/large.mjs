/** Large graphs and traces made up for the gates. */
const TYPES = ['llm', 'tool', 'set_state', 'agent', 'rag'];

export function graphOf(count) {
  const nodes = Array.from({ length: count }, (_, n) => ({
    id: `n${n}`,
    type: n === 0 ? 'start' : n === count - 1 ? 'stop' : TYPES[n % 5],
    position: { x: (n % 50) * 300, y: Math.floor(n / 50) * 170 },
    title: `Step ${n}`,
    data: { provider: 'openai', model: 'gpt-4o-mini', config_mode: 'inline', key: 'a' },
  }));
  const edges = nodes
    .slice(1)
    .map((n, k) => ({ id: `e${k}`, source: `n${k}`, target: n.id, sourceHandle: 'default', targetHandle: 'default' }));
  return { version: 1, nodes, edges, annotations: [], viewport: { x: 0, y: 0, zoom: 1 } };
}

const at = (ms) => new Date(Date.UTC(2026, 10, 20) + ms).toISOString().replace('Z', '+00:00');
const usage = {
  prompt_tokens: 5,
  completion_tokens: 5,
  total_tokens: 10,
  cached_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
  estimated_cost: '0.000001',
  currency: 'USD',
  unpriced: false,
};
const uuid = (kind, n) => `0199a000-0000-7000-${kind}000-${n.toString(16).padStart(12, '0')}`;

/** A trace of `count` rows, a quarter of them steps, as the engine answers with payloads=none. */
export function traceOf(count, workflow) {
  const steps = Array.from({ length: count / 4 }, (_, n) => ({
    id: uuid(8, n),
    seq: n,
    node_id: `n${n % 40}`,
    node_type: 'llm',
    node_title: `Step ${n}`,
    status: 'completed',
    handle: 'default',
    iteration: null,
    iteration_path: '',
    branch_id: null,
    branch_path: [],
    attempt: 1,
    checkpoint_hit: false,
    superseded: false,
    started_at: at(n * 10),
    finished_at: at(n * 10 + 8),
    duration_ms: 8,
    state_omitted: false,
    error: null,
    provider: 'openai',
    model: 'gpt-4o-mini',
    thread_id: null,
    attachment_count: 0,
    child_run_id: null,
    ...usage,
  }));
  const spans = Array.from({ length: (count / 4) * 3 }, (_, n) => ({
    id: uuid(9, n),
    parent_span_id: null,
    step_id: uuid(8, Math.floor(n / 3)),
    node_id: `n${Math.floor(n / 3) % 40}`,
    type: 'llm',
    name: 'chat',
    provider: 'openai',
    model: 'gpt-4o-mini',
    status: 'completed',
    input: null,
    output: null,
    error: null,
    started_at: at(n * 3),
    finished_at: at(n * 3 + 2),
    duration_ms: 2,
    ...usage,
  }));
  const end = (count / 4) * 10;
  const trace = {
    id: 'big',
    trace_id: 'big',
    status: 'completed',
    entity_type: 'workflow',
    entity_id: workflow,
    entity_name: 'Scale',
    workflow_id: workflow,
    thread_id: null,
    input_preview: 'big',
    created_at: at(0),
    started_at: at(0),
    finished_at: at(end),
    duration_ms: end,
    working_ms: end,
    waiting_ms: 0,
    error: null,
    pauses: [],
    ...usage,
  };
  return { trace, steps, spans, children: [] };
}

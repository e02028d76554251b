/** Owns turning a stored trace into the view a live run has. */
import type { Step, TraceAnswer } from '@wfstudio/client';
import { waited } from './waited';
import { blankStep, noRun, type NodeState, type RunView, type StepView } from './view';

const STATES: Record<Step['status'], NodeState> = {
  running: 'running',
  paused: 'waiting',
  completed: 'done',
  failed: 'failed',
  cancelled: 'skipped',
};
const time = (text: string | null | undefined): number | null => (text ? new Date(text).getTime() : null);

export function viewOf(answer: TraceAnswer): RunView {
  const { trace } = answer;
  const view = noRun();
  view.traceId = trace.trace_id ?? trace.id;
  view.threadId = trace.thread_id;
  view.input = trace.input?.message ?? trace.input_preview ?? '';
  view.status = trace.status;
  view.start = time(trace.started_at) ?? time(trace.created_at) ?? Date.now();
  view.end = time(trace.finished_at);
  view.pauses = (trace.pauses ?? []).map((pause) => ({ ...pause, run: trace.id }));
  view.reply = trace.reply;
  view.usage = trace;
  view.state = trace.output ?? trace.checkpoint?.state ?? {};
  view.error = trace.error
    ? { code: trace.error.code, message: trace.error.message, node: trace.error.node_id, calls: trace.error.calls }
    : null;
  for (const step of answer.steps) {
    if (step.superseded) continue;
    view.steps[step.id] = stepOf(step, view);
    view.order.push(step.id);
    view.latest[step.node_id] = step.id;
    if (step.node_type === 'loop' && step.iteration !== null) view.loops[step.node_id] = { iteration: step.iteration, max: 0 };
    if (!trace.output && step.output && step.branch_path.length === 0) Object.assign(view.state, step.output);
  }
  for (const fork of answer.steps.filter((s) => s.node_type === 'fork')) {
    const inner = answer.steps.filter((s) => s.branch_path.length > 0 && s.seq > fork.seq);
    for (const branch of new Set(inner.map((s) => s.branch_path[0] as string))) {
      const own = inner.filter((s) => s.branch_path[0] === branch);
      const key = `${fork.node_id}:${branch}`;
      view.branches[key] = own.some((s) => s.status === 'paused')
        ? 'paused'
        : own.some((s) => s.status === 'running')
          ? 'running'
          : 'completed';
    }
  }
  return view;
}

function stepOf(step: Step, view: RunView): StepView {
  const start = time(step.started_at) ?? view.start;
  const pause = view.pauses.find((p) => p.step_id === step.id);
  return {
    ...blankStep(step.id, step.node_id, start),
    nodeType: step.node_type,
    title: step.node_title ?? null,
    branch: step.branch_path ?? [],
    iteration: step.iteration,
    attempt: step.attempt,
    state: step.checkpoint_hit ? 'reused' : STATES[step.status],
    end: time(step.finished_at),
    ms: step.status === 'running' ? null : step.duration_ms,
    handle: step.handle,
    waits: pause ? [{ from: time(pause.created_at) ?? start, to: null }] : waited(start, time(step.finished_at), step.duration_ms, []),
    tokens: step.total_tokens || null,
    prompt: step.prompt_tokens,
    completion: step.completion_tokens,
    cost: step.total_tokens ? step.estimated_cost : null,
    currency: step.currency ?? 'USD',
    unpriced: step.unpriced,
    chunks: step.chunk_count ?? null,
    score: step.top_score ?? null,
    changes: step.output ?? null,
    error: step.error,
    warnings: step.warnings ?? [],
  };
}

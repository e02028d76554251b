/** Owns what a person sees of one run: a fold of its events. */
import type { DoubtfulCall, Pause, RunStatus, RunSummary, StudioEvent, UsageFigures } from '@wfstudio/client';
import { madeFiles, type MadeFile } from './made';
import { apart, unlike } from './thoughts';
import { warningsOf, type Warning } from './warnings';

export type NodeState = 'queued' | 'running' | 'streaming' | 'waiting' | 'done' | 'reused' | 'failed' | 'skipped';
/** The word of a status for the state of a step. */
export const statusOf = (state: NodeState): string =>
  ({ done: 'completed', waiting: 'paused', skipped: 'cancelled' })[state as string] ?? state;

/** A pause, and the run it belongs to; the events of an agent's chat name no step. */
export type Waiting = Pause & { run: string };
export type UsageFields = UsageFigures & Pick<RunSummary, 'currency'>;

export interface ToolUse {
  callId: string;
  name: string;
  inputs: unknown;
  result: string | null;
  isError: boolean;
  skipped: boolean;
  ms: number | null;
  files?: MadeFile[];
}
export interface StepView {
  id: string;
  nodeId: string;
  nodeType: string;
  title: string | null;
  branch: string[];
  iteration: number | null;
  attempt: number;
  state: NodeState;
  start: number;
  end: number | null;
  waits: { from: number; to: number | null }[];
  ms: number | null;
  handle: string | null;
  text: string;
  thought: string;
  files: MadeFile[];
  deltas: number;
  firstToken: number | null;
  tools: ToolUse[];
  tokens: number | null;
  prompt: number | null;
  completion: number | null;
  cost: string | null;
  currency: string;
  unpriced: boolean;
  chunks: number | null;
  score: number | null;
  changes: Record<string, unknown> | null;
  error: { code: string; message: string } | null;
  warnings: Warning[];
}
export interface Loop {
  iteration: number;
  max: number;
}
export interface RunView {
  traceId: string | null;
  threadId: string | null;
  /** The message that the run began with. */
  input: string;
  status: RunStatus | 'idle';
  start: number;
  end: number | null;
  order: string[];
  steps: Record<string, StepView>;
  latest: Record<string, string>;
  loops: Record<string, Loop>;
  branches: Record<string, 'running' | 'paused' | 'completed'>;
  pauses: Waiting[];
  events: (StudioEvent & { at: number })[];
  state: Record<string, unknown>;
  reply: string | null;
  usage: UsageFields | null;
  error: { code: string; message: string; node: string | null; calls?: DoubtfulCall[] } | null;
}

export const noRun = (): RunView => ({
  traceId: null,
  threadId: null,
  input: '',
  status: 'idle',
  start: 0,
  end: null,
  order: [],
  steps: {},
  latest: {},
  loops: {},
  branches: {},
  pauses: [],
  events: [],
  state: {},
  reply: null,
  usage: null,
  error: null,
});

export const KEPT_EVENTS = 2000;

export function blankStep(id: string, nodeId: string, at: number): StepView {
  return {
    id,
    nodeId,
    nodeType: '',
    title: null,
    branch: [],
    iteration: null,
    attempt: 1,
    state: 'running',
    start: at,
    end: null,
    waits: [],
    ms: null,
    handle: null,
    text: '',
    thought: '',
    files: [],
    deltas: 0,
    firstToken: null,
    tools: [],
    tokens: null,
    prompt: null,
    completion: null,
    cost: null,
    currency: 'USD',
    unpriced: false,
    chunks: null,
    score: null,
    changes: null,
    error: null,
    warnings: [],
  };
}

type Data = Record<string, unknown>;
const text = (v: unknown): string => (typeof v === 'string' ? v : '');
const figure = (v: unknown): number | null => (typeof v === 'number' ? v : null);

/** Changes `view` in place; the store hands over a copy per animation frame. */
export function fold(view: RunView, event: StudioEvent, at: number): void {
  const d = event.data;
  if (event.name !== 'token' && event.name !== 'reasoning') view.events.push({ ...event, at });
  if (view.events.length > KEPT_EVENTS) view.events.splice(0, view.events.length - KEPT_EVENTS);
  if (typeof d.trace_id === 'string') view.traceId = d.trace_id;
  switch (event.name) {
    case 'thread':
      view.threadId = text(d.thread_id) || view.threadId;
      return;
    case 'trace_started':
      view.status = 'running';
      view.start = at;
      return;
    case 'step_started':
      started(view, d, at);
      return;
    case 'reasoning': {
      const step = touch(view, d);
      if (step) touched(view, { ...step, thought: step.thought + text(d.delta) });
      return;
    }
    case 'model_fallback':
    case 'step_retrying': {
      const step = touch(view, d);
      if (step) touched(view, { ...step, thought: apart(step.thought) });
      return;
    }
    case 'file': {
      const step = touch(view, d);
      if (step) touched(view, { ...step, files: [...step.files, ...madeFiles([d])] });
      return;
    }
    case 'token': {
      const step = touch(view, d);
      if (step)
        touched(view, {
          ...step,
          state: 'streaming',
          text: step.text + text(d.delta),
          deltas: step.deltas + 1,
          firstToken: step.firstToken ?? at,
        });
      return;
    }
    case 'tool_call': {
      const step = touch(view, d);
      if (step)
        touched(view, {
          ...step,
          tools: [
            ...step.tools.filter((u) => u.callId !== d.call_id),
            {
              callId: text(d.call_id),
              name: text(d.name),
              inputs: (d.inputs as Data) ?? {},
              result: null,
              isError: false,
              skipped: false,
              ms: null,
            },
          ],
        });
      return;
    }
    case 'tool_result': {
      const step = touch(view, d);
      if (!step) return;
      const use: ToolUse = {
        callId: text(d.call_id),
        name: text(d.name),
        inputs: (d.inputs as Data) ?? {},
        result: text(d.result),
        isError: d.is_error === true,
        skipped: d.skipped === true,
        ms: figure(d.duration_ms),
        files: madeFiles(d.files),
      };
      const known = step.tools.some((u) => u.callId === use.callId);
      touched(view, {
        ...step,
        thought: apart(step.thought),
        tools: known
          ? step.tools.map((u) =>
              u.callId === use.callId ? { ...use, inputs: Object.keys(use.inputs ?? {}).length ? use.inputs : u.inputs } : u,
            )
          : [...step.tools, use],
      });
      return;
    }
    case 'rag_query': {
      const step = touch(view, d);
      if (step) touched(view, { ...step, chunks: figure(d.chunk_count), score: figure(d.top_score) });
      return;
    }
    case 'loop_iteration':
      view.loops = { ...view.loops, [text(d.node_id)]: { iteration: Number(d.iteration), max: Number(d.max_steps) } };
      return;
    case 'checkpoint_hit': {
      const step = touch(view, d);
      if (step) touched(view, { ...step, state: 'reused' });
      return;
    }
    case 'step_completed':
      completed(view, d, at);
      return;
    case 'step_failed': {
      const step = touch(view, d);
      if (step)
        touched(view, {
          ...step,
          ...usageOf(d),
          state: 'failed',
          end: at,
          ms: figure(d.duration_ms),
          error: { code: text(d.code), message: text(d.message) },
        });
      return;
    }
    case 'human_input_required':
      paused(view, d, at, 'human');
      return;
    case 'tool_approval_required':
      paused(view, d, at, 'tool_approval');
      return;
    case 'tool_approval_resolved':
      view.pauses = view.pauses.filter((p) => p.pause_id !== d.pause_id);
      return;
    case 'branch_started':
      view.branches = { ...view.branches, [`${text(d.fork_id)}:${text(d.branch_id)}`]: 'running' };
      return;
    case 'branch_completed':
      view.branches = { ...view.branches, [`${text(d.fork_id)}:${text(d.branch_id)}`]: 'completed' };
      return;
    case 'parallel_interrupt':
      view.branches = { ...view.branches, [`${text(d.fork_id)}:${text(d.branch_id)}`]: 'paused' };
      return;
    case 'trace_completed':
      rest(view, 'completed', at);
      view.reply = typeof d.reply === 'string' ? d.reply : null;
      view.usage = d as unknown as UsageFields;
      if (d.output && typeof d.output === 'object') view.state = d.output as Data;
      return;
    case 'trace_failed':
      rest(view, 'failed', at);
      view.error = {
        code: text(d.code),
        message: text(d.message),
        node: text(d.node_id) || null,
        calls: d.calls as DoubtfulCall[] | undefined,
      };
      view.usage = d as unknown as UsageFields;
      return;
    case 'trace_cancelled':
      rest(view, 'cancelled', at);
      view.usage = d as unknown as UsageFields;
      return;
    case 'run_terminal':
      if (typeof d.status === 'string') rest(view, d.status as RunStatus, at);
      return;
    default:
      return;
  }
}

function started(view: RunView, d: Data, at: number): void {
  const id = text(d.step_id) || `${text(d.node_id)}#${view.order.length}`;
  const node = text(d.node_id);
  if (view.status !== 'running') {
    view.status = 'running';
    view.end = null;
    view.error = null;
  }
  const before = view.steps[id];
  view.pauses = view.pauses.filter((p) => p.step_id !== id && !(p.node_id === node && !p.step_id));
  const step: StepView = before
    ? {
        ...before,
        state: 'running',
        thought: apart(before.thought),
        end: null,
        error: null,
        attempt: figure(d.attempt) ?? before.attempt,
        waits: before.waits.map((w) => (w.to === null ? { ...w, to: at } : w)),
      }
    : {
        ...blankStep(id, node, at),
        nodeType: text(d.node_type),
        title: text(d.node_title) || null,
        branch: (d.branch_path as string[] | undefined) ?? [],
        iteration: figure(d.iteration),
        attempt: figure(d.attempt) ?? 1,
      };
  if (!before) view.order = [...view.order, id];
  view.latest = { ...view.latest, [node]: id };
  touched(view, step);
  for (const branch of step.branch)
    for (const key of Object.keys(view.branches))
      if (key.endsWith(`:${branch}`) && view.branches[key] === 'paused') view.branches = { ...view.branches, [key]: 'running' };
}

function completed(view: RunView, d: Data, at: number): void {
  const step = touch(view, d);
  if (!step) return;
  const changes = (d.changes as Data | undefined) ?? null;
  if (changes && step.branch.length === 0) view.state = { ...view.state, ...changes };
  const error = d.error as { code: string; message: string } | undefined;
  touched(view, {
    ...step,
    ...usageOf(d),
    state: step.state === 'reused' ? 'reused' : 'done',
    thought: unlike(step.thought, step.text),
    end: at,
    ms: figure(d.duration_ms),
    handle: text(d.handle) || null,
    changes,
    error: error ?? null,
    warnings: warningsOf(d.warnings),
    title: text(d.node_title) || step.title,
    nodeType: text(d.node_type) || step.nodeType,
  });
}

function paused(view: RunView, d: Data, at: number, reason: Pause['reason']): void {
  const step = touch(view, d);
  if (step) touched(view, { ...step, state: 'waiting', waits: [...step.waits.filter((w) => w.to !== null), { from: at, to: null }] });
  const pause: Waiting = {
    run: view.traceId ?? '',
    pause_id: text(d.pause_id),
    node_id: text(d.node_id),
    step_id: text(d.step_id),
    reason,
    prompt: text(d.prompt),
    message: text(d.message),
    pending_tools: d.pending_tools as Pause['pending_tools'],
    branch_id: text(d.branch_id) || undefined,
    branch_path: d.branch_path as string[] | undefined,
    created_at: new Date(at).toISOString(),
  };
  view.pauses = [...view.pauses.filter((p) => p.pause_id !== pause.pause_id), pause];
  view.status = view.pauses[0]?.reason === 'human' ? 'awaiting_input' : 'awaiting_tool_approval';
}

function rest(view: RunView, status: RunStatus, at: number): void {
  view.status = status;
  if (!status.startsWith('awaiting')) {
    view.end = at;
    view.pauses = [];
  }
  if (status === 'cancelled' || status === 'failed') {
    for (const step of Object.values(view.steps))
      if (step.end === null)
        touched(view, { ...step, end: at, state: status === 'failed' && step.state === 'failed' ? 'failed' : 'skipped' });
  }
}

function usageOf(d: Data): Partial<StepView> {
  if (typeof d.total_tokens !== 'number') return {};
  return {
    tokens: d.total_tokens,
    prompt: figure(d.prompt_tokens),
    completion: figure(d.completion_tokens),
    cost: text(d.estimated_cost) || null,
    currency: text(d.currency) || 'USD',
    unpriced: d.unpriced === true,
  };
}

const touch = (view: RunView, d: Data): StepView | undefined =>
  view.steps[text(d.step_id)] ?? view.steps[view.latest[text(d.node_id)] ?? ''];
function touched(view: RunView, step: StepView): void {
  view.steps = { ...view.steps, [step.id]: step };
}

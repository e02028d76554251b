/** Owns what one event changes in a stored trace, so that a live one need not be read again. */
import type { Pause, RunError, RunStatus, Span, Step, StudioEvent, Trace, TraceAnswer } from '@wfstudio/client';
import type { UsageFields } from './view';
import { SPAN, STEP } from '../api/whole';

type Data = Record<string, unknown>;
const text = (v: unknown): string => (typeof v === 'string' ? v : '');
const figure = (v: unknown): number | null => (typeof v === 'number' ? v : null);

/** The place of an event in the ordered telling; what is told live has another. */
export const placeOf = (event: StudioEvent): number => (/^\d+$/.test(event.id ?? '') ? Number(event.id) : 0);

/** Events that the trace holds already change nothing. */
export function foldIntoTrace(answer: TraceAnswer, event: StudioEvent, at: number): TraceAnswer {
  const place = placeOf(event);
  if (place <= answer.trace.last_event_id) return answer;
  const changed = changes(answer, event, new Date(at).toISOString());
  return { ...answer, ...changed, trace: { ...answer.trace, ...changed.trace, last_event_id: place } };
}

interface Changed {
  trace?: Partial<Trace>;
  steps?: Step[];
  spans?: Span[];
}

function changes({ trace, steps, spans }: TraceAnswer, { name, data: d }: StudioEvent, now: string): Changed {
  const step = steps.find((s) => s.id === d.step_id) ?? (d.node_id ? undefined : steps.at(-1));
  const put = (change: Partial<Step>): Step[] => (step ? steps.map((s) => (s === step ? { ...s, ...change } : s)) : steps);
  const rest = (status: RunStatus, error: RunError | null = null): Changed => ({
    trace: {
      status,
      error,
      finished_at: status.startsWith('awaiting') ? null : now,
      pauses: status.startsWith('awaiting') ? trace.pauses : [],
    },
  });
  switch (name) {
    case 'step_started':
      return {
        trace: { status: 'running', error: null, finished_at: null, pauses: (trace.pauses ?? []).filter((p) => p.step_id !== d.step_id) },
        steps: step
          ? put({ status: 'running', finished_at: null, error: null, attempt: figure(d.attempt) ?? step.attempt })
          : [...steps, begun(d, steps, now)],
      };
    case 'step_completed':
      return { steps: put({ ...ended(d, now), ...usageOf(d), status: 'completed', handle: text(d.handle) || null, ...asked(d) }) };
    case 'step_failed':
      return { steps: put({ ...ended(d, now), ...usageOf(d), status: 'failed', error: { code: text(d.code), message: text(d.message) } }) };
    case 'checkpoint_hit':
      return { steps: put({ checkpoint_hit: true }) };
    case 'tool_call':
      return {
        spans: [
          ...spans,
          { ...SPAN, id: text(d.call_id), type: 'tool', name: text(d.name), status: 'running', ...of(step), started_at: now },
        ],
      };
    case 'tool_result':
      return {
        spans: spans.map((s) =>
          s.id === d.call_id
            ? { ...s, status: d.is_error ? 'failed' : 'completed', finished_at: now, duration_ms: figure(d.duration_ms) ?? 0 }
            : s,
        ),
      };
    case 'human_input_required':
    case 'tool_approval_required': {
      const pauses = [...(trace.pauses ?? []).filter((p) => p.pause_id !== d.pause_id), pauseOf(d, name, now)];
      const status = pauses[0]?.reason === 'human' ? 'awaiting_input' : 'awaiting_tool_approval';
      return { trace: { status, pauses }, steps: put({ status: 'paused' }) };
    }
    case 'tool_approval_resolved':
      return { trace: { status: 'running', pauses: (trace.pauses ?? []).filter((p) => p.pause_id !== d.pause_id) } };
    case 'trace_completed':
    case 'done':
      return rest('completed');
    case 'trace_cancelled':
      return rest('cancelled');
    case 'trace_failed':
      return rest('failed', {
        code: text(d.code),
        message: text(d.message),
        node_id: text(d.node_id) || null,
        calls: d.calls as RunError['calls'],
      });
    case 'run_terminal':
      return rest(text(d.status) as RunStatus, (d.error as RunError | undefined) ?? trace.error);
    default:
      return {};
  }
}

const of = (step: Step | undefined): Pick<Span, 'step_id' | 'node_id'> => ({ step_id: step?.id ?? null, node_id: step?.node_id ?? null });
const ended = (d: Data, now: string): Partial<Step> => ({ finished_at: now, duration_ms: figure(d.duration_ms) ?? 0 });
const asked = (d: Data): Partial<Step> => ({ provider: text(d.provider) || null, model: text(d.model) || null });

function begun(d: Data, steps: Step[], now: string): Step {
  return {
    ...STEP,
    id: text(d.step_id),
    seq: (steps.at(-1)?.seq ?? 0) + 1,
    node_id: text(d.node_id),
    node_type: text(d.node_type),
    node_title: text(d.node_title) || null,
    status: 'running',
    iteration: figure(d.iteration),
    branch_id: text(d.branch_id) || null,
    branch_path: (d.branch_path as string[] | undefined) ?? [],
    attempt: figure(d.attempt) ?? 1,
    started_at: now,
  };
}

function usageOf(d: Data): Partial<UsageFields> {
  if (typeof d.total_tokens !== 'number') return {};
  const keys = Object.keys(STEP).filter((key) => key in d && /_tokens$|^estimated_cost$|^currency$|^unpriced$/.test(key));
  return Object.fromEntries(keys.map((key) => [key, d[key]]));
}

const pauseOf = (d: Data, name: string, now: string): Pause => ({
  pause_id: text(d.pause_id),
  node_id: text(d.node_id),
  step_id: text(d.step_id),
  reason: name === 'human_input_required' ? 'human' : 'tool_approval',
  prompt: text(d.prompt),
  message: text(d.message),
  pending_tools: d.pending_tools as Pause['pending_tools'],
  branch_id: text(d.branch_id) || undefined,
  branch_path: d.branch_path as string[] | undefined,
  created_at: now,
});

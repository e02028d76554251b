/** Owns the rows of a timeline, from a live view or a stored trace, in order of telling. */
import type { Span, Step, TraceAnswer } from '../api/types';
import { t } from '../i18n';
import type { RunView } from './view';

export interface Row {
  id: string;
  stepId: string;
  spanId: string | null;
  type: string;
  label: string;
  depth: number;
  pills: string[];
  state: 'done' | 'run' | 'wait' | 'fail' | 'reused' | 'cut' | 'skipped';
  start: number;
  end: number | null;
  waits: { from: number; to: number | null }[];
  text: string | null;
  tokens: number | null;
  cost: string | null;
  children: number;
  attempt: number;
  parent: string | null;
  ms: number | null;
}

const time = (text: string | null | undefined): number | null => (text ? new Date(text).getTime() : null);

export function liveRows(view: RunView): Row[] {
  return view.order.flatMap((id) => {
    const step = view.steps[id];
    if (!step) return [];
    const state: Row['state'] = step.state === 'waiting' ? 'wait' : step.state === 'running' || step.state === 'streaming' ? 'run' : step.state === 'failed' ? 'fail' : step.state === 'reused' ? 'reused' : step.state === 'skipped' ? 'skipped' : 'done';
    const resting = state === 'run' && view.status.startsWith('awaiting');
    return [{
      id, stepId: id, spanId: null, type: step.nodeType, label: step.title ?? step.nodeId, depth: step.branch.length, pills: step.iteration !== null ? [`#${step.iteration}`] : [], state: resting ? 'done' : state, start: step.start, end: step.end,
      waits: step.waits, text: state === 'wait' ? t('timeline.waiting') : null, tokens: step.tokens, cost: step.cost, children: 0, attempt: step.attempt, parent: null, ms: step.ms,
    }];
  });
}

export interface TraceRows { rows: Row[]; start: number; end: number }

/** Steps with their spans folded under them; one pass over each list. */
export function traceRows(answer: TraceAnswer): TraceRows {
  const { trace, steps, spans } = answer;
  const start = time(trace.started_at) ?? time(trace.created_at) ?? 0;
  const end = Math.max(start + 1, time(trace.finished_at) ?? Date.now());
  const byStep = new Map<string, Span[]>();
  for (const span of spans) {
    const key = span.step_id ?? '';
    const list = byStep.get(key);
    if (list) list.push(span);
    else byStep.set(key, [span]);
  }
  const rows: Row[] = [];
  const depths = new Map<string, number>();
  for (const step of steps) {
    const depth = (step.branch_path ?? []).length;
    const own = byStep.get(step.id) ?? [];
    const row = stepRow(step, depth, own, trace.pauses ?? []);
    if (row.state === 'run' && trace.status.startsWith('awaiting')) row.state = 'done';
    rows.push(row);
    for (const span of own) {
      const at = span.parent_span_id ? (depths.get(span.parent_span_id) ?? depth) + 1 : depth + 1;
      depths.set(span.id, at);
      rows.push(spanRow(span, step.id, at));
    }
  }
  return { rows, start, end };
}

function stepRow(step: Step, depth: number, own: Span[], pauses: TraceAnswer['trace']['pauses']): Row {
  const start = time(step.started_at) ?? 0;
  const end = time(step.finished_at);
  const pause = pauses.find((p) => p.step_id === step.id);
  const waits = pause ? [{ from: time(pause.created_at) ?? start, to: null }] : waited(start, end, step.duration_ms, own);
  const pills = [...(step.branch_id ? [step.branch_id] : []), ...(step.iteration !== null ? [t('trace.iteration', { n: step.iteration })] : []), ...(step.checkpoint_hit ? [t('trace.checkpoint')] : []), ...(step.attempt > 1 ? [t('trace.attempt', { n: step.attempt })] : []), ...(step.superseded ? [t('trace.superseded')] : [])];
  const state: Row['state'] = step.checkpoint_hit ? 'reused' : { running: 'run', paused: 'wait', completed: 'done', failed: 'fail', cancelled: 'skipped' }[step.status] as Row['state'];
  return {
    id: step.id, stepId: step.id, spanId: null, type: step.node_type, label: step.node_title || step.node_id, depth, pills, state, start, end, waits, text: null,
    tokens: step.total_tokens || null, cost: step.total_tokens ? step.estimated_cost : null, children: own.length, attempt: step.attempt, parent: null, ms: step.duration_ms,
  };
}

/** A finished step whose clock ran longer than its work was waiting: in the widest gap between its spans, else in the middle. */
function waited(start: number, end: number | null, ms: number | null, own: Span[]): Row['waits'] {
  const wait = end === null || ms === null ? 0 : end - start - ms;
  if (end === null || ms === null || wait < 500) return [];
  let from = start + ms * 0.6;
  let widest = 0;
  let last = start;
  for (const span of [...own].sort((a, b) => (time(a.started_at) ?? 0) - (time(b.started_at) ?? 0))) {
    const began = time(span.started_at) ?? last;
    if (began - last > widest && began - last >= wait * 0.7) { widest = began - last; from = last; }
    last = Math.max(last, time(span.finished_at) ?? began);
  }
  return [{ from, to: Math.min(end, from + wait) }];
}

function spanRow(span: Span, stepId: string, depth: number): Row {
  const out = span.output as { tokens_before?: number; tokens_after?: number } | null;
  const cut = span.type === 'context';
  const named = span.type === 'memory' ? t('trace.compaction') : cut ? t('trace.truncation') : span.type === 'llm' || span.type === 'embedding' ? (span.model ?? span.name) : span.name;
  return {
    id: span.id, stepId, spanId: span.id, type: span.type, label: named, depth, pills: [], state: cut ? 'cut' : span.status === 'failed' ? 'fail' : span.status === 'running' ? 'run' : 'done',
    start: time(span.started_at) ?? 0, end: time(span.finished_at), waits: [], text: cut && out?.tokens_before !== undefined ? `${out.tokens_before.toLocaleString()} → ${(out.tokens_after ?? 0).toLocaleString()} ${t('tok')}` : null,
    tokens: span.total_tokens || null, cost: span.total_tokens ? (span.estimated_cost ?? null) : null, children: 0, attempt: 1, parent: stepId, ms: span.duration_ms,
  };
}

/** Marks of an axis: round figures, about one per 110 px. */
export function ticks(span: number, width: number): number[] {
  const rough = span / Math.max(2, Math.floor(width / 110));
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = [1, 2, 3, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? power * 10;
  return Array.from({ length: Math.min(40, Math.floor(span / step) + 1) }, (_, n) => n * step);
}

/** Owns the rows of a stored trace: steps in order of telling, with branches, iterations, waits and spans folded under them. */
import type { Span, Step, TraceAnswer } from '@wfstudio/client';
import { t, tx } from '../i18n';
import { count, fromMicros, micros, priceless } from '../i18n/figures';
import { trialName } from './breaks';
import { restedAt, startRow, type Row } from './rows';
import { waited } from './waited';

export interface TraceRows {
  rows: Row[];
  byId: Map<string, Row>;
  start: number;
  end: number;
}

const time = (text: string | null | undefined): number | null => (text ? Date.parse(text) : null);

/** One pass over the spans, one over the steps. */
export function traceRows(answer: TraceAnswer, startLabel?: string): TraceRows {
  const { trace, steps, spans } = answer;
  const start = time(trace.started_at) ?? time(trace.created_at) ?? 0;
  const byStep = new Map<string, Span[]>();
  for (const span of spans) {
    const key = span.step_id ?? '';
    const list = byStep.get(key);
    if (list) list.push(span);
    else byStep.set(key, [span]);
  }
  const rested = trace.status.startsWith('awaiting')
    ? restedAt(
        steps.map((s) => ({
          start: time(s.started_at) ?? 0,
          end: time(s.finished_at),
          wait: time(trace.pauses?.find((p) => p.step_id === s.id)?.created_at),
        })),
      )
    : 0;
  const tree = new Tree();
  if (trace.entity_type === 'workflow' && steps.length) tree.add(startRow(start, startLabel));
  for (const step of steps) {
    const above = tree.open(step);
    const own = byStep.get(step.id) ?? NONE;
    const row = stepRow(step, above, own, trace.pauses ?? []);
    if (rested && row.end === null && row.waits.length === 0) {
      row.waits = [{ from: Math.max(rested, row.start), to: null }];
      if (row.state === 'run') row.state = 'done';
    }
    tree.add(row);
    if (step.node_type === 'fork') tree.forks.set(step.node_id, row);
    const waits = row.type === 'agent' ? row.waits.map((wait, n) => waitRow(row, wait, n)) : [];
    for (const span of own) {
      const above = tree.rowOf(span.parent_span_id) ?? row;
      const child = spanRow(span, step.id, above);
      while (above === row && waits[0] && waits[0].start <= child.start) tree.add(waits.shift() as Row);
      tree.add(child);
    }
    for (const wait of waits) tree.add(wait);
  }
  tree.close();
  const last = tree.rows.reduce((most, r) => Math.max(most, r.end ?? r.start), start);
  return {
    rows: tree.rows,
    byId: tree.byId,
    start,
    end: Math.max(
      start + 1,
      time(trace.finished_at) ?? Math.max(last, trace.status === 'running' || trace.status.startsWith('awaiting') ? Date.now() : 0),
    ),
  };
}

const NONE: Span[] = [];

interface Level {
  part: string;
  row: Row | null;
}

class Tree {
  readonly rows: Row[] = [];
  readonly byId = new Map<string, Row>();
  readonly forks = new Map<string, Row>();
  #levels: Level[] = [];
  #counts = new Map<string, number>();
  #groups: { row: Row; loop: string; n: number }[] = [];

  add(row: Row): void {
    this.rows.push(row);
    this.byId.set(row.id, row);
    const above = row.parent ? this.byId.get(row.parent) : undefined;
    if (above) above.children += 1;
  }

  rowOf(id: string | null): Row | undefined {
    return id ? this.byId.get(id) : undefined;
  }

  /** Opens what the step lies in (`loop_1#2/fork_1:b`), and answers the row that it lies under. */
  open(step: Step): Row | null {
    const parts = step.iteration_path ? step.iteration_path.split('/') : (step.branch_path ?? []).map((branch) => `:${branch}`);
    let same = 0;
    while (same < parts.length && this.#levels[same]?.part === parts[same]) same += 1;
    this.#levels.length = same;
    for (const part of parts.slice(same)) this.#levels.push({ part, row: this.#level(part, step) });
    for (let n = this.#levels.length - 1; n >= 0; n--) {
      const row = this.#levels[n]?.row;
      if (row) return row;
    }
    return null;
  }

  #level(part: string, step: Step): Row | null {
    const [loop, visit] = part.split('#');
    if (visit === undefined) {
      const fork = part.split(':')[0] ?? '';
      return (fork ? this.forks.get(fork) : [...this.forks.values()].at(-1)) ?? null;
    }
    const above = this.#levels.at(-1)?.row ?? null;
    const n = Number(visit);
    const path = `${this.#levels.map((l) => l.part).join('/')}/${loop}`;
    this.#counts.set(path, Math.max(this.#counts.get(path) ?? 0, n));
    const row: Row = {
      ...blank,
      id: `g:${step.id}:${this.#levels.length}`,
      kind: 'group',
      stepId: step.id,
      type: 'loop',
      depth: above ? above.depth + 1 : 0,
      start: time(step.started_at) ?? 0,
      end: null,
      parent: above?.id ?? null,
    };
    this.add(row);
    this.#groups.push({ row, loop: path, n });
    return row;
  }

  /** Gives rows that hold others their sums and ends, from the last row to the first. */
  close(): void {
    for (const { row, loop, n } of this.#groups) row.label = t('trace.iterationof', { n, m: this.#counts.get(loop) ?? n });
    const sums = new Map<string, { tokens: number; cost: bigint | null; end: number }>();
    for (let n = this.rows.length - 1; n >= 0; n--) {
      const row = this.rows[n] as Row;
      const sum = sums.get(row.id);
      if (sum && (row.kind === 'group' || row.type === 'fork')) {
        if (sum.tokens && !row.tokens) {
          row.tokens = sum.tokens;
          row.cost = sum.cost === null ? null : fromMicros(sum.cost);
        }
        if (row.waits.length === 0) row.end ??= sum.end || null;
        if (row.ms === null && row.end !== null) row.ms = row.end - row.start;
      }
      if (!row.parent || row.kind === 'span' || row.kind === 'wait') continue;
      const up = sums.get(row.parent) ?? { tokens: 0, cost: null, end: 0 };
      sums.set(row.parent, {
        tokens: up.tokens + (row.tokens ?? 0),
        cost: row.cost ? (up.cost ?? 0n) + micros(row.cost) : up.cost,
        end: Math.max(up.end, row.end ?? 0),
      });
    }
  }
}

const blank: Row = { ...startRow(0), id: '', type: '', label: '', end: null, ms: null };

function stepRow(step: Step, above: Row | null, own: Span[], pauses: TraceAnswer['trace']['pauses']): Row {
  const start = time(step.started_at) ?? 0;
  const end = time(step.finished_at);
  const pause = pauses.find((p) => p.step_id === step.id);
  const waits = pause ? [{ from: time(pause.created_at) ?? start, to: null }] : waited(start, end, step.duration_ms, own);
  const pills: string[] = [];
  if (step.branch_id) pills.push(step.branch_id);
  if (step.iteration != null && !step.iteration_path) pills.push(t('trace.iteration', { n: step.iteration }));
  if (step.checkpoint_hit) pills.push(t('trace.checkpoint'));
  if (step.attempt > 1) pills.push(t('trace.attempt', { n: step.attempt }));
  if (step.superseded) pills.push(t('trace.superseded'));
  const state: Row['state'] = step.checkpoint_hit ? 'reused' : STATES[step.status];
  return {
    ...blank,
    id: step.id,
    kind: 'step',
    stepId: step.id,
    type: step.node_type,
    label: step.node_title || (trialName(step.node_id) ?? tx(`type.${step.node_id}`, step.node_id)),
    depth: above ? above.depth + 1 : 0,
    pills,
    state,
    start,
    end,
    waits,
    tokens: step.total_tokens || null,
    cost: step.total_tokens && !priceless(step) ? step.estimated_cost : null,
    attempt: step.attempt,
    parent: above?.id ?? null,
    ms: step.status === 'running' ? null : step.duration_ms,
    old: step.superseded === true,
  };
}

const STATES: Record<Step['status'], Row['state']> = {
  running: 'run',
  paused: 'wait',
  completed: 'done',
  failed: 'fail',
  cancelled: 'skipped',
};

function waitRow(row: Row, wait: Row['waits'][number], n: number): Row {
  return {
    ...blank,
    id: `w:${row.id}:${n}`,
    kind: 'wait',
    stepId: row.stepId,
    type: 'wait',
    label: t('trace.waiting.approval'),
    depth: row.depth + 1,
    state: 'wait',
    start: wait.from,
    end: wait.to,
    waits: [wait],
    parent: row.id,
    ms: wait.to === null ? null : wait.to - wait.from,
  };
}

function spanRow(span: Span, stepId: string, above: Row): Row {
  const out = span.output as { tokens_before?: number; tokens_after?: number } | null | undefined;
  const cut = span.type === 'context';
  const named =
    span.type === 'memory'
      ? t('trace.compaction')
      : cut
        ? t('trace.truncation')
        : span.type === 'llm' || span.type === 'embedding'
          ? (span.model ?? span.name)
          : span.name;
  return {
    ...blank,
    id: span.id,
    kind: 'span',
    stepId,
    spanId: span.id,
    type: span.type,
    label: named,
    depth: above.depth + 1,
    state: cut ? 'cut' : span.status === 'failed' ? 'fail' : span.status === 'running' ? 'run' : 'done',
    start: time(span.started_at) ?? 0,
    end: time(span.finished_at),
    text: cut && out?.tokens_before !== undefined ? `${count(out.tokens_before)} → ${count(out.tokens_after ?? 0)} ${t('tok')}` : null,
    tokens: span.total_tokens || null,
    cost: span.total_tokens && !priceless(span) ? (span.estimated_cost ?? null) : null,
    parent: above.id,
    ms: span.status === 'running' ? null : span.duration_ms,
  };
}

/** The rows that are shown: of the wanted kinds, that match, and that lie under no folded row. */
export function rowsShown(rows: Row[], { spans, folded, q }: { spans: boolean; folded: ReadonlySet<string>; q: string }): Row[] {
  const wanted = q.trim().toLocaleLowerCase();
  const out: Row[] = [];
  let closed = Infinity;
  for (const row of rows) {
    if (wanted) {
      if (
        (spans || row.kind === 'step') &&
        (row.label.toLocaleLowerCase().includes(wanted) || row.pills.some((p) => p.toLocaleLowerCase().includes(wanted)))
      )
        out.push(row);
      continue;
    }
    if (row.depth > closed) continue;
    closed = folded.has(row.id) ? row.depth : Infinity;
    if (spans || row.kind === 'step' || row.kind === 'group') out.push(row);
  }
  return out;
}

/** Owns the rows of a timeline from a live view, and the marks of its axis. */
import type { Graph } from '@wfstudio/client';
import { t, tx } from '../i18n';
import { count, duration } from '../i18n/figures';
import { trialName } from './breaks';
import type { RunView } from './view';

export interface Row {
  id: string;
  kind: 'step' | 'span' | 'wait' | 'group';
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
  old: boolean;
}

/** A run begins at its start node, of which no step is kept. */
export const START = 'start';
export const startName = (graph: Graph | undefined): string => {
  const node = graph?.nodes.find((n) => n.type === START);
  return node?.title && node.title !== node.id ? node.title : t('type.start');
};
export const startRow = (at: number, label = t('type.start')): Row => ({
  id: START,
  kind: 'step',
  stepId: '',
  spanId: null,
  type: START,
  label,
  depth: 0,
  pills: [],
  state: 'done',
  start: at,
  end: at,
  waits: [],
  text: null,
  tokens: null,
  cost: null,
  children: 0,
  attempt: 1,
  parent: null,
  ms: 0,
  old: false,
});

/** When a run that waits came to rest. */
export const restedAt = (steps: { start: number; end: number | null; wait?: number | null }[]): number =>
  steps.reduce((last, s) => Math.max(last, s.end ?? s.wait ?? s.start), 0);

export function liveRows(view: RunView, startLabel?: string): Row[] {
  const rested = view.status.startsWith('awaiting')
    ? restedAt(Object.values(view.steps).map((s) => ({ start: s.start, end: s.end, wait: s.waits.at(-1)?.from })))
    : 0;
  const steps = view.order.flatMap((id) => {
    const step = view.steps[id];
    if (!step) return [];
    const state: Row['state'] =
      step.state === 'waiting'
        ? 'wait'
        : step.state === 'running' || step.state === 'streaming'
          ? 'run'
          : step.state === 'failed'
            ? 'fail'
            : step.state === 'reused'
              ? 'reused'
              : step.state === 'skipped'
                ? 'skipped'
                : 'done';
    const resting = rested > 0 && step.end === null && step.waits.every((w) => w.to !== null);
    return [
      {
        id,
        stepId: id,
        spanId: null,
        type: step.nodeType,
        label: step.title ?? trialName(step.nodeId) ?? tx(`type.${step.nodeId}`, step.nodeId),
        depth: step.branch.length,
        pills: step.iteration !== null ? [`#${step.iteration}`] : [],
        state: resting && state === 'run' ? 'done' : state,
        start: step.start,
        end: step.end,
        waits: resting ? [...step.waits, { from: Math.max(rested, step.start), to: null }] : step.waits,
        text: state === 'wait' && !resting ? t('timeline.waiting') : null,
        tokens: step.tokens,
        cost: step.cost,
        children: 0,
        attempt: step.attempt,
        parent: null,
        ms: step.ms,
        kind: 'step' as const,
        old: false,
      },
    ];
  });
  return steps.length ? [startRow(view.start, startLabel), ...steps] : steps;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const LONG = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((n) => n * MINUTE);

/** A mark of an axis: no more digits than it needs. */
export const markOf = (ms: number): string =>
  ms === 0
    ? '0'
    : ms < 1000
      ? `${ms} ms`
      : ms < MINUTE
        ? `${count(ms / 1000)} s`
        : ms % HOUR === 0
          ? `${ms / HOUR} h`
          : ms % MINUTE === 0 && ms < HOUR
            ? `${ms / MINUTE} min`
            : duration(ms);

/** Marks of an axis: round figures, about one per 110 px. */
export function ticks(span: number, width: number): number[] {
  const rough = span / Math.max(2, Math.floor(width / 110));
  const power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const step = (rough > 30_000 ? LONG : [1, 2, 3, 5, 10].map((n) => n * power)).find((n) => n >= rough) ?? power * 10;
  return Array.from({ length: Math.min(40, Math.floor(span / step) + 1) }, (_, n) => n * step);
}

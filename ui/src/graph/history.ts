/** Owns undo and redo: patches of the whole graph, grouped by what a person thinks of as one action. */
import { applyPatches, enablePatches, produceWithPatches, type Patch } from 'immer';
import type { Graph } from '@wfstudio/client';
import { change, type Command } from './document';

enablePatches();

interface Entry {
  patches: Patch[];
  inverse: Patch[];
  group: string | null;
  at: number;
  selection: string[];
  /** About what it takes to keep. */
  bytes: number;
}
export interface History {
  past: Entry[];
  future: Entry[];
}
export const noHistory = (): History => ({ past: [], future: [] });

const LIMIT = 200;
/** The oldest steps go first; the last one stays however large it is. */
const MOST_BYTES = 4_000_000;
const BURST = 900;

export function perform(
  graph: Graph,
  history: History,
  command: Command,
  options: { group?: string; selection?: string[]; at?: number } = {},
): { graph: Graph; history: History } {
  const [next, patches, inverse] = produceWithPatches(graph, (draft) => change(draft as Graph, command));
  if (patches.length === 0) return { graph, history };
  const at = options.at ?? Date.now();
  const group = options.group ?? null;
  const last = history.past.at(-1);
  if (group && last?.group === group && at - last.at < BURST) {
    const merged = sized({ ...last, ...squashed(last, { patches, inverse }), at });
    return { graph: next, history: { past: bounded([...history.past.slice(0, -1), merged]), future: [] } };
  }
  const entry = sized({ patches, inverse, group, at, selection: options.selection ?? [] });
  return { graph: next, history: { past: bounded([...history.past, entry]), future: [] } };
}

type Change = Pick<Entry, 'patches' | 'inverse'>;

const sized = (entry: Omit<Entry, 'bytes'>): Entry => ({
  ...entry,
  bytes: JSON.stringify(entry.patches).length + JSON.stringify(entry.inverse).length,
});

function bounded(past: Entry[]): Entry[] {
  let bytes = 0;
  let from = past.length;
  while (from > 0 && past.length - from < LIMIT) {
    bytes += past[from - 1]?.bytes ?? 0;
    if (bytes > MOST_BYTES && from < past.length) break;
    from -= 1;
  }
  return past.slice(from);
}

/** Two changes as one. Where both only put values in place of others, of each place the first one before and the last one after are enough. */
function squashed(first: Change, second: Change): Change {
  const patches = [...first.patches, ...second.patches];
  const inverse = [...second.inverse, ...first.inverse];
  return apart([...patches, ...inverse]) ? { patches: lastOfEach(patches), inverse: lastOfEach(inverse) } : { patches, inverse };
}

const place = (patch: Patch): string => JSON.stringify(patch.path);

/** All put values in place of others, and none within what another one puts. */
function apart(patches: Patch[]): boolean {
  const places = new Set(patches.map(place));
  return patches.every((p) => p.op === 'replace' && !p.path.some((_, n) => n > 0 && places.has(JSON.stringify(p.path.slice(0, n)))));
}

const lastOfEach = (patches: Patch[]): Patch[] => [...new Map(patches.map((p) => [place(p), p])).values()];

export interface Stepped {
  graph: Graph;
  history: History;
  selection: string[];
}

export function undo(graph: Graph, history: History): Stepped | null {
  const entry = history.past.at(-1);
  if (!entry) return null;
  return {
    graph: applyPatches(graph, entry.inverse),
    history: { past: history.past.slice(0, -1), future: [entry, ...history.future] },
    selection: entry.selection,
  };
}

export function redo(graph: Graph, history: History): Stepped | null {
  const [entry, ...rest] = history.future;
  if (!entry) return null;
  return {
    graph: applyPatches(graph, entry.patches),
    history: { past: [...history.past, { ...entry, group: null }], future: rest },
    selection: entry.selection,
  };
}

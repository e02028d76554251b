/** Owns undo and redo: patches of the whole graph, grouped by what a person thinks of as one action. */
import { applyPatches, enablePatches, produceWithPatches, type Patch } from 'immer';
import type { Graph } from '../api/types';
import { change, type Command } from './document';

enablePatches();

interface Entry {
  patches: Patch[];
  inverse: Patch[];
  group: string | null;
  at: number;
  selection: string[];
}
export interface History {
  past: Entry[];
  future: Entry[];
}
export const noHistory = (): History => ({ past: [], future: [] });

const LIMIT = 200;
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
    const merged: Entry = { ...last, patches: [...last.patches, ...patches], inverse: [...inverse, ...last.inverse], at };
    return { graph: next, history: { past: [...history.past.slice(0, -1), merged], future: [] } };
  }
  const entry: Entry = { patches, inverse, group, at, selection: options.selection ?? [] };
  return { graph: next, history: { past: [...history.past, entry].slice(-LIMIT), future: [] } };
}

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

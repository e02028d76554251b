/** Owns the open document: graph, history, selection. Persistence hangs on commands, never on pointers. */
import { create } from 'zustand';
import type { Draft, Graph, Issue, Workflow } from '../api/types';
import { type Command, emptyGraph } from '../graph/document';
import type { End } from '../graph/connect';
import { noHistory, perform, redo, undo, type History } from '../graph/history';

export type Mode = 'design' | 'run' | 'history';
export type SaveState = 'clean' | 'dirty' | 'saving' | 'saved' | 'failed';

/** What another hand made: a draft, or a version that was saved from one. */
export type Theirs = Omit<Draft, 'draft_revision'> & { draft_revision: number | null };

export interface EditorState {
  workflow: Workflow | null;
  graph: Graph;
  history: History;
  selection: string[];
  edgeSelection: string[];
  issues: Issue[];
  mode: Mode;
  draftRevision: number | null;
  basedOn: number;
  /** The version of the workflow that one chose to go over, newer than the one that the draft is based on. */
  seen: number | null;
  hasDraft: boolean;
  save: SaveState;
  savedAt: number | null;
  readOnly: 'locked' | 'other' | null;
  conflict: Theirs | null;
  connecting: End | null;
  highlight: string[];
  focusField: { node: string; field: string; at: number } | null;
}

const blank = (): EditorState => ({
  workflow: null,
  graph: emptyGraph(),
  history: noHistory(),
  selection: [],
  edgeSelection: [],
  issues: [],
  mode: 'design',
  draftRevision: null,
  basedOn: 0,
  seen: null,
  hasDraft: false,
  save: 'clean',
  savedAt: null,
  readOnly: null,
  conflict: null,
  connecting: null,
  highlight: [],
  focusField: null,
});

export const useEditor = create<EditorState>(blank);
const set = useEditor.setState;
const now = useEditor.getState;

type Listener = () => void;
const changed = new Set<Listener>();
/** Called after every change of the document. */
export const onChange = (listener: Listener): (() => void) => {
  changed.add(listener);
  return () => changed.delete(listener);
};

export function openDocument(state: Partial<EditorState>): void {
  set({ ...blank(), ...state });
}

export function act(command: Command, options: { group?: string; select?: string[] } = {}): void {
  const s = now();
  if (s.readOnly) return;
  const result = perform(s.graph, s.history, command, { group: options.group, selection: s.selection });
  if (result.graph === s.graph) return;
  set({ ...result, save: 'dirty', ...(options.select ? { selection: options.select, edgeSelection: [] } : {}) });
  prune();
  for (const listener of changed) listener();
}

function step(move: typeof undo): void {
  const s = now();
  if (s.readOnly) return;
  const result = move(s.graph, s.history);
  if (!result) return;
  set({ graph: result.graph, history: result.history, save: 'dirty', ...(move === undo ? { selection: result.selection } : {}) });
  prune();
  for (const listener of changed) listener();
}
export const undoStep = (): void => step(undo);
export const redoStep = (): void => step(redo);

function prune(): void {
  const s = now();
  const ids = new Set([...s.graph.nodes, ...s.graph.annotations].map((n) => n.id));
  const edges = new Set(s.graph.edges.map((e) => e.id));
  if (s.selection.some((id) => !ids.has(id))) set({ selection: s.selection.filter((id) => ids.has(id)) });
  if (s.edgeSelection.some((id) => !edges.has(id))) set({ edgeSelection: s.edgeSelection.filter((id) => edges.has(id)) });
}

export const select = (nodes: string[], edges: string[] = []): void => {
  const s = now();
  if (s.selection.join() !== nodes.join() || s.edgeSelection.join() !== edges.join()) set({ selection: nodes, edgeSelection: edges });
};
export const tell = (change: Partial<EditorState>): void => set(change);
export const only = (s: EditorState): string | null => (s.selection.length === 1 ? (s.selection[0] as string) : null);

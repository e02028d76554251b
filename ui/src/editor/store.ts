/** Owns the open document: graph, history, selection. Persistence hangs on commands, never on pointers. */
import { create } from 'zustand';
import type { Graph, Issue, Workflow } from '@wfstudio/client';
import type { Draft } from './draft';
import { type Command, emptyGraph } from '../graph/document';
import type { End } from '../graph/connect';
import { noHistory, perform, redo, undo, type History } from '../graph/history';
import { t } from '../i18n';
import { toast } from '../parts/toast';
import { usePanels } from './panel';
import type { DocumentSession } from './session';

export type Mode = 'design' | 'run' | 'history';
export type SaveState = 'clean' | 'dirty' | 'saving' | 'saved' | 'failed';

/** What another hand made: a draft, or a version that was saved from one. */
export type Theirs = Omit<Draft, 'draft_revision'> & { draft_revision: number | null };

type Barred = 'read' | 'run' | 'history' | 'locked';

export interface EditorState {
  /** Keeps and sends what is edited; none where a graph is only shown. */
  session: DocumentSession | null;
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
  /** The conflict is shown; a person may put it off, then nothing is sent until it is settled. */
  asking: boolean;
  connecting: End | null;
  highlight: string[];
  focusField: { node: string; field: string; at: number } | null;
}

export const blank = (): EditorState => ({
  session: null,
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
  asking: false,
  connecting: null,
  highlight: [],
  focusField: null,
});

export const useEditor = create<EditorState>(() => blank());
const set = useEditor.setState;
const now = useEditor.getState;

export function openDocument(state: Partial<EditorState>): void {
  set({ ...blank(), ...state });
}

/** Why the document may not be changed now; null when it may. */
export function barred({ readOnly, mode }: Pick<EditorState, 'readOnly' | 'mode'>, locked: boolean): Barred | null {
  return readOnly ? 'read' : mode !== 'design' ? mode : locked ? 'locked' : null;
}
export const useEditable = (): boolean => {
  const locked = usePanels((s) => s.locked);
  return useEditor((s) => barred(s, locked) === null);
};

/** Tells why, when the document may not be changed. */
export function mayEdit(): boolean {
  const why = barred(now(), usePanels.getState().locked);
  if (why) toast(t(`barred.${why}`));
  return why === null;
}

/** False when the document may not be changed now; a person is told why. */
export function act(command: Command, options: { group?: string; select?: string[] } = {}): boolean {
  if (!mayEdit()) return false;
  change(command, options);
  return true;
}

/** A whole graph from elsewhere: another version, another hand. Whoever may write may have it, in every mode; it can be taken back. */
export function replaceGraph(graph: Graph): void {
  if (!now().readOnly) change({ kind: 'replace', graph });
}

function change(command: Command, options: { group?: string; select?: string[] } = {}): void {
  const s = now();
  const result = perform(s.graph, s.history, command, { group: options.group, selection: s.selection });
  if (result.graph === s.graph) return;
  put(result.graph, { history: result.history, ...(options.select ? { selection: options.select, edgeSelection: [] } : {}) });
}

function step(move: typeof undo): void {
  const s = now();
  const result = move(s.graph, s.history);
  if (!result || !mayEdit()) return;
  put(result.graph, { history: result.history, ...(move === undo ? { selection: result.selection } : {}) });
}
export const undoStep = (): void => step(undo);
export const redoStep = (): void => step(redo);

function put(graph: Graph, more: Partial<EditorState>): void {
  const { selection, edgeSelection } = { ...now(), ...more };
  set({ ...more, graph, save: 'dirty', ...present(graph, selection, edgeSelection) });
  now().session?.edited();
}

/** Of a selection, what the graph has. */
export function present(graph: Graph, nodes: string[], edges: string[]): Pick<EditorState, 'selection' | 'edgeSelection'> {
  const there = new Set([...graph.nodes, ...graph.annotations].map((n) => n.id));
  const lines = new Set(graph.edges.map((e) => e.id));
  const kept = (all: string[], some: Set<string>): string[] => (all.every((id) => some.has(id)) ? all : all.filter((id) => some.has(id)));
  return { selection: kept(nodes, there), edgeSelection: kept(edges, lines) };
}

export const select = (nodes: string[], edges: string[] = []): void => {
  const s = now();
  if (s.selection.join() !== nodes.join() || s.edgeSelection.join() !== edges.join()) set({ selection: nodes, edgeSelection: edges });
};
export const tell = (change: Partial<EditorState>): void => set(change);
export const only = (s: EditorState): string | null => (s.selection.length === 1 ? (s.selection[0] as string) : null);

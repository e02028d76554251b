/** Owns keeping the draft: journal at once, server after a pause, conflicts kept side by side. */
import { get, post, put, remove } from '../api/client';
import { isProblem, type Problem } from '../api/problem';
import { refresh } from '../api/queries';
import type { Draft, Graph, Issue, Workflow } from '../api/types';
import { tidy } from '../graph/document';
import { noHistory } from '../graph/history';
import { dropJournal, readJournal, writeJournal } from './journal';
import { act, onChange, openDocument, tell, useEditor, type Theirs } from './store';

const PAUSE = 800;
let timer = 0;
let sending: Promise<void> | null = null;

async function serverDraft(id: string): Promise<Draft | null> {
  try {
    return await get<Draft | null>(`/api/workflows/${id}/draft`);
  } catch (error) {
    if (isProblem(error) && error.status === 404) return null;
    throw error;
  }
}

export async function openWorkflow(id: string): Promise<() => void> {
  const workflow = await get<Workflow>(`/api/workflows/${id}`);
  const [draft, journal] = await Promise.all([serverDraft(workflow.id), readJournal(workflow.id)]);
  const mine = journal?.unsent ? journal : null;
  const serverGraph = draft?.graph ?? workflow.graph;
  const known =
    journal && !journal.unsent && journal.draftRevision === (draft?.draft_revision ?? null) && journal.basedOn === workflow.revision;
  openDocument({
    workflow,
    graph: tidy(mine ? mine.graph : serverGraph),
    history: mine?.history ?? (known ? journal.history : noHistory()),
    draftRevision: mine ? mine.draftRevision : (draft?.draft_revision ?? null),
    basedOn: draft?.based_on_revision ?? workflow.revision,
    hasDraft: !!draft || !!mine,
    save: mine ? 'dirty' : draft ? 'saved' : 'clean',
    savedAt: draft ? new Date(draft.updated_at).getTime() : null,
    readOnly: workflow.locked ? 'locked' : null,
  });
  if (mine) schedule(0);
  const leave = onChange(() => {
    void journalNow(true);
    schedule(PAUSE);
  });
  const onHide = (): void => {
    if (document.hidden) void flushDraft().catch(() => undefined);
  };
  document.addEventListener('visibilitychange', onHide);
  return () => {
    leave();
    document.removeEventListener('visibilitychange', onHide);
    clearTimeout(timer);
    if (useEditor.getState().save === 'dirty') void flushDraft().catch(() => undefined);
  };
}

function journalNow(unsent: boolean): Promise<unknown> {
  const s = useEditor.getState();
  if (!s.workflow) return Promise.resolve();
  return writeJournal(s.workflow.id, {
    graph: s.graph,
    history: s.history,
    draftRevision: s.draftRevision,
    basedOn: s.basedOn,
    unsent,
    at: Date.now(),
  });
}

function schedule(ms: number): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => void flushDraft().catch(() => undefined), ms);
}

/** Sends what is unsent; resolves when the server has the document as it is. */
export async function flushDraft(): Promise<void> {
  clearTimeout(timer);
  if (sending) await sending;
  const s = useEditor.getState();
  if (!s.workflow || s.readOnly || s.conflict || (s.save !== 'dirty' && s.save !== 'failed')) return;
  sending = send(s.workflow.id, s.graph, s.draftRevision).finally(() => {
    sending = null;
  });
  await sending;
  if (useEditor.getState().save === 'dirty') await flushDraft();
}

async function send(id: string, graph: Graph, revision: number | null): Promise<void> {
  tell({ save: 'saving' });
  try {
    const answer = await put<Draft>(`/api/workflows/${id}/draft`, { graph, draft_revision: revision ?? undefined });
    const moved = useEditor.getState().graph !== graph;
    tell({
      draftRevision: answer.draft_revision,
      basedOn: answer.based_on_revision,
      hasDraft: true,
      savedAt: Date.now(),
      save: moved ? 'dirty' : 'saved',
    });
    await journalNow(moved);
  } catch (error) {
    if (await met(id, error)) return;
    tell({ save: 'failed' });
    if (isProblem(error) && error.status === 0) schedule(4000);
    throw error;
  }
}

/** What another hand left where one's own draft was: its draft, else the version that it saved. */
async function left(id: string, error: Problem): Promise<Theirs | null> {
  const current = error.body.current as Draft | Workflow | null | undefined;
  // The workflow itself went on: one's own draft is still there, based on an older version.
  if (current && 'revision' in current)
    return {
      graph: current.graph,
      draft_revision: useEditor.getState().draftRevision,
      based_on_revision: current.revision,
      updated_at: current.updated_at,
      issues: [],
    };
  const draft = current ?? (await serverDraft(id));
  if (draft) return draft;
  const saved = await get<Workflow>(`/api/workflows/${id}`);
  if (saved.revision === useEditor.getState().workflow?.revision) return null;
  return { graph: saved.graph, draft_revision: null, based_on_revision: saved.revision, updated_at: saved.updated_at, issues: [] };
}

/** Shows what another hand made of the draft beside one's own; false when something else was refused. */
async function met(id: string, error: unknown): Promise<boolean> {
  if (!isProblem(error) || (error.code !== 'revision_conflict' && error.status !== 412)) return false;
  const theirs = await left(id, error);
  tell({ save: 'dirty', conflict: theirs, ...(theirs ? {} : { draftRevision: null }) });
  if (!theirs) schedule(0);
  return true;
}

export async function settle(choice: 'mine' | 'theirs' | 'copy'): Promise<string | null> {
  const { conflict, graph, workflow } = useEditor.getState();
  if (!conflict || !workflow) return null;
  if (choice === 'copy') {
    const copy = await post<Workflow>('/api/workflows', { name: `${workflow.name} (2)` });
    await put(`/api/workflows/${copy.id}/draft`, { graph });
    refresh('/api/workflows');
    tell({ conflict: null, draftRevision: conflict.draft_revision });
    act({ kind: 'replace', graph: conflict.graph });
    return copy.id;
  }
  tell({ conflict: null, draftRevision: conflict.draft_revision, seen: conflict.based_on_revision, save: 'dirty' });
  if (choice === 'theirs') act({ kind: 'replace', graph: conflict.graph });
  await flushDraft();
  return null;
}

export type Saved = { ok: true } | { ok: false; issues: Issue[]; message: string } | { ok: false; conflict: true };

export async function saveVersion(): Promise<Saved> {
  await flushDraft();
  const { workflow, hasDraft, draftRevision, seen, conflict } = useEditor.getState();
  if (conflict) return { ok: false, conflict: true };
  if (!workflow || !hasDraft) return { ok: true };
  try {
    const answer = await post<Workflow>(`/api/workflows/${workflow.id}/draft/save`, {
      draft_revision: draftRevision,
      revision: seen ?? undefined,
    });
    tell({
      workflow: { ...workflow, ...answer },
      draftRevision: null,
      seen: null,
      basedOn: answer.revision,
      hasDraft: false,
      save: 'clean',
      savedAt: null,
    });
    await dropJournal(workflow.id);
    await journalNow(false);
    refresh('/api/workflows');
    return { ok: true };
  } catch (error) {
    if (await met(workflow.id, error)) return { ok: false, conflict: true };
    if (isProblem(error) && error.code === 'graph_invalid')
      return { ok: false, issues: (error.body.issues as Issue[]) ?? [], message: error.message };
    throw error;
  }
}

/** Deletes the draft that one knows; somebody else's is given back instead. */
async function drop(id: string, known: number | null): Promise<Theirs | null> {
  if (known === null) return serverDraft(id);
  try {
    await remove(`/api/workflows/${id}/draft`, undefined, known);
    return null;
  } catch (error) {
    if (!isProblem(error) || error.code !== 'revision_conflict') throw error;
    return (error.body.current as Draft | null | undefined) ?? null;
  }
}

export async function discardDraft(): Promise<void> {
  clearTimeout(timer);
  if (sending) await sending.catch(() => undefined);
  const { workflow: known, draftRevision } = useEditor.getState();
  if (!known) return;
  const theirs = await drop(known.id, draftRevision);
  if (theirs) {
    tell({ save: 'dirty', conflict: theirs });
    return;
  }
  const workflow = await get<Workflow>(`/api/workflows/${known.id}`);
  await dropJournal(workflow.id);
  tell({
    workflow,
    basedOn: workflow.revision,
    graph: tidy(workflow.graph),
    history: noHistory(),
    draftRevision: null,
    hasDraft: false,
    save: 'clean',
    savedAt: null,
    selection: [],
    edgeSelection: [],
  });
}

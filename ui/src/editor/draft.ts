/** Owns what the server knows of a draft: reading, storing, saving and dropping it, and what another hand left instead. */
import { get, make, post, put, remove } from '../api/client';
import { isProblem, type Draft as Kept, type Graph, type Workflow } from '@wfstudio/client';
import type { Theirs } from './store';

/** The graph of a draft is what an editor stored there. */
export type Draft = Omit<Kept, 'graph'> & { graph: Graph };

export const readWorkflow = (id: string): Promise<Workflow> => get<Workflow>(`/api/workflows/${id}`);

export async function readDraft(id: string): Promise<Draft | null> {
  try {
    return (await get<Draft | undefined>(`/api/workflows/${id}/draft`)) ?? null;
  } catch (error) {
    if (isProblem(error) && error.status === 404) return null;
    throw error;
  }
}

/** Stores it over the draft of this revision; none = there is no draft yet. */
export const storeDraft = (id: string, graph: Graph, revision: number | null): Promise<Draft> =>
  put<Draft>(`/api/workflows/${id}/draft`, { graph, draft_revision: revision ?? 0 });

/** Makes it a version; `seen` is the version of the workflow that it may go over. */
export const saveDraft = (id: string, revision: number | null, seen: number | null): Promise<Workflow> =>
  post<Workflow>(`/api/workflows/${id}/draft/save`, { draft_revision: revision, revision: seen ?? undefined });

/** Deletes the draft that one knows; somebody else's is given back instead. */
export async function dropDraft(id: string, known: number | null): Promise<Theirs | null> {
  if (known === null) return readDraft(id);
  try {
    await remove(`/api/workflows/${id}/draft`, undefined, known);
    return null;
  } catch (error) {
    if (!isProblem(error) || error.code !== 'revision_conflict') throw error;
    return (error.body.current as Draft | null | undefined) ?? null;
  }
}

const saved = (workflow: Workflow, draft: number | null): Theirs => ({
  graph: workflow.graph,
  draft_revision: draft,
  based_on_revision: workflow.revision,
  updated_at: workflow.updated_at,
  issues: [],
});

export const isConflict = (error: unknown): boolean => isProblem(error) && (error.code === 'revision_conflict' || error.status === 412);

/** What another hand left where one's own draft was: its draft, else the version that it saved; null when nothing is there to choose from. */
export async function leftBy(id: string, error: unknown, known: { draft: number | null; version: number }): Promise<Theirs | null> {
  const current = isProblem(error) ? (error.body.current as Draft | Workflow | null | undefined) : null;
  // The workflow itself went on: one's own draft is still there, based on an older version.
  if (current && 'revision' in current) return saved(current, known.draft);
  const draft = current ?? (await readDraft(id));
  if (draft) return draft;
  const workflow = await readWorkflow(id);
  return workflow.revision === known.version ? null : saved(workflow, null);
}

export async function copyOf(name: string, graph: Graph): Promise<string> {
  const copy = await make<Workflow>('/api/workflows', { name });
  await storeDraft(copy.id, graph, null);
  return copy.id;
}

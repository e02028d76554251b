// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Graph, Workflow } from '@wfstudio/client';
import type { Draft } from '../../src/editor/draft';

vi.mock('../../src/api/queries', () => ({ refresh: () => undefined }));

const { emptyGraph } = await import('../../src/graph/document');
const { useEditor } = await import('../../src/editor/store');
const { DocumentSession } = await import('../../src/editor/session');

const graph = (x: number): Graph => ({ ...emptyGraph(), nodes: [{ id: 'start', type: 'start', position: { x, y: 0 }, data: {} }] });
const at = (g: Graph | undefined): number | undefined => g?.nodes[0]?.position.x;

/** A server with one workflow, and who asked it for what. */
const server = {
  workflow: { id: 'w', name: 'W', revision: 1, graph: graph(0) } as Workflow,
  draft: null as Draft | null,
  asked: [] as string[],
};
const json = (status: number, body: unknown): Response => new Response(JSON.stringify(body), { status });
const refused = (status: number, code: string, more = {}): Response =>
  json(status, { type: `urn:studio:problem:${code}`, title: code, status, detail: code, code, message: code, ...more });

vi.stubGlobal('fetch', async (url: string, init: RequestInit = {}) => {
  const path = String(url).replace(/^.*\/api\/workflows\/w/, '');
  const method = init.method ?? 'GET';
  const match = (init.headers as Record<string, string> | undefined)?.['If-Match'];
  const body = init.body ? (JSON.parse(String(init.body)) as { draft_revision?: number | null; graph?: Graph }) : {};
  const known = match ? Number(match.replaceAll('"', '')) : (body.draft_revision ?? null);
  server.asked.push(`${method} ${path} ${known}`);
  if (path === '') return json(200, server.workflow);
  if (known !== null && known !== (server.draft?.draft_revision ?? 0)) return refused(409, 'revision_conflict', { current: server.draft });
  if (method === 'PUT')
    server.draft = {
      graph: body.graph as Graph,
      draft_revision: (server.draft?.draft_revision ?? 0) + 1,
      based_on_revision: server.workflow.revision,
      updated_at: '2026-11-20T20:00:00Z',
      issues: [],
    };
  else if (!server.draft) return refused(404, 'not_found', { resource: 'draft' });
  if (method === 'DELETE') {
    server.draft = null;
    return new Response(null, { status: 204 });
  }
  if (method === 'POST') {
    server.workflow = { ...server.workflow, graph: server.draft?.graph as Graph, revision: server.workflow.revision + 1 };
    server.draft = null;
    return json(200, server.workflow);
  }
  return json(200, server.draft);
});

const theirs = (): void => {
  server.draft = { ...(server.draft as Draft), graph: graph(77), draft_revision: (server.draft as Draft).draft_revision + 1 };
};

describe('a draft that somebody else works on too', () => {
  let draft: InstanceType<typeof DocumentSession>;
  beforeEach(async () => {
    server.workflow = { ...server.workflow, revision: 1, graph: graph(0) };
    server.draft = { graph: graph(5), draft_revision: 3, based_on_revision: 1, updated_at: '2026-11-20T20:00:00Z', issues: [] };
    draft = new DocumentSession('w');
    await draft.open();
    server.asked = [];
  });
  afterEach(() => draft.dispose());

  it('is saved when it is the one that is shown', async () => {
    expect(await draft.saveVersion()).toEqual({ ok: true });
    expect(server.asked).toEqual(['POST /draft/save 3']);
    expect([server.workflow.revision, at(server.workflow.graph)]).toEqual([2, 5]);
  });

  it('is shown before it is saved', async () => {
    theirs();
    expect(await draft.saveVersion()).toEqual({ ok: false, conflict: true });
    expect([server.workflow.revision, at(useEditor.getState().conflict?.graph)]).toEqual([1, 77]);
    await draft.settle('mine');
    expect(at(server.draft?.graph)).toBe(5);
  });

  it('is shown before it is thrown away', async () => {
    theirs();
    await draft.discard();
    expect([at(server.draft?.graph), at(useEditor.getState().conflict?.graph)]).toEqual([77, 77]);
    await draft.settle('theirs');
    expect([at(server.draft?.graph), at(useEditor.getState().graph)]).toEqual([77, 77]);
  });

  it('is thrown away when it is the one that is shown', async () => {
    await draft.discard();
    expect([server.draft, at(useEditor.getState().graph), useEditor.getState().hasDraft]).toEqual([null, 0, false]);
    expect(server.asked[0]).toBe('DELETE /draft 3');
  });

  it('may have been saved meanwhile: that version is shown first', async () => {
    server.workflow = { ...server.workflow, revision: 2, graph: graph(42) };
    server.draft = null;
    expect(await draft.saveVersion()).toEqual({ ok: false, conflict: true });
    expect([server.workflow.revision, at(useEditor.getState().conflict?.graph)]).toEqual([2, 42]);
  });

  it('that is gone is no trouble for one who throws it away', async () => {
    server.workflow = { ...server.workflow, revision: 2, graph: graph(42) };
    server.draft = null;
    await draft.discard();
    expect([at(useEditor.getState().graph), useEditor.getState().basedOn, useEditor.getState().save]).toEqual([42, 2, 'clean']);
  });
});

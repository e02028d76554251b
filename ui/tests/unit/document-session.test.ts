// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Graph } from '@wfstudio/client';
import { Journal } from '../../src/editor/journal';
import { DocumentSession } from '../../src/editor/session';
import { useEditor } from '../../src/editor/store';
import { noHistory } from '../../src/graph/history';
import { at, Documents, graph, move, shown } from './documents';
import { json, offline, pass, refusal, type Asked } from './fake-server';

describe('the document of a page', () => {
  let server: Documents;
  const sessions: DocumentSession[] = [];
  const open = async (id: string): Promise<DocumentSession> => {
    const session = new DocumentSession(id);
    sessions.push(session);
    const opened = session.open();
    await pass(1);
    await opened;
    return session;
  };
  const disk = new Map<string, unknown>();

  beforeEach(() => {
    vi.useFakeTimers();
    server = new Documents('A', 'B');
    disk.clear();
    vi.spyOn(Journal.prototype, 'write').mockImplementation(function (this: Journal, kept) {
      disk.set((this as unknown as { key: string }).key, kept);
      return Promise.resolve(true);
    });
    vi.spyOn(Journal.prototype, 'read').mockImplementation(function (this: Journal) {
      const kept = disk.get((this as unknown as { key: string }).key);
      return Promise.resolve((kept ? { ...kept, history: noHistory() } : null) as never);
    });
  });
  afterEach(async () => {
    server.let();
    for (const session of sessions.splice(0)) session.dispose();
    await pass(1000);
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  it('is saved with the edit that was made while an older draft was on its way', async () => {
    const session = await open('A');
    server.hold = (a) => a.method === 'PUT';
    move(10);
    await pass(850);
    move(20);
    const saved = session.saveVersion();
    await pass(10);
    expect(server.of('POST', /save/)).toHaveLength(0);
    server.let();
    await pass(10);
    expect([await saved, at(server.all.A?.workflow.graph), server.most]).toEqual([{ ok: true }, 20, 1]);
  });

  it('keeps what is edited while a version is saved, as a draft', async () => {
    const session = await open('A');
    move(5);
    server.hold = (a) => a.path.endsWith('/save');
    const saved = session.saveVersion();
    await pass(10);
    move(111);
    await pass(1000);
    server.let();
    await pass(10);
    await saved;
    expect([useEditor.getState().save, (disk.values().next().value as { unsent: boolean }).unsent]).not.toContain('clean');
    await pass(1000);
    expect([at(server.all.A?.workflow.graph), at(server.all.A?.draft?.graph), shown()]).toEqual([5, 111, 111]);
  });

  it('never has two requests under way, nor an older text after a newer one', async () => {
    const session = await open('A');
    server.hold = (a) => a.method !== 'GET';
    for (let n = 1; n <= 6; n++) {
      move(n);
      void session.flush();
      if (n === 3) void session.saveVersion();
      await pass(900);
    }
    while (server.held.length > 0) {
      for (const go of server.held.splice(0)) go();
      await pass(900);
    }
    const sent = server.of('PUT', /draft/).map((a) => at(a.body.graph as Graph) ?? 0);
    expect([server.most, [...sent].sort((a, b) => a - b)]).toEqual([1, sent]);
    expect(at(server.all.A?.draft?.graph ?? server.all.A?.workflow.graph)).toBe(6);
  });

  it('that opens late is not shown on the page that was opened meanwhile', async () => {
    server.hold = (a) => a.path.endsWith('/A');
    const slow = new DocumentSession('A');
    const opened = slow.open();
    await pass(1);
    slow.dispose();
    await open('B');
    server.let();
    await pass(10);
    await opened;
    expect([useEditor.getState().workflow?.id, useEditor.getState().save]).toEqual(['B', 'clean']);
    move(7);
    await pass(900);
    expect([at(server.all.B?.draft?.graph), server.all.A?.draft]).toEqual([7, null]);
  });

  it('that is saved late changes nothing on the next page', async () => {
    const first = await open('A');
    server.hold = (a) => a.method === 'PUT';
    move(10);
    await pass(850);
    move(11);
    first.dispose();
    await open('B');
    server.let();
    await pass(2000);
    expect([useEditor.getState().workflow?.id, useEditor.getState().save, useEditor.getState().draftRevision]).toEqual([
      'B',
      'clean',
      null,
    ]);
    expect([server.all.B?.draft, at(server.all.A?.draft?.graph)]).toEqual([null, 11]);
  });

  it('is opened again only when the page before has sent its last edit', async () => {
    const first = await open('A');
    server.hold = (a) => a.method === 'PUT';
    move(10);
    first.dispose();
    const again = new DocumentSession('A');
    sessions.push(again);
    const opened = again.open();
    await pass(100);
    server.let();
    await pass(10);
    await opened;
    expect([shown(), useEditor.getState().readOnly, useEditor.getState().draftRevision]).toEqual([10, null, 1]);
    move(12);
    await pass(900);
    expect([at(server.all.A?.draft?.graph), useEditor.getState().conflict]).toEqual([12, null]);
  });

  it('is tried again when the line or the session comes back', async () => {
    await open('A');
    let down = true;
    server.on('PUT', /draft/, (asked) => (down ? offline() : (server as unknown as { answer(a: Asked): Promise<Response> }).answer(asked)));
    move(3);
    await pass(900);
    expect(useEditor.getState().save).toBe('failed');
    down = false;
    await pass(5000);
    expect([useEditor.getState().save, at(server.all.A?.draft?.graph)]).toEqual(['saved', 3]);
  });

  it('is not sent while a conflict waits, and Escape settles nothing', async () => {
    const session = await open('A');
    server.all.A!.draft = { graph: graph(77), draft_revision: 9, based_on_revision: 1, updated_at: '2026-11-20T20:00:00Z', issues: [] };
    move(10);
    await pass(900);
    expect([at(useEditor.getState().conflict?.graph), useEditor.getState().asking]).toEqual([77, true]);
    useEditor.setState({ asking: false });
    move(20);
    await pass(900);
    expect([shown(), at(server.all.A?.draft?.graph)]).toEqual([20, 77]);
    expect([await session.saveVersion(), useEditor.getState().asking]).toEqual([{ ok: false, conflict: true }, true]);
    await session.settle('mine');
    expect(at(server.all.A?.draft?.graph)).toBe(20);
  });

  it('keeps what is edited while a copy of it is made', async () => {
    const session = await open('A');
    server.all.A!.draft = { graph: graph(77), draft_revision: 9, based_on_revision: 1, updated_at: '2026-11-20T20:00:00Z', issues: [] };
    move(10);
    await pass(900);
    let made: (r: Response) => void = () => undefined;
    server.on('POST', /\/api\/workflows$/, () => new Promise<Response>((ok) => (made = ok)));
    server.on('PUT', /workflows\/C\/draft/, () => json({}));
    const settled = session.settle('copy');
    await pass(10);
    useEditor.setState({ asking: false });
    move(20);
    made(json({ id: 'C' }, 201));
    await pass(50);
    expect([await settled, shown(), at(useEditor.getState().conflict?.graph), at(server.all.A?.draft?.graph)]).toEqual(['C', 20, 77, 77]);
  });

  it('is sent again after a draft could not be discarded', async () => {
    const session = await open('A');
    const inner = server as unknown as { answer(a: Asked): Promise<Response> };
    let busy = true;
    server.on('PUT', /draft/, (asked) => (busy ? refusal(503, 'store_unavailable') : inner.answer(asked)));
    server.on('GET', /draft/, (asked) => (busy ? refusal(500, 'internal') : inner.answer(asked)));
    move(10);
    await pass(900);
    await expect(session.discard()).rejects.toBeDefined();
    busy = false;
    await pass(5000);
    expect([useEditor.getState().save, at(server.all.A?.draft?.graph)]).toEqual(['saved', 10]);
  });

  it('does not conflict with what a tab sent while it was closed', async () => {
    // The server took the last edit, and the tab was gone before it could note that.
    server.all.A!.draft = { graph: graph(10), draft_revision: 1, based_on_revision: 1, updated_at: '2026-11-20T20:00:00Z', issues: [] };
    server.all.A!.count = 1;
    await new Journal('A').write({ graph: graph(10), draftRevision: null, basedOn: 1, unsent: true });
    const session = await open('A');
    await pass(900);
    const { conflict, save, draftRevision } = useEditor.getState();
    expect([shown(), conflict, save, draftRevision]).toEqual([10, null, 'saved', 1]);
    move(20);
    await session.flush();
    expect(at(server.all.A?.draft?.graph)).toBe(20);
  });

  it('is on disk before the server hears of it', async () => {
    await open('A');
    const slow: (() => void)[] = [];
    vi.spyOn(Journal.prototype, 'write').mockImplementation(async function (this: Journal, kept) {
      await new Promise<void>((go) => slow.push(go));
      disk.set((this as unknown as { key: string }).key, kept);
      return true;
    });
    const sent = (): unknown[] => [server.of('PUT', /draft/).length, at(server.all.A?.draft?.graph)];
    move(10);
    await pass(1500);
    expect(sent()).toEqual([0, undefined]);
    slow.splice(0).forEach((go) => go());
    await pass(10);
    expect(sent()).toEqual([1, 10]);
    // A disk that stands still holds up nothing for long, and who leaves the page does not wait for it.
    move(20);
    await pass(2000);
    expect(sent()).toEqual([2, 20]);
    move(30);
    vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
    document.dispatchEvent(new Event('visibilitychange'));
    await pass(10);
    expect(sent()).toEqual([3, 30]);
  });

  it('that comes twice to the server is no conflict', async () => {
    const session = await open('A');
    move(10);
    server.all.A!.draft = {
      graph: useEditor.getState().graph,
      draft_revision: 4,
      based_on_revision: 1,
      updated_at: '2026-11-20T20:00:00Z',
      issues: [],
    };
    server.all.A!.count = 4;
    await session.flush();
    const { conflict, save, draftRevision } = useEditor.getState();
    expect([conflict, save, draftRevision]).toEqual([null, 'saved', 4]);
  });

  it.each(['open', 'opened again'])('does not conflict with an earlier text of its own whose answer was not heard (%s)', async (how) => {
    const session = await open('A');
    const inner = server as unknown as { answer(a: Asked): Promise<Response> };
    let deaf = true;
    server.on('PUT', /draft/, async (asked) => {
      const answer = await inner.answer(asked);
      return deaf ? offline() : answer;
    });
    move(10);
    await pass(900);
    expect([useEditor.getState().save, at(server.all.A?.draft?.graph)]).toEqual(['failed', 10]);
    move(20);
    deaf = false;
    if (how === 'opened again') {
      server.on('PUT', /draft/, offline);
      session.dispose();
      await pass(10);
      server.on('PUT', /draft/, (asked) => inner.answer(asked));
      await open('A');
    }
    await pass(5000);
    const { conflict, save } = useEditor.getState();
    expect([shown(), conflict, save, at(server.all.A?.draft?.graph)]).toEqual([20, null, 'saved', 20]);
  });

  it.each(['saved again', 'edited'])('does not conflict with its own version whose answer was not heard (%s)', async (how) => {
    const session = await open('A');
    const inner = server as unknown as { answer(a: Asked): Promise<Response> };
    let deaf = true;
    server.on('POST', /save/, async (asked) => {
      const answer = await inner.answer(asked);
      return deaf ? offline() : answer;
    });
    move(10);
    await expect(session.saveVersion()).rejects.toBeDefined();
    deaf = false;
    expect([at(server.all.A?.workflow.graph), server.all.A?.draft]).toEqual([10, null]);
    if (how === 'edited') {
      move(20);
      await pass(2000);
      expect(at(server.all.A?.draft?.graph)).toBe(20);
    }
    expect(await session.saveVersion()).toEqual({ ok: true });
    const { conflict, save, workflow } = useEditor.getState();
    expect([shown(), conflict, save, at(server.all.A?.workflow.graph)]).toEqual([how === 'edited' ? 20 : 10, null, 'clean', shown()]);
    expect(workflow?.revision).toBe(how === 'edited' ? 3 : 2);
  });

  it('keeps what is edited while an older draft is discarded', async () => {
    const session = await open('A');
    move(10);
    await session.flush();
    server.hold = (asked) => asked.method === 'DELETE';
    const discarded = session.discard();
    await pass(10);
    move(20);
    server.let();
    await pass(10);
    await discarded;
    await pass(2000);
    expect([shown(), at(server.all.A?.draft?.graph), useEditor.getState().save]).toEqual([20, 20, 'saved']);
  });

  it('is discarded although its answer was not heard', async () => {
    const session = await open('A');
    const inner = server as unknown as { answer(a: Asked): Promise<Response> };
    server.on('PUT', /draft/, async (asked) => {
      await inner.answer(asked);
      return offline();
    });
    move(10);
    await pass(900);
    expect(at(server.all.A?.draft?.graph)).toBe(10);
    await session.discard();
    const { conflict, save } = useEditor.getState();
    expect([shown(), conflict, save, server.all.A?.draft]).toEqual([0, null, 'clean', null]);
  });

  it.each(['heard', 'lost'])('that was begun on an older version does not go over a newer one unseen (answer %s)', async (how) => {
    const session = await open('A');
    const inner = server as unknown as { answer(a: Asked): Promise<Response> };
    let deaf = how === 'lost';
    server.on('PUT', /draft/, async (asked) => {
      const answer = await inner.answer(asked);
      return deaf ? offline() : answer;
    });
    server.all.A!.workflow = { ...server.all.A!.workflow, revision: 2, graph: graph(42) };
    move(10);
    await pass(900);
    deaf = false;
    await pass(5000);
    void session.saveVersion();
    await pass(10);
    expect(server.of('POST', /save/)[0]?.body.revision).toBe(1);
  });

  it.each(['before it was sent', 'after it was sent'])('nor when the tab was closed in between (%s)', async (when) => {
    await new Journal('A').write({ graph: graph(10), draftRevision: null, basedOn: 1, unsent: true });
    server.all.A!.workflow = { ...server.all.A!.workflow, revision: 2, graph: graph(42) };
    const session = await open('A');
    await pass(900);
    if (when === 'after it was sent') {
      move(11);
      await session.flush();
      session.dispose();
      await pass(10);
      await open('A');
    }
    void useEditor.getState().session?.saveVersion();
    await pass(10);
    expect(server.of('POST', /save/)[0]?.body.revision).toBe(1);
  });

  it('goes over no version unseen once it was discarded', async () => {
    const session = await open('A');
    server.all.A!.workflow = { ...server.all.A!.workflow, revision: 2, graph: graph(42) };
    move(10);
    await pass(900);
    await session.discard();
    expect([shown(), useEditor.getState().seen]).toEqual([42, null]);
    move(11);
    await pass(900);
    expect(await session.saveVersion()).toEqual({ ok: true });
    expect(server.of('POST', /save/)[0]?.body.revision).toBeUndefined();
  });

  it('goes over no version unseen when it is edited while it is discarded', async () => {
    const session = await open('A');
    server.all.A!.workflow = { ...server.all.A!.workflow, revision: 2, graph: graph(42) };
    move(10);
    await pass(900);
    server.hold = (asked) => asked.method === 'DELETE';
    const discarded = session.discard();
    await pass(10);
    move(11);
    server.let();
    await pass(900);
    await discarded;
    void session.saveVersion();
    await pass(10);
    expect([shown(), server.of('POST', /save/)[0]?.body.revision]).toEqual([11, 1]);
  });

  it('leaves what another one has not sent yet when its page is left before that was read', async () => {
    const { locks } = await import('../../src/editor/locks');
    const session = new DocumentSession('A');
    const opened = session.open();
    await pass(10);
    await opened;
    server.on('PUT', /draft/, () => offline());
    move(1);
    await pass(900);
    let free: () => void = () => undefined;
    const { writer } = session as unknown as { writer: { name: string } };
    void locks.request(writer.name, { steal: true }, () => new Promise<void>((go) => (free = go)));
    await pass(10);
    // The other one went on from there, and could not send it either.
    await new Journal('A').write({ graph: graph(2), draftRevision: null, basedOn: 1, unsent: true });
    server.hold = (asked) => asked.method === 'GET';
    free();
    await pass(50);
    session.dispose();
    server.let();
    await pass(50);
    expect(at((disk.values().next().value as { graph: Graph }).graph)).toBe(2);
  });

  it('is no older than a version of its own whose answer was not heard when the tab was closed', async () => {
    await new Journal('A').write({ graph: graph(20), draftRevision: 4, basedOn: 1, unsent: true, unheard: [graph(10)] });
    server.all.A!.workflow = { ...server.all.A!.workflow, revision: 2, graph: graph(10) };
    const session = await open('A');
    await pass(900);
    expect([await session.saveVersion(), useEditor.getState().workflow?.revision]).toEqual([{ ok: true }, 3]);
    expect(server.of('POST', /save/)[0]?.body.revision).toBeUndefined();
  });
});

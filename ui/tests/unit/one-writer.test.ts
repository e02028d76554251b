// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DocumentSession } from '../../src/editor/session';
import { useEditor } from '../../src/editor/store';
import { at, Documents, graph, move, shown } from './documents';
import { pass } from './fake-server';

/** It holds the lock of A. */
async function anotherTab(): Promise<{ close: () => void }> {
  const { Writer } = await import('../../src/editor/writer');
  const other = new Writer('A', { granted: () => undefined, give: () => Promise.resolve(), lost: () => undefined });
  await other.begin(10);
  return other;
}

describe('one writer among tabs', () => {
  let server: Documents;
  beforeEach(() => {
    vi.useFakeTimers();
    server = new Documents('A');
  });
  afterEach(() => vi.useRealTimers());

  /** Two pages share the locks; the store shows the one that was made last. */
  it('sends what it has before another takes over, and that one begins with it', async () => {
    const { PageLocks } = await import('../../src/editor/locks');
    const locks = new PageLocks();
    const told: string[] = [];
    const hold = (name: string) => (): Promise<void> => {
      told.push(`${name} has it`);
      return new Promise(() => undefined);
    };
    void locks.request('x', {}, hold('one')).catch(() => told.push('one lost it'));
    await pass(1);
    const stop = new AbortController();
    void locks.request('x', { signal: stop.signal }, hold('two')).catch(() => told.push('two left the line'));
    void locks.request('x', {}, hold('three'));
    await pass(1);
    stop.abort();
    void locks.request('x', { steal: true }, hold('two'));
    await pass(1);
    expect(told).toEqual(['one has it', 'two left the line', 'one lost it', 'two has it']);
  });

  it('tells the other, reads while another writes, and takes over its last edit with the selection kept', async () => {
    const { Writer } = await import('../../src/editor/writer');
    const heard: string[] = [];
    const session = new DocumentSession('A');
    // Another tab holds the lock.
    const other = new Writer('A', {
      granted: () => undefined,
      give: () => {
        server.all.A!.draft = { graph: graph(9), draft_revision: 9, based_on_revision: 1, updated_at: '2026-11-20T20:00:00Z', issues: [] };
        heard.push('asked');
        return Promise.resolve();
      },
      lost: () => heard.push('lost'),
    });
    expect(await other.begin(10)).toBe(true);
    const opened = session.open();
    await pass(500);
    await opened;
    expect([useEditor.getState().readOnly, shown()]).toEqual(['other', 0]);
    useEditor.setState({ selection: ['start'] });
    move(1);
    expect(shown()).toBe(0);
    vi.useRealTimers();
    await session.takeOver();
    expect([useEditor.getState().readOnly, shown(), useEditor.getState().draftRevision, heard.slice(0, 2)]).toEqual([
      null,
      9,
      9,
      ['asked', 'lost'],
    ]);
    expect(useEditor.getState().selection).toEqual(['start']);
    move(12);
    await session.flush();
    expect(at(server.all.A?.draft?.graph)).toBe(12);
    session.dispose();
    other.close();
  });

  it('does not say that it saved what it only reads', async () => {
    const other = await anotherTab();
    const session = new DocumentSession('A');
    const opened = session.open();
    await pass(500);
    await opened;
    expect([useEditor.getState().readOnly, (await session.saveVersion()).ok]).toEqual(['other', false]);
    session.dispose();
    other.close();
  });

  it('writes when the other one leaves while it opens, and begins with what that one sent last', async () => {
    const other = await anotherTab();
    server.hold = (asked) => asked.path.endsWith('/draft');
    const session = new DocumentSession('A');
    const opened = session.open();
    await pass(500);
    other.close();
    await pass(50);
    server.let();
    server.all.A!.draft = { graph: graph(7), draft_revision: 7, based_on_revision: 1, updated_at: '2026-11-20T20:00:00Z', issues: [] };
    await pass(50);
    await opened;
    await pass(50);
    expect([useEditor.getState().readOnly, shown(), useEditor.getState().draftRevision]).toEqual([null, 7, 7]);
    session.dispose();
  });

  it('is not edited before what the other one sent last is there, and keeps what is typed from then on', async () => {
    const other = await anotherTab();
    server.hold = (asked) => asked.path.endsWith('/draft');
    const session = new DocumentSession('A');
    const opened = session.open();
    await pass(500);
    other.close();
    await pass(50);
    // The page has come; what the other tab left is still asked for.
    server.held.splice(0, 1).forEach((go) => go());
    await pass(50);
    move(1);
    const typed = shown() === 1;
    server.let();
    await pass(50);
    await opened;
    expect([typed, shown()]).toEqual([false, 0]);
    await Promise.all([session.takeOver(), session.takeOver().then(() => undefined), pass(10).then(() => move(2)), pass(60)]);
    expect(shown()).toBe(2);
    session.dispose();
  });

  it('is not edited any more when it is taken over while it loads', async () => {
    const { Writer } = await import('../../src/editor/writer');
    const other = new Writer('A', { granted: () => undefined, give: () => Promise.resolve(), lost: () => undefined });
    server.hold = (asked) => asked.path.endsWith('/draft');
    const session = new DocumentSession('A');
    const opened = session.open();
    await pass(100);
    const waits = other.begin(10);
    await pass(20);
    expect(await waits).toBe(false);
    vi.useRealTimers();
    const taken = other.take();
    await vi.waitFor(() => expect((session as unknown as { giving: boolean }).giving).toBe(true), { timeout: 20_000, interval: 5 });
    const seen: (string | null)[] = [];
    const undo = useEditor.subscribe((s) => s.workflow && seen.push(s.readOnly));
    server.let();
    await opened;
    await taken;
    undo();
    expect([seen.length > 0, seen.includes(null)]).toEqual([true, false]);
    session.dispose();
    other.close();
  });

  it('does not write when another one took over before its turn to load came', async () => {
    const { Writer } = await import('../../src/editor/writer');
    const { locks } = await import('../../src/editor/locks');
    const other = new Writer('A', { granted: () => undefined, give: () => Promise.resolve(), lost: () => undefined });
    await other.begin(10);
    server.hold = (asked) => asked.path.endsWith('/draft');
    const session = new DocumentSession('A');
    const opened = session.open();
    await pass(500);
    other.close();
    await pass(50);
    let third: () => void = () => undefined;
    const held = (): Promise<void> => new Promise((go) => (third = go));
    void locks.request((other as unknown as { name: string }).name, { steal: true }, held);
    await pass(50);
    server.let();
    await opened;
    await pass(50);
    expect(useEditor.getState().readOnly).toBe('other');
    move(5);
    await pass(900);
    expect([shown(), server.all.A?.draft]).toEqual([0, null]);
    session.dispose();
    third();
  });

  it('has nothing to choose when what it sent meets another hand after that one took over', async () => {
    const { locks } = await import('../../src/editor/locks');
    const session = new DocumentSession('A');
    const opened = session.open();
    await pass(10);
    await opened;
    server.hold = (asked) => asked.method === 'PUT';
    move(1);
    await pass(900);
    let third: () => void = () => undefined;
    const { writer } = session as unknown as { writer: { name: string } };
    void locks.request(writer.name, { steal: true }, () => new Promise<void>((go) => (third = go)));
    await pass(10);
    server.all.A!.draft = { graph: graph(9), draft_revision: 9, based_on_revision: 1, updated_at: '2026-11-20T20:00:00Z', issues: [] };
    server.let();
    await pass(50);
    expect([useEditor.getState().readOnly, useEditor.getState().conflict]).toEqual(['other', null]);
    session.dispose();
    third();
  });
});

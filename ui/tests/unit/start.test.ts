// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Workflow } from '@wfstudio/client';
import { clearComposer, useComposer } from '../../src/editor/composer';
import type { DocumentSession } from '../../src/editor/session';
import { startRun } from '../../src/editor/start';
import { blank, useEditor } from '../../src/editor/store';
import { RunSession } from '../../src/run/session';
import { pass, Server, stream } from './fake-server';

describe('a run that is begun while the document is being stored', () => {
  let server: Server;
  let session: RunSession;
  let stored: { ok: () => void; no: (error: Error) => void };
  const begun = () => server.asked.filter((x) => /\/run\/stream/.test(x.path)).map((x) => x.body.message);

  beforeEach(() => {
    vi.useFakeTimers();
    server = new Server();
    server.on('POST', /\/run\/stream/, () => stream([['trace_started', { trace_id: 'T' }]], 'hold'));
    session = new RunSession();
    clearComposer();
    const flush = () => new Promise<void>((ok, no) => (stored = { ok, no }));
    useEditor.setState({ ...blank(), workflow: { id: 'w' } as Workflow, session: { flush } as unknown as DocumentSession });
  });
  afterEach(() => {
    session.dispose();
    useEditor.setState(blank());
    vi.useRealTimers();
  });

  it('begins once, however often it is asked for', async () => {
    useComposer.setState({ text: 'go' });
    void startRun('go');
    const first = stored;
    void startRun('go');
    first.ok();
    stored.ok();
    await pass(10);
    expect(begun()).toEqual(['go']);
  });

  it('is not begun beside one that is followed, whose answers may be on their way', async () => {
    void startRun('first');
    stored.ok();
    await pass(10);
    void startRun('second', { node: 'n', state: {} });
    stored.ok();
    await pass(10);
    expect(begun()).toEqual(['first']);
  });

  it('leaves what is written meanwhile', async () => {
    useComposer.setState({ text: 'go' });
    void startRun('go');
    useComposer.setState((s) => ({ text: `${s.text} next`.trim() }));
    stored.ok();
    await pass(10);
    expect([begun(), useComposer.getState().text]).toEqual([['go'], 'next']);
  });

  it('puts the message back before what is written meanwhile when the document cannot be stored', async () => {
    useComposer.setState({ text: 'go', said: 'earlier' });
    void startRun('go');
    useComposer.setState({ text: 'next' });
    stored.no(new Error('no'));
    await pass(10);
    const { text, said } = useComposer.getState();
    expect([begun(), text, said]).toEqual([[], 'go\nnext', 'earlier']);
    void startRun('again');
    stored.ok();
    await pass(10);
    expect(begun()).toEqual(['again']);
  });
});

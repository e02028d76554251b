// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { useConnection } from '../../src/api/connection';
import type { Waiting } from '../../src/run/view';
import { RunSession } from '../../src/run/session';
import { useRun } from '../../src/run/store';
import { json, pass, refusal, run, Server, stream } from './fake-server';

type Told = [string, Record<string, unknown>];
const BEGAN: Told[] = [
  ['thread', { trace_id: 'T', thread_id: 'H' }],
  ['trace_started', { trace_id: 'T' }],
  ['step_started', { trace_id: 'T', step_id: 's1', node_id: 'n1', node_type: 'llm' }],
];
const asks = (node: string): Told => [
  'human_input_required',
  { trace_id: 'T', step_id: `s-${node}`, node_id: node, pause_id: `p-${node}` },
];
const pauseAt = (node: string): Waiting => useRun.getState().view.pauses.find((p) => p.node_id === node) as Waiting;
const begin = /\/run\/stream/;
const tail = /\/events\/stream/;
const resume = /\/resume\/stream/;

describe('the run of a page', () => {
  let server: Server;
  let session: RunSession;
  const view = () => useRun.getState().view;

  beforeEach(() => {
    vi.useFakeTimers();
    server = new Server();
    useConnection.setState({ signedOut: false, offline: false, cut: {} });
    session = new RunSession();
  });
  afterEach(() => {
    session.dispose();
    vi.useRealTimers();
  });

  it('does not appear on a page that was opened meanwhile', async () => {
    let tell: (r: Response) => void = () => undefined;
    server.on('GET', /\/api\/runs\/X/, () => new Promise<Response>((ok) => (tell = ok)));
    const opened = session.open('X');
    await pass(1);
    session.dispose();
    const other = new RunSession();
    tell(json(run('X', 'completed')));
    await pass(100);
    expect([view().traceId, view().status, await opened]).toEqual([null, 'idle', null]);
    other.dispose();
  });

  it('leaves no event of the last frame to the next page', async () => {
    server.on('POST', begin, () => stream(BEGAN, 'hold'));
    void session.start('w', { message: 'hi' });
    await vi.advanceTimersByTimeAsync(0);
    session.dispose();
    session = new RunSession();
    await pass(1000);
    expect([view().order, view().events]).toEqual([[], []]);
  });

  it('shows the run that was there again when the next one is refused', async () => {
    server.on('GET', /\/api\/runs\/X/, () => json(run('X', 'completed')));
    await session.open('X');
    server.on('POST', begin, () => refusal(429, 'too_many_runs', { 'Retry-After': '1' }));
    const end = session.start('w', { message: 'hi' });
    await pass(15_000);
    expect(await end).toMatchObject({ kind: 'refused', problem: { code: 'too_many_runs' } });
    expect([view().traceId, view().status, useRun.getState().streaming]).toEqual(['X', 'completed', false]);
  });

  it('keeps its steps when the session ends in the middle, and goes on after the sign-in', async () => {
    server.on('POST', begin, () => stream(BEGAN, 'cut'));
    server.on(
      'GET',
      tail,
      () => refusal(401, 'unauthenticated'),
      () => stream([['trace_completed', { trace_id: 'T' }]], 'end', 4),
    );
    void session.start('w', { message: 'hi' });
    await pass(2000);
    expect([view().traceId, view().order, view().status]).toEqual(['T', ['s1'], 'running']);
    window.dispatchEvent(new Event('focus'));
    await pass(1000);
    expect([view().order, view().status]).toEqual([['s1'], 'completed']);
  });

  it('keeps its steps and says so when it cannot be followed any more', async () => {
    server.on('POST', begin, () => stream(BEGAN, 'cut'));
    server.on('GET', tail, () => refusal(403, 'forbidden'));
    void session.start('w', { message: 'hi' });
    await pass(5000);
    expect([view().order, useRun.getState().lost?.code, useRun.getState().streaming]).toEqual([['s1'], 'forbidden', false]);
  });

  it('answers a second pause after the first answer has come to rest', async () => {
    server.on('POST', begin, () => stream([...BEGAN, asks('a'), asks('b')]));
    let rest: (r: Response) => void = () => undefined;
    server.on(
      'POST',
      resume,
      () => new Promise<Response>((ok) => (rest = ok)),
      () => stream([['trace_completed', { trace_id: 'T' }]], 'end', 9),
    );
    void session.start('w', { message: 'hi' });
    await pass(100);
    const b = pauseAt('b');
    void session.answer(pauseAt('a'), { message: 'one' });
    void session.answer(b, { message: 'two' });
    await pass(100);
    expect([server.of('POST', resume).length, useRun.getState().answering]).toEqual([1, ['p-a', 'p-b']]);
    rest(stream([['step_completed', { trace_id: 'T', step_id: 's-a' }], asks('b')], 'end', 6));
    await pass(100);
    expect(server.of('POST', resume).map((a) => [a.body.pause_id, a.body.message])).toEqual([
      ['p-a', 'one'],
      ['p-b', 'two'],
    ]);
    expect([view().status, useRun.getState().answering]).toEqual(['completed', []]);
  });

  it('sends an answer that waited also after the page was left', async () => {
    server.on('POST', begin, () => stream([...BEGAN, asks('a'), asks('b')]));
    server.on(
      'POST',
      resume,
      () => stream([asks('b')], 'end', 6),
      () => stream([['trace_completed', { trace_id: 'T' }]], 'end', 9),
    );
    void session.start('w', { message: 'hi' });
    await pass(100);
    void session.answer(pauseAt('a'), { message: 'one' });
    void session.answer(pauseAt('b'), { message: 'two' });
    session.dispose();
    await pass(1000);
    expect([server.of('POST', resume).length, view().status]).toEqual([2, 'idle']);
  });

  it('sends an answer that waits for the end of another stream once that has come, also after the page was left', async () => {
    const text = new TextEncoder();
    let tell: (events: Told[]) => void = () => undefined;
    let close = (): void => undefined;
    let id = 0;
    const body = new ReadableStream<Uint8Array>({
      start(control) {
        tell = (events) =>
          events.forEach(([name, data]) => control.enqueue(text.encode(`id: ${++id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`)));
        close = () => control.close();
      },
    });
    server.on('POST', begin, () => new Response(body, { headers: { 'Content-Type': 'text/event-stream' } }));
    server.on('POST', resume, () => stream([['trace_completed', { trace_id: 'T' }]], 'end', 9));
    void session.start('w', { message: 'hi' });
    tell([...BEGAN, asks('a')]);
    await pass(100);
    void session.answer(pauseAt('a'), { message: 'one' });
    session.dispose();
    tell([['step_completed', { trace_id: 'T', step_id: 's1' }]]);
    await pass(1000);
    expect(server.of('POST', resume).length, 'the run is at work').toBe(0);
    tell([asks('b')]);
    close();
    await pass(1000);
    expect(server.of('POST', resume).map((a) => a.body.message)).toEqual(['one']);
  });

  it('waits for the run to rest before the second answer when somebody gave the first one, also after the page was left', async () => {
    server.on('POST', begin, () => stream([...BEGAN, asks('a'), asks('b')]));
    server.on(
      'POST',
      resume,
      () => refusal(409, 'already_resumed'),
      () => stream([['trace_completed', { trace_id: 'T' }]], 'end', 9),
    );
    server.on('GET', /\/api\/runs\/T/, () => json(run('T', 'running')));
    let rest: (r: Response) => void = () => undefined;
    server.on('GET', tail, () => new Promise<Response>((ok) => (rest = ok)));
    void session.start('w', { message: 'hi' });
    await pass(100);
    void session.answer(pauseAt('a'), { message: 'one' });
    void session.answer(pauseAt('b'), { message: 'two' });
    session.dispose();
    await pass(1000);
    expect(server.of('POST', resume).length, 'the run is at work').toBe(1);
    rest(stream([['run_terminal', { trace_id: 'T', status: 'awaiting_input' }]], 'end', 7));
    await pass(1000);
    expect(server.of('POST', resume).map((a) => a.body.message)).toEqual(['one', 'two']);
  });

  it('answers the run that the pause was shown for', async () => {
    server.on('POST', begin, () => stream([...BEGAN, asks('a')]));
    void session.start('w', { message: 'hi' });
    await pass(100);
    const shown = pauseAt('a');
    server.on('GET', /\/api\/runs\/X/, () => json(run('X', 'awaiting_input')));
    await session.open('X');
    void session.answer(shown, { message: 'yes' });
    await pass(10);
    expect(server.of('POST', resume)[0]?.path).toContain('/workflows/traces/T/resume/stream');
  });

  it('is stopped once there is something to stop', async () => {
    let begun: (r: Response) => void = () => undefined;
    server.on('POST', begin, () => new Promise<Response>((ok) => (begun = ok)));
    server.on('POST', /\/cancel/, () => json({ status: 'cancelled' }, 202));
    void session.start('w', { message: 'hi' });
    await pass(10);
    void session.cancel();
    await pass(1000);
    begun(stream(BEGAN, 'hold'));
    await pass(1000);
    expect(server.of('POST', /\/cancel/).map((a) => a.path)).toEqual([expect.stringContaining('/T/cancel')]);
  });

  it('shows the question again when its answer is refused', async () => {
    server.on('POST', begin, () => stream([...BEGAN, asks('a')]));
    server.on('POST', resume, () => refusal(409, 'already_resumed'));
    server.on('GET', /\/api\/runs\/T/, () => json(run('T', 'completed')));
    void session.start('w', { message: 'hi' });
    await pass(100);
    const end = await session.answer(pauseAt('a'), { message: 'yes' });
    expect([end.kind, view().status, view().pauses, useRun.getState().answering]).toEqual(['refused', 'completed', [], []]);
  });

  it('sends a message that may have arrived under its first key again, and every other under its own', async () => {
    server.on('POST', begin, () => Promise.reject(new TypeError('failed to fetch')));
    const first = session.start('w', { message: 'hi' });
    await pass(20_000);
    expect((await first).kind).toBe('refused');
    server.on('POST', begin, () => stream([...BEGAN, ['trace_completed', { trace_id: 'T' }]]));
    for (const message of ['hi', 'hi', 'other']) {
      void session.start('w', { message });
      await pass(100);
    }
    const keys = server.of('POST', begin).map((a) => a.key);
    expect(new Set(keys.slice(0, 5)).size).toBe(1);
    expect(new Set(keys.slice(4)).size).toBe(3);
  });

  it('keeps that key, whatever a later try is told, until the message was taken', async () => {
    const offline = (): Promise<Response> => Promise.reject(new TypeError('failed to fetch'));
    server.on(
      'POST',
      begin,
      offline,
      () => refusal(403, 'forbidden'),
      () => refusal(500, 'internal'),
      () => refusal(403, 'forbidden'),
      () => stream([...BEGAN, ['trace_completed', { trace_id: 'T' }]]),
    );
    for (let n = 0; n < 5; n += 1) {
      void session.start('w', { message: 'hi' });
      await pass(2000);
    }
    const keys = server.of('POST', begin).map((a) => a.key);
    expect([keys.length, new Set(keys.slice(0, 5)).size, new Set(keys).size]).toEqual([6, 1, 2]);
    expect(view().status).toBe('completed');
  });

  it('tries a run with calls in doubt again as was decided', async () => {
    const calls = [{ call_id: 'c', name: 'pay', arguments: {}, node_id: 'n1' }];
    server.on('POST', begin, () =>
      stream([...BEGAN, ['trace_failed', { trace_id: 'T', code: 'in_doubt', message: 'nobody knows', calls }]]),
    );
    server.on('POST', /\/retry\/stream/, () => stream([['trace_completed', { trace_id: 'T' }]], 'end', 9));
    void session.start('w', { message: 'hi' });
    await pass(100);
    expect(view().error?.calls).toEqual(calls);
    void session.retry({ in_doubt: [{ call_id: 'c', action: 'use', result: 'paid' }] });
    await pass(100);
    expect(server.of('POST', /\/retry/)[0]?.body).toEqual({ in_doubt: [{ call_id: 'c', action: 'use', result: 'paid' }] });
    expect([view().status, view().error]).toEqual(['completed', null]);
  });
});

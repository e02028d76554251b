// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { follow, type End, type StudioEvent } from '@wfstudio/client';
import { studio } from '../../src/api/client';
import { useConnection } from '../../src/api/connection';
import { hide, json, offline, pass, refusal, run, Server, stream } from './fake-server';

const BEGAN: [string, Record<string, unknown>][] = [
  ['thread', { trace_id: 'T', thread_id: 'H' }],
  ['step_started', { trace_id: 'T', step_id: 's1' }],
];
const DONE: [string, Record<string, unknown>] = ['trace_completed', { trace_id: 'T' }];
const START = /\/run\/stream/;
const TAIL = /\/workflows\/runs\/T\/events\/stream/;

describe('following a run', () => {
  let server: Server;
  let told: StudioEvent[];
  let end: End | null;
  let stop: AbortController;
  const start = (): void => {
    void follow(studio, {
      path: '/workflows/w/run/stream',
      body: { message: 'hi' },
      signal: stop.signal,
      onEvent: (e) => told.push(e),
    }).then((e) => {
      end = e;
    });
  };
  const names = (): string[] => told.map((e) => e.name);

  beforeEach(() => {
    vi.useFakeTimers();
    server = new Server();
    told = [];
    end = null;
    stop = new AbortController();
    useConnection.setState({ signedOut: false, offline: false, cut: {} });
    hide(false);
  });
  afterEach(() => {
    stop.abort();
    vi.useRealTimers();
  });

  it('asks again, under the same key, after the time that a full server names', async () => {
    server.on(
      'POST',
      START,
      () => refusal(429, 'too_many_runs', { 'Retry-After': '3' }),
      () => stream([...BEGAN, DONE]),
    );
    start();
    await pass(2900);
    expect(server.asked.length).toBe(1);
    await pass(200);
    const [first, second] = server.asked;
    expect([server.asked.length, second?.key === first?.key, first?.key !== null]).toEqual([2, true, true]);
    expect([end?.kind, names().length]).toEqual(['rested', 3]);
  });

  it('is refused, with the reason, by a server that stays full', async () => {
    server.on('POST', START, () => refusal(429, 'too_many_runs', { 'Retry-After': '1' }));
    start();
    await pass(10_000);
    expect(end).toMatchObject({ kind: 'refused', problem: { code: 'too_many_runs' } });
    expect([server.of('POST', START).length, useConnection.getState().cut]).toEqual([4, {}]);
  });

  it('is refused at once when the server is full for longer than one waits', async () => {
    server.on('POST', START, () => refusal(429, 'too_many_runs', { 'Retry-After': '600' }));
    start();
    await pass(1);
    expect(end).toMatchObject({ kind: 'refused', problem: { status: 429 } });
  });

  it('is lost, under its key, when there is no line to begin with', async () => {
    server.on('POST', START, offline);
    start();
    await pass(10_000);
    expect(end).toMatchObject({ kind: 'lost', problem: { code: 'offline' }, key: server.asked[0]?.key });
  });

  it('goes on where the line was cut', async () => {
    server.on('POST', START, () => stream(BEGAN, 'cut'));
    server.on('GET', TAIL, offline, () => stream([DONE], 'end', 3));
    start();
    await pass(600);
    expect(useConnection.getState().cut).not.toEqual({});
    await pass(3000);
    expect([names(), end?.kind]).toEqual([['thread', 'step_started', 'trace_completed'], 'rested']);
    expect(server.of('GET', TAIL).map((a) => a.lastId)).toEqual(['2', '2']);
    expect(useConnection.getState().cut).toEqual({});
  });

  it('keeps a run whose session has ended, and goes on after the sign-in', async () => {
    let signedIn = false;
    server.on('POST', START, () => stream(BEGAN, 'cut'));
    server.on('GET', TAIL, () => (signedIn ? stream([DONE], 'end', 3) : refusal(401, 'unauthenticated')));
    start();
    await pass(30_000);
    expect([end, useConnection.getState().signedOut]).toEqual([null, true]);
    signedIn = true;
    window.dispatchEvent(new Event('focus'));
    await pass(10);
    expect([end, names().at(-1)]).toEqual([{ kind: 'rested', answer: null }, 'trace_completed']);
  });

  it('keeps a message whose session has ended until it can be sent', async () => {
    let signedIn = false;
    server.on('POST', START, () => (signedIn ? stream([...BEGAN, DONE]) : refusal(419, 'http_419')));
    start();
    await pass(10);
    signedIn = true;
    useConnection.setState({ signedOut: false });
    await pass(10);
    expect([end?.kind, new Set(server.of('POST', START).map((a) => a.key)).size]).toEqual(['rested', 1]);
  });

  it('is lost, not over, when the server tells no more of a run that it has begun', async () => {
    server.on('POST', START, () => stream(BEGAN, 'cut'));
    server.on('GET', TAIL, () => refusal(403, 'forbidden'));
    start();
    await pass(2000);
    expect(end).toMatchObject({ kind: 'lost', problem: { code: 'forbidden' } });
  });

  it('goes on through faults of the server', async () => {
    server.on('POST', START, () => stream(BEGAN, 'cut'));
    server.on(
      'GET',
      TAIL,
      () => refusal(500, 'internal'),
      () => refusal(409, 'idempotency_in_progress'),
      () => stream([DONE], 'end', 3),
    );
    start();
    await pass(10_000);
    expect(end?.kind).toBe('rested');
  });

  it('learns by asking that the run rests, when no stream can be had', async () => {
    server.on('POST', START, () => stream(BEGAN, 'cut'));
    server.on('GET', TAIL, () => refusal(429, 'too_many_streams', { 'Retry-After': '1' }));
    server.on('GET', /\/api\/runs\/T/, () => json(run('T', 'completed')));
    start();
    await pass(30_000);
    expect(end).toMatchObject({ kind: 'rested', answer: { trace: { status: 'completed' } } });
  });

  it('gives its connection back after a minute in a hidden tab, and goes on when it is shown', async () => {
    server.on('POST', START, () => stream(BEGAN, 'hold'));
    server.on('GET', TAIL, () => stream([DONE], 'end', 3));
    start();
    await pass(10);
    hide(true);
    await pass(59_000);
    hide(false);
    await pass(5000);
    hide(true);
    await pass(120_000);
    expect([server.asked.length, end]).toEqual([1, null]);
    hide(false);
    await pass(10);
    expect([server.of('GET', TAIL)[0]?.lastId, end?.kind]).toEqual(['2', 'rested']);
  });

  it('tells nothing after it was left', async () => {
    let tell: (r: Response) => void = () => undefined;
    server.on('POST', START, () => new Promise<Response>((ok) => (tell = ok)));
    start();
    await pass(10);
    stop.abort();
    tell(stream([...BEGAN, DONE]));
    await pass(1000);
    expect([told, end]).toMatchObject([[], { kind: 'lost', problem: null }]);
  });
});

/** Owns a run told live: asked for once, followed until it rests, through cut lines, hidden tabs and sign-ins. */
import { get, send } from './client';
import { tellLine, useConnection } from './connection';
import { next, type End, type Line, type Stop } from './line';
import { isProblem } from './problem';
import { readEvents, type StudioEvent } from './sse';
import type { RunStatus, TraceAnswer } from './types';

export type { End } from './line';

const RESTING: RunStatus[] = ['completed', 'failed', 'cancelled', 'awaiting_input', 'awaiting_tool_approval'];
export const atRest = (status: RunStatus): boolean => RESTING.includes(status);

const LAST = new Set([
  'trace_completed',
  'trace_failed',
  'trace_cancelled',
  'run_terminal',
  'done',
  'error',
  'human_input_required',
  'tool_approval_required',
]);

/** A tab that nobody sees for so long gives its connection back. */
const AWAY = 60_000;
const SIGNED_IN = 5000;

export interface StreamRequest {
  path: string;
  /** What is asked for; without one, a run that is there is followed. */
  body?: unknown;
  /** Under which the request is done once, however often it is sent. */
  key?: string;
  order?: 'ordered' | 'live';
  after?: string | null;
  traceId?: string | null;
  signal: AbortSignal;
  onEvent: (event: StudioEvent) => void;
  onLook?: (answer: TraceAnswer) => void;
}

export const tailPath = (traceId: string): string => `/workflows/runs/${traceId}/events/stream`;

/** Unlike any other, also where the page is not served safely. */
export const newKey = (): string => [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join('-');

/** Resolves with how it ended, never rejects; after an abort nothing is told any more. */
export async function follow(request: StreamRequest): Promise<End> {
  const { signal } = request;
  const key = request.key ?? newKey();
  const line: Line = { taken: request.body === undefined, fails: 0 };
  const at = { lastId: request.after ?? null, traceId: request.traceId ?? null, name: '' };
  const onEvent = (event: StudioEvent): void => {
    if (signal.aborted) return;
    if (event.id) at.lastId = event.id;
    if (typeof event.data.trace_id === 'string') at.traceId = event.data.trace_id;
    at.name = event.name;
    line.fails = 0;
    tellLine(key, 0);
    request.onEvent(event);
  };
  /** Asks how the run stands; the answer when it is at rest. */
  const look = async (): Promise<TraceAnswer | null> => {
    const answer = at.traceId ? await get<TraceAnswer>(`/api/runs/${at.traceId}`, { snapshots: 'none' }, signal).catch(() => null) : null;
    if (!answer || signal.aborted) return null;
    if (atRest(answer.trace.status)) return answer;
    request.onLook?.(answer);
    return null;
  };
  try {
    for (;;) {
      const stop = await read(request, key, line, at, onEvent);
      if (signal.aborted) return { kind: 'lost', problem: null };
      const step = next(line, stop);
      if (step.kind === 'open') {
        line.fails += 1;
        if (line.taken) tellLine(key, line.fails);
        const answer = step.look ? await look() : null;
        if (answer) return { kind: 'rested', answer };
        await until(signal, (go) => after(step.after, go));
      } else if (step.kind === 'sign-in') await until(signal, signedIn);
      else if (step.kind !== 'shown') return step;
      else if (document.hidden) await until(signal, shown);
    }
  } finally {
    tellLine(key, 0);
  }
}

interface Place {
  lastId: string | null;
  traceId: string | null;
  name: string;
}

/** One connection, read to its end. */
async function read(request: StreamRequest, key: string, line: Line, at: Place, onEvent: (event: StudioEvent) => void): Promise<Stop> {
  const own = new AbortController();
  const cut = (): void => own.abort();
  if (request.signal.aborted) cut();
  request.signal.addEventListener('abort', cut, { once: true });
  let away = false;
  const seen = whenHidden(() => {
    away = line.taken;
    if (away) cut();
  });
  try {
    const response = await open(request, key, line, at, own.signal);
    line.taken = true;
    if (response.status === 204 || !response.body) return 'rested';
    await readEvents(response.body, onEvent);
    return LAST.has(at.name) ? 'rested' : 'closed';
  } catch (error) {
    return away ? 'hidden' : isProblem(error) ? error : 'broken';
  } finally {
    seen();
    request.signal.removeEventListener('abort', cut);
  }
}

function open({ path, body, order }: StreamRequest, key: string, line: Line, at: Place, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'text/event-stream' };
  if (at.lastId) headers['Last-Event-ID'] = at.lastId;
  const query = { order: at.lastId ? undefined : order };
  if (body === undefined || (line.taken && at.traceId && at.lastId))
    return send('GET', at.traceId ? tailPath(at.traceId) : path, { headers, query, signal });
  return send('POST', path, { headers: { ...headers, 'Idempotency-Key': key }, query, body, signal });
}

type Undo = () => void;

/** Waits for what `begin` waits for, or for the end of the signal. */
function until(signal: AbortSignal, begin: (go: () => void) => Undo): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const go = (): void => {
      undo();
      signal.removeEventListener('abort', go);
      resolve();
    };
    const undo = begin(go);
    signal.addEventListener('abort', go);
  });
}

function after(ms: number, go: () => void): Undo {
  const timer = setTimeout(go, ms);
  return () => clearTimeout(timer);
}

function on(target: EventTarget, name: string, go: () => void): Undo {
  target.addEventListener(name, go);
  return () => target.removeEventListener(name, go);
}

/** Another request was let in again, the person comes back from signing in, or some time has passed. */
function signedIn(go: () => void): Undo {
  const undo = [useConnection.subscribe((s) => !s.signedOut && go()), on(window, 'focus', go), after(SIGNED_IN, go)];
  return () => undo.forEach((f) => f());
}

const shown = (go: () => void): Undo => on(document, 'visibilitychange', () => !document.hidden && go());

function whenHidden(go: () => void): Undo {
  let timer = 0;
  const look = (): void => {
    clearTimeout(timer);
    if (document.hidden) timer = window.setTimeout(go, AWAY);
  };
  look();
  const undo = on(document, 'visibilitychange', look);
  return () => {
    clearTimeout(timer);
    undo();
  };
}

/** Owns a run told live: POST stream, resumed by Last-Event-ID, then the tail, then polling. */
import { get, send } from './client';
import { tellConnection } from './connection';
import { isProblem } from './problem';
import { readEvents, type StudioEvent } from './sse';
import type { RunStatus, TraceAnswer } from './types';

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

export interface StreamRequest {
  path: string;
  body?: unknown;
  order?: 'ordered' | 'live';
  after?: string | null;
  traceId?: string | null;
  signal: AbortSignal;
  onEvent: (event: StudioEvent) => void;
  onPoll?: (answer: TraceAnswer) => void;
  /** The whole run is told again from its first event. */
  onReplay?: () => void;
}

const wait = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });

export const tailPath = (traceId: string): string => `/workflows/runs/${traceId}/events/stream`;

/** Resolves when the run is at rest or the signal is aborted; rejects with a Problem when refused. */
export async function follow(request: StreamRequest): Promise<void> {
  const key = crypto.randomUUID();
  let lastId = request.after ?? null;
  let traceId = request.traceId ?? null;
  let lastName = '';
  let fails = 0;
  const onEvent = (event: StudioEvent): void => {
    if (event.id) lastId = event.id;
    if (typeof event.data.trace_id === 'string') traceId = event.data.trace_id;
    lastName = event.name;
    fails = 0;
    tellConnection({ reconnecting: 0 });
    request.onEvent(event);
  };
  while (!request.signal.aborted) {
    try {
      const response = await open(request, key, lastId, traceId, fails);
      if (response.status === 204 || !response.body) return;
      await readEvents(response.body, onEvent);
      if (LAST.has(lastName) || (await poll(traceId, request))) return;
    } catch (error) {
      if (request.signal.aborted) return;
      const refused = isProblem(error) && error.status !== 0 && error.status < 500 && error.status !== 429;
      if (refused || (isProblem(error) && error.status === 500)) throw error;
      if (isProblem(error) && !traceId && error.status >= 500 && fails > 1) throw error;
    }
    fails += 1;
    tellConnection({ reconnecting: fails });
    if (fails > 4 && (await poll(traceId, request))) break;
    await wait(Math.min(500 * 2 ** (fails - 1), 8000), request.signal);
  }
  tellConnection({ reconnecting: 0 });
}

function open(request: StreamRequest, key: string, lastId: string | null, traceId: string | null, fails: number): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'text/event-stream' };
  if (lastId) headers['Last-Event-ID'] = lastId;
  const query = { order: lastId ? undefined : request.order };
  const tail = request.body === undefined || (fails > 1 && traceId);
  if (tail && !lastId && request.body !== undefined) request.onReplay?.();
  if (tail) return send('GET', traceId ? tailPath(traceId) : request.path, { headers, query, signal: request.signal });
  return send('POST', request.path, { headers: { ...headers, 'Idempotency-Key': key }, query, body: request.body, signal: request.signal });
}

/** Asks how the run stands and hands it over; true when it is at rest. */
async function poll(traceId: string | null, request: StreamRequest): Promise<boolean> {
  if (!traceId) return true;
  try {
    const answer = await get<TraceAnswer>(`/api/runs/${traceId}`, { snapshots: 'none' });
    request.onPoll?.(answer);
    return atRest(answer.trace.status);
  } catch {
    return false;
  }
}

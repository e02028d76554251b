/** Owns a run told live: asked for once, followed until it rests, through cut lines, hidden tabs and sign-ins. */
import { newKey, type Requests } from './requests.js';
import type { EventName } from './generated/events.js';
import type { RunSummary, TraceAnswer } from './generated/schemas.js';
import { next, type End, type Line, type Stop } from './line.js';
import { isProblem, Problem } from './problem.js';
import { readEvents, type StudioEvent } from './sse.js';
import { after, hidden, inPage, shown, until, whenHidden, type Undo } from './tab.js';

export type RunStatus = RunSummary['status'];

const RESTING: RunStatus[] = ['completed', 'failed', 'cancelled', 'awaiting_input', 'awaiting_tool_approval'];
export const atRest = (status: RunStatus): boolean => RESTING.includes(status);

const LAST = new Set<string>(['trace_completed', 'trace_failed', 'trace_cancelled', 'run_terminal', 'done', 'error'] satisfies EventName[]);
const PAUSES = new Set<string>(['human_input_required', 'tool_approval_required'] satisfies EventName[]);

/** What it means when a stream ends behind this event. Only a pause in a branch may be followed by those of others. */
function endsAt({ name, data }: StudioEvent): Stop {
  if (PAUSES.has(name)) return data.branch_id ? 'paused' : 'rested';
  return LAST.has(name) ? 'rested' : 'closed';
}

const EVENTS = 'text/event-stream';
/** A tab that nobody sees for so long gives its connection back. */
const AWAY = 60_000;
const SIGNED_IN = 5000;
/** Who is refused again asks no sooner, also where somebody says at once that there was a sign-in. */
const REFUSED = 500;
/** A line that says nothing for so long, not even that it is there, is dead. */
const SILENCE = 60_000;

export interface Follow {
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
  /** Waited for between chunks. */
  ready?: () => Promise<void> | undefined;
}

export const tailPath = (traceId: string): string => `/workflows/runs/${encodeURIComponent(traceId)}/events/stream`;

/** Resolves with how it ended, never rejects; after an abort nothing is told any more. */
export async function follow(client: Requests, request: Follow): Promise<End> {
  const { signal } = request;
  const { onLine, onSignedIn } = client.options;
  const waits = onSignedIn !== undefined || inPage();
  const key = request.key ?? newKey();
  const at: Place = {
    taken: request.body === undefined,
    fails: 0,
    lastId: request.after ?? null,
    traceId: request.traceId ?? null,
    stop: 'closed',
    rests: false,
    mine: true,
  };
  const onEvent = (event: StudioEvent): void => {
    if (signal.aborted) return;
    at.mine = true;
    if (event.id) at.lastId = event.id;
    if (typeof event.data.trace_id === 'string') at.traceId = event.data.trace_id;
    at.stop = endsAt(event);
    at.rests = false;
    at.fails = 0;
    onLine?.(key, 0);
    request.onEvent(event);
  };
  /** Asks how the run stands; the answer when it is at rest. */
  const look = async (): Promise<TraceAnswer | null> => {
    const run = at.traceId;
    const asked = run ? client.call('GET /api/runs/{run}', { path: { run }, query: { snapshots: 'none' }, signal }) : null;
    const answer = await asked?.catch(() => null);
    if (!answer || signal.aborted) return null;
    if (atRest(answer.trace.status)) return answer;
    request.onLook?.(answer);
    return null;
  };
  /** A person comes back from signing in, or some time has passed. */
  const signedIn = (go: () => void): (() => void) => {
    const undo = [onSignedIn?.(go), after(SIGNED_IN, go)];
    return () => undo.forEach((f) => f?.());
  };
  const toItsEnd = async (): Promise<End> => {
    let refused = 0;
    for (;;) {
      const stop = await read(client, request, key, at, onEvent);
      if (signal.aborted) return { kind: 'lost', problem: null };
      const step = next(at, stop, waits);
      refused = step.kind === 'sign-in' ? refused + 1 : 0;
      if (step.kind === 'open') {
        at.fails += 1;
        if (at.taken && step.after) onLine?.(key, at.fails);
        const answer = step.look ? await look() : null;
        // What came since the last try is told by one more.
        if (answer && at.rests) return { kind: 'rested', answer };
        at.rests = answer !== null;
        await until(signal, (go) => after(step.after, go));
      } else if (step.kind === 'sign-in') {
        await Promise.all([until(signal, signedIn), refused > 1 && until(signal, (go) => after(REFUSED, go))]);
      } else if (step.kind !== 'shown') return step;
      else if (hidden()) await until(signal, shown);
    }
  };
  const end = await toItsEnd()
    .finally(() => onLine?.(key, 0))
    .catch((cause: unknown): End => {
      const problem = new Problem({ status: -1, code: 'client_error', title: 'Error', detail: String(cause) });
      return { kind: 'lost', problem: Object.assign(problem, { cause }) };
    });
  return end.kind === 'lost' && begins(request, at) ? { ...end, key } : end;
}

interface Place extends Line {
  lastId: string | null;
  traceId: string | null;
  /** What it means when the stream ends here. */
  stop: Stop;
  /** It was at rest at the last look, and nothing was told since. */
  rests: boolean;
  /** It is the program's turn, not the line's: what is thrown is an error of the program. */
  mine: boolean;
}

/** One connection, read to its end. */
async function read(client: Requests, request: Follow, key: string, at: Place, onEvent: (event: StudioEvent) => void): Promise<Stop> {
  const own = new AbortController();
  const cut = (): void => own.abort();
  if (request.signal.aborted) cut();
  request.signal.addEventListener('abort', cut, { once: true });
  let away = false;
  let response: Response | undefined;
  const seen = whenHidden(AWAY, () => {
    away = at.taken;
    if (away) cut();
  });
  /** Silence counts while something is waited for; what begins a run may take its time to answer. */
  let heard: Undo = () => undefined;
  const listen = (): void => {
    at.mine = false;
    heard();
    heard = after(client.options.silence ?? SILENCE, cut);
  };
  const ready = (): Promise<void> | undefined => {
    at.mine = true;
    heard();
    const wait = request.ready?.();
    if (wait) return wait.then(listen);
    listen();
    return undefined;
  };
  try {
    if (at.taken) listen();
    at.mine = true;
    response = await open(client, request, key, at, own.signal);
    listen();
    if (response.status === 204 || !response.body) return 'rested';
    const { status, headers } = response;
    const type = headers.get('content-type') ?? EVENTS;
    // A page of the host, such as one to sign in at that a redirect led to: it says nothing of the run.
    if (!type.toLowerCase().startsWith(EVENTS))
      return new Problem({ status, code: 'no_events', title: 'No events', detail: `no stream of events: ${type}` });
    at.taken = true;
    await readEvents(response.body, onEvent, ready);
    return at.stop;
  } catch (error) {
    if (away) return 'hidden';
    if (!response && isProblem(error)) return error;
    if (at.mine && !own.signal.aborted) throw error;
    return 'broken';
  } finally {
    cut();
    heard();
    seen();
    request.signal.removeEventListener('abort', cut);
  }
}

/** Nothing of it was heard yet: it is asked for under its key. */
const begins = ({ body }: Follow, at: Place): boolean => body !== undefined && !(at.taken && at.traceId && at.lastId);

function open(client: Requests, request: Follow, key: string, at: Place, signal: AbortSignal): Promise<Response> {
  const { path, body, order } = request;
  const headers: Record<string, string> = { Accept: 'text/event-stream' };
  if (at.lastId) headers['Last-Event-ID'] = at.lastId;
  const query = { order: at.lastId ? undefined : order };
  if (!begins(request, at)) return client.send('GET', at.traceId ? tailPath(at.traceId) : path, { headers, query, signal });
  return client.send('POST', path, { headers: { ...headers, 'Idempotency-Key': key }, query, body, signal });
}

/** Owns what follows when a stream of events stops: the one state machine of runs, chats and traces. */
import { isProblem, type Problem } from './problem.js';
import type { TraceAnswer } from './generated/schemas.js';

/**
 * How following a run ends. Refused: the server said that nothing was begun, and no earlier try was left without an answer. Lost: the run may go on, nobody
 * here is told of it any more; with a `key` it was not heard of yet, and the same request under that key finds it or begins it.
 */
export type End =
  | { kind: 'rested'; answer: TraceAnswer | null }
  | { kind: 'refused'; problem: Problem }
  | { kind: 'lost'; problem: Problem | null; key?: string };

/** `taken`: the server has begun what it was asked for; until then nothing is known to run. */
export interface Line {
  taken: boolean;
  fails: number;
  /** It may have been begun, whatever later tries are told. */
  doubtful?: boolean;
}

/**
 * Why reading stopped: the run came to rest, a branch of it did (others may have more to tell), the line closed in the middle or broke, the tab
 * was hidden, or the server said no.
 */
export type Stop = 'rested' | 'paused' | 'closed' | 'broken' | 'hidden' | Problem;

export type Next = { kind: 'open'; after: number; look: boolean } | { kind: 'sign-in' } | { kind: 'shown' } | End;

/** Whoever is asked to wait longer than this is told so instead. */
const PATIENCE = 10_000;
/** A run that goes on is asked for at least so often, whatever the server says. */
const LONGEST = 60_000;

const backoff = (fails: number): number => Math.min(500 * 2 ** fails, 8000);

/** `waits`: somebody may sign in. A look is for a server whose stream does not open: one that does tells also a run at rest to its end. */
export function next(line: Line, stop: Stop, waits: boolean): Next {
  const { taken, fails } = line;
  if (stop === 'rested') return { kind: 'rested', answer: null };
  if (stop === 'hidden') return { kind: 'shown' };
  const after = stop === 'paused' && !fails ? 0 : backoff(fails);
  // So many tries in a row: what was begun is looked at, what was not is given up.
  const look = fails > 2;
  if (!isProblem(stop)) return { kind: 'open', after, look };
  const { status, retryAfter } = stop;
  const unsure = status < 400 || status >= 500 || stop.code === 'idempotency_in_progress';
  line.doubtful ||= taken || unsure;
  if (waits && (status === 401 || status === 419)) return { kind: 'sign-in' };
  const wait = Math.max(retryAfter ?? 0, after);
  if ((unsure || status === 429) && (taken || (status !== 500 && !look && wait <= PATIENCE)))
    return { kind: 'open', after: Math.min(wait, LONGEST), look };
  return { kind: line.doubtful ? 'lost' : 'refused', problem: stop };
}

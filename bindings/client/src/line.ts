/** Owns what follows when a stream of events stops: the one state machine of runs, chats and traces. */
import { isProblem, type Problem } from './problem.js';
import type { TraceAnswer } from './generated/schemas.js';

/** How following a run ends. Refused: nothing was begun. Lost: the run may go on, nobody here is told of it any more. */
export type End =
  { kind: 'rested'; answer: TraceAnswer | null } | { kind: 'refused'; problem: Problem } | { kind: 'lost'; problem: Problem | null };

/** `taken`: the server has begun what it was asked for; until then nothing is known to run. */
export interface Line {
  taken: boolean;
  fails: number;
}

/**
 * Why reading stopped: the run came to rest, a branch of it did (others may have more to tell), the line closed in the middle or broke, the tab
 * was hidden, or the server said no.
 */
export type Stop = 'rested' | 'paused' | 'closed' | 'broken' | 'hidden' | Problem;

export type Next = { kind: 'open'; after: number; look: boolean } | { kind: 'sign-in' } | { kind: 'shown' } | End;

const TRIES = 3;
/** Whoever is asked to wait longer than this is told so instead. */
const PATIENCE = 10_000;
/** A run that goes on is asked for at least so often, whatever the server says. */
const LONGEST = 60_000;

const backoff = (fails: number): number => Math.min(500 * 2 ** fails, 8000);
const passing = ({ status, code }: Problem): boolean =>
  status === 0 || status === 429 || status >= 502 || code === 'idempotency_in_progress';

/** `waits`: somebody may sign in. A look is for a server whose stream does not open: one that does tells also a run at rest to its end. */
export function next({ taken, fails }: Line, stop: Stop, waits: boolean): Next {
  if (stop === 'rested') return { kind: 'rested', answer: null };
  if (stop === 'hidden') return { kind: 'shown' };
  const after = stop === 'paused' && !fails ? 0 : backoff(fails);
  if (!isProblem(stop)) return { kind: 'open', after, look: taken && fails > 2 };
  if (waits && (stop.status === 401 || stop.status === 419)) return { kind: 'sign-in' };
  const wait = stop.retryAfter ?? after;
  if (taken) {
    if (passing(stop) || stop.status >= 500) return { kind: 'open', after: Math.min(Math.max(wait, after), LONGEST), look: fails > 2 };
    return { kind: 'lost', problem: stop };
  }
  return passing(stop) && fails < TRIES && wait <= PATIENCE
    ? { kind: 'open', after: wait, look: false }
    : { kind: 'refused', problem: stop };
}

/** Owns branches of a session: a changed message, another answer, a second model's try. */
import { make, post, remove } from '../../api/client';
import { refresh } from '../../api/queries';
import type { Message, Thread } from '@wfstudio/client';
import { messagesOf } from './messages';
import type { ChatSession } from './session';
import type { Turn } from './turns';

/** Of what is before a message, or of all of it up to the `newest`. */
export const branchOf = async (thread: string, before?: string, newest?: string): Promise<string> =>
  (await make<Thread>(`/api/threads/${thread}/branch`, before ? { before } : undefined, newest)).id;

/** The first of what a person said from here on that is stored; a turn that failed or was stopped left nothing. */
export function firstStored(turns: Turn[], messages: Message[]): string | undefined {
  const said = messages.filter((m) => m.role === 'user');
  for (const [n, turn] of turns.entries()) {
    if (turn.role !== 'user') continue;
    const trace = turn.trace ?? turns[n + 1]?.trace;
    const found = said.find((m) => m.id === turn.key) ?? (trace ? said.find((m) => m.trace_id === trace) : undefined);
    if (found) return found.id;
  }
  return undefined;
}

/** Says something else, or the same again, in place of an earlier message: what came before it is kept in a branch. */
export async function sayInstead(session: ChatSession, turn: Turn, text: string): Promise<void> {
  const { thread, turns, busy } = session.store.getState();
  const at = turns.findIndex((x) => x.key === turn.key);
  if (at < 0 || busy) return;
  // At once: asked for twice, it is said once.
  session.put({ busy: true });
  let target = thread;
  try {
    const before = thread ? firstStored(turns.slice(at), await messagesOf(session.agent, thread)) : undefined;
    if (thread && before) target = await branchOf(thread, before);
  } catch (error) {
    session.put({ busy: false });
    if (text !== turn.text) session.putBack(text, turn.files);
    throw error;
  }
  if (!session.here) return text === turn.text ? undefined : session.putBack(text, turn.files);
  session.put({ thread: target, turns: turns.slice(0, at), pause: null });
  return session.send(text, turn.files);
}

/** Removes a session that nobody wants to keep; one that is still at work is stopped first. */
export async function discard(thread: string, trace: string | null): Promise<void> {
  if (trace) await post(`/api/runs/${trace}/cancel`).catch(() => undefined);
  for (let n = 0; n < 10; n++) {
    const gone = await remove(`/api/threads/${thread}`).then(
      () => true,
      (error: { status?: number }) => error.status === 404,
    );
    if (gone) break;
    await new Promise((resolve) => {
      setTimeout(resolve, 200);
    });
  }
  refresh('/api/runs/counts');
}

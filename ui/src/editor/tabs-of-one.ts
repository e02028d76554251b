/** Owns one writer per workflow: a second tab reads until it takes over. */
import { tell, useEditor } from './store';

type Note = { kind: 'hello' | 'here' | 'take'; from: string; since: number };

export function oneWriter(workflow: string): { takeOver: () => void; close: () => void } {
  const me = crypto.randomUUID();
  const channel = new BroadcastChannel(`studio-edit-${workflow}`);
  let since = Date.now();
  const say = (kind: Note['kind']): void => channel.postMessage({ kind, from: me, since } satisfies Note);
  channel.onmessage = (message: MessageEvent<Note>) => {
    const writing = useEditor.getState().readOnly === null;
    if (message.data.kind === 'hello' && writing) say('here');
    // Of two that open at once, exactly one goes on writing.
    const earlier = message.data.since < since || (message.data.since === since && message.data.from < me);
    if (message.data.kind === 'here' && writing && earlier) tell({ readOnly: 'other' });
    if (message.data.kind === 'take' && writing) {
      since = Date.now();
      tell({ readOnly: 'other' });
    }
  };
  say('hello');
  return {
    takeOver: () => {
      since = 0;
      say('take');
      tell({ readOnly: null });
    },
    close: () => channel.close(),
  };
}

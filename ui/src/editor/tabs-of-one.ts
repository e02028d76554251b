/** Owns one writer per workflow: a second tab reads until it takes over. */
import { tell, useEditor } from './store';

type Note = { kind: 'hello' | 'here' | 'take'; from: string };

export function oneWriter(workflow: string): { takeOver: () => void; close: () => void } {
  const me = crypto.randomUUID();
  const channel = new BroadcastChannel(`studio-edit-${workflow}`);
  const say = (kind: Note['kind']): void => channel.postMessage({ kind, from: me } satisfies Note);
  channel.onmessage = (message: MessageEvent<Note>) => {
    const writing = useEditor.getState().readOnly === null;
    if (message.data.kind === 'hello' && writing) say('here');
    if (message.data.kind === 'here' && writing) tell({ readOnly: 'other' });
    if (message.data.kind === 'take' && writing) tell({ readOnly: 'other' });
  };
  say('hello');
  return { takeOver: () => { say('take'); tell({ readOnly: null }); }, close: () => channel.close() };
}

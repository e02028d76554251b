/** Owns what is typed and not saved: closing the tab asks first, and so does leaving the page that shows it. */
import { create } from 'zustand';

const closing = new Set<object>();
const ask = (event: BeforeUnloadEvent): void => event.preventDefault();

/** Whether this thing would be lost with the tab. */
export function markUnsaved(thing: object, is: boolean): void {
  if (is) closing.add(thing);
  else closing.delete(thing);
  if (closing.size > 0) window.addEventListener('beforeunload', ask);
  else window.removeEventListener('beforeunload', ask);
}

interface Leaving {
  /** Of the pages that are shown: what would be left with them. */
  shown: (() => boolean)[];
  go: (() => void) | null;
}
export const useLeaving = create<Leaving>(() => ({ shown: [], go: null }));

/** While a page is shown; `dirty` tells whether leaving it has to ask. */
export function watchLeaving(dirty: () => boolean): () => void {
  useLeaving.setState((s) => ({ shown: [...s.shown, dirty] }));
  return () => useLeaving.setState((s) => ({ shown: s.shown.filter((x) => x !== dirty) }));
}

/** Goes, or asks first when that would leave a page with something unsaved. */
export function leave(go: () => void): void {
  if (useLeaving.getState().shown.some((dirty) => dirty())) useLeaving.setState({ go });
  else go();
}

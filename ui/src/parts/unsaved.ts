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

/** The browser's own Back and Forward ask as links do: the page is returned to, then asked, then left by as many entries. */
export function askOnBack(): void {
  // Where a browser does not tell the entry it is at, nothing is asked; what is typed is there again when one comes back.
  const here = (): { path: string; entry: number } => ({ path: location.pathname, entry: window.navigation?.currentEntry?.index ?? 0 });
  let at = here();
  let wanted: number | null = null;
  let going = false;
  const moved = (): void => {
    at = here();
  };
  window.addEventListener('pushState', moved);
  window.addEventListener('replaceState', moved);
  window.addEventListener('popstate', (event) => {
    const to = here();
    const by = to.entry - at.entry;
    const asks = !going && by !== 0 && to.path !== at.path && useLeaving.getState().shown.some((dirty) => dirty());
    if (wanted === null && !asks) {
      going = false;
      at = to;
      return;
    }
    // The pages do not hear that they were away.
    event.stopImmediatePropagation();
    const far = (wanted ??= by);
    if (by !== 0) return history.go(-by);
    wanted = null;
    useLeaving.setState({
      go: () => {
        going = true;
        history.go(far);
      },
    });
  });
}

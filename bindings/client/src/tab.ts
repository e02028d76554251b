/** Owns waiting: for a time, for a person who looks at the tab again, for the end of a signal. Without a document nobody looks away. */
export type Undo = () => void;

const page = (): Document | undefined => globalThis.document;
export const inPage = (): boolean => !!page();

export const hidden = (): boolean => page()?.hidden ?? false;

/** Waits for what `begin` waits for, or for the end of the signal. */
export function until(signal: AbortSignal, begin: (go: () => void) => Undo): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    let undo: Undo | undefined;
    let over = false;
    const go = (): void => {
      over = true;
      undo?.();
      signal.removeEventListener('abort', go);
      resolve();
    };
    undo = begin(go);
    // It may be over already: whoever was asked to call may call at once.
    if (over) undo();
    else signal.addEventListener('abort', go);
  });
}

/** No clock waits longer than this; beyond it some would not wait at all. */
const MOST = 2 ** 31 - 1;

export function after(ms: number, go: () => void): Undo {
  const timer = setTimeout(go, Math.min(ms, MOST));
  return () => clearTimeout(timer);
}

function onVisibility(go: () => void): Undo {
  const target = page();
  target?.addEventListener('visibilitychange', go);
  return () => target?.removeEventListener('visibilitychange', go);
}

export const shown = (go: () => void): Undo => onVisibility(() => !hidden() && go());

/** Calls once the tab has been hidden for so long. */
export function whenHidden(ms: number, go: () => void): Undo {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = (): void => {
    clearTimeout(timer);
    if (hidden()) timer = setTimeout(go, ms);
  };
  look();
  const undo = onVisibility(look);
  return () => {
    clearTimeout(timer);
    undo();
  };
}

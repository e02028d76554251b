/** Owns gathering what comes quickly. */
export interface Frames<T> {
  add: (item: T) => void;
  flush: () => void;
}

/** Handed on when it is complete. */
export function atOnce<T>(take: (batch: T[]) => void): Frames<T> {
  const all: T[] = [];
  return { add: (item) => void all.push(item), flush: () => take(all) };
}

/** Handed on once per animation frame, where nobody looks five times a second, or as seldom as is said. */
export function byFrame<T>(take: (batch: T[]) => void, seldom = (): number => (document.hidden ? 200 : 0)): Frames<T> {
  let pending: T[] = [];
  let due: (() => void) | null = null;
  const flush = (): void => {
    due?.();
    due = null;
    const batch = pending;
    pending = [];
    if (batch.length) take(batch);
  };
  const add = (item: T): void => {
    pending.push(item);
    if (due) return;
    const wait = seldom();
    const id = wait ? window.setTimeout(flush, wait) : requestAnimationFrame(flush);
    due = () => (wait ? clearTimeout(id) : cancelAnimationFrame(id));
  };
  return { add, flush };
}

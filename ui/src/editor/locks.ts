/** Owns locks by name: the browser's own among all tabs; where a page is not served safely, those of the page alone. */
type Held = () => Promise<void>;
interface Options {
  steal?: boolean;
  signal?: AbortSignal;
}
export interface Locks {
  request(name: string, options: Options, held: Held): Promise<unknown>;
}

interface Waiting {
  held: Held;
  done: () => void;
  fail: (why: DOMException) => void;
}

/** What `navigator.locks` does with exclusive locks, within one page. */
export class PageLocks implements Locks {
  private readonly holders = new Map<string, Waiting>();
  private readonly lines = new Map<string, Waiting[]>();

  request(name: string, { steal, signal }: Options, held: Held): Promise<unknown> {
    return new Promise<void>((done, fail) => {
      const one: Waiting = { held, done, fail };
      const line = this.lines.get(name) ?? [];
      this.lines.set(name, line);
      if (steal) {
        const before = this.holders.get(name);
        this.holders.delete(name);
        line.unshift(one);
        before?.fail(new DOMException('stolen', 'AbortError'));
      } else line.push(one);
      signal?.addEventListener('abort', () => {
        const at = line.indexOf(one);
        if (at < 0) return;
        line.splice(at, 1);
        fail(new DOMException('no longer asked for', 'AbortError'));
      });
      this.next(name);
    });
  }

  private next(name: string): void {
    if (this.holders.has(name)) return;
    const one = this.lines.get(name)?.shift();
    if (!one) return;
    this.holders.set(name, one);
    const free = (): void => {
      if (this.holders.get(name) !== one) return;
      this.holders.delete(name);
      one.done();
      this.next(name);
    };
    void Promise.resolve().then(one.held).then(free, free);
  }
}

export const locks: Locks =
  (globalThis.navigator as { locks?: { request: (name: string, options: object, held: Held) => Promise<unknown> } } | undefined)?.locks ??
  new PageLocks();

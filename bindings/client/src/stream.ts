/** Owns a run as something to iterate over: events in order, each once, and how it ended. */
import type { Requests } from './requests.js';
import { follow, type Follow } from './follow.js';
import type { ChatEvents, WorkflowEvents } from './generated/schemas.js';
import type { End } from './line.js';
import type { StudioEvent } from './sse.js';
import { until } from './tab.js';

/** The events of a table of names and data. A later server may tell of names that are not in it: give a `switch` a `default`. */
export type EventOf<T> = T extends unknown ? { [N in keyof T]-?: { id: string | null; name: N; data: NonNullable<T[N]> } }[keyof T] : never;

export type WorkflowEvent = EventOf<WorkflowEvents>;
export type ChatEvent = EventOf<ChatEvents>;

/** What a stream may be begun with. Its signal ends the following; the run goes on (`client.cancel` ends that). */
export type Starting = Partial<Pick<Follow, 'key' | 'after' | 'signal' | 'onLook'>>;

/** So many events wait for a reader before the sender has to. */
const FULL = 256;

export class Stream<E> implements AsyncIterable<E> {
  /** The run, once it has begun. */
  traceId: string | null;
  readonly #client: Requests;
  readonly #request: Omit<Follow, 'signal' | 'onEvent'>;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal | undefined;
  #end: Promise<End> | null = null;
  #waiting: E[] | null = null;
  #wake: (() => void) | null = null;
  #drained: (() => void) | null = null;

  constructor(client: Requests, { signal, ...request }: Omit<Follow, 'signal' | 'onEvent'> & { signal?: AbortSignal }) {
    this.#client = client;
    this.#request = request;
    this.#signal = signal;
    this.traceId = request.traceId ?? null;
  }

  /** How it ended; never rejects. Who only waits for it gets no events. */
  get end(): Promise<End> {
    this.#end ??= this.#begin();
    return this.#end;
  }

  /** Stops following; the run goes on. */
  stop(): void {
    this.#stop.abort();
  }

  /** Ends with the run, or when it was stopped. A refusal, and a run that nothing more is told of, are thrown as a Problem. */
  async *[Symbol.asyncIterator](): AsyncGenerator<E, void, undefined> {
    if (this.#waiting) throw new TypeError('this stream is read already');
    const waiting: E[] = (this.#waiting = []);
    let over: End | null = null;
    void this.end.then((end) => {
      over = end;
      this.#wake?.();
    });
    try {
      for (;;) {
        while (waiting.length) yield waiting.shift() as E;
        this.#drained?.();
        if (over) break;
        await new Promise<void>((wake) => (this.#wake = wake));
      }
      const end = over as End;
      if (end.kind !== 'rested' && end.problem) throw end.problem;
    } finally {
      this.stop();
    }
  }

  async #begin(): Promise<End> {
    const cut = (): void => this.stop();
    if (this.#signal?.aborted) cut();
    this.#signal?.addEventListener('abort', cut, { once: true });
    try {
      return await follow(this.#client, {
        ...this.#request,
        signal: this.#stop.signal,
        onEvent: (event) => this.#tell(event),
        ready: () => this.#room(),
      });
    } finally {
      this.#signal?.removeEventListener('abort', cut);
    }
  }

  #tell(event: StudioEvent): void {
    if (typeof event.data.trace_id === 'string') this.traceId = event.data.trace_id;
    this.#waiting?.push(event as E);
    this.#wake?.();
  }

  #room(): Promise<void> | undefined {
    if (!this.#waiting || this.#waiting.length < FULL || this.#stop.signal.aborted) return undefined;
    return until(this.#stop.signal, (go) => {
      this.#drained = go;
      return () => (this.#drained = null);
    });
  }
}

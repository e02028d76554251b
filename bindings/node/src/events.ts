/** Owns the events of a run: server-sent events from the library become objects, in order, until the run is paused or over. */

import type { Stream } from './engine.js';
import { CODES } from './generated.js';
import { text } from './native.js';
import type { ChatEvents, WorkflowEvents } from './wire.js';

/** An event by its name, which says what its `data` is; `id` is its position, for `Last-Event-ID`. */
export type EventOf<T> = { [N in keyof T & string]-?: { id: string | undefined; name: N; data: NonNullable<T[N]> } }[keyof T & string];

/** An event of a workflow's run. */
export type WorkflowEvent = EventOf<WorkflowEvents>;
/** An event of an agent's chat turn. */
export type ChatEvent = EventOf<ChatEvents>;
/** One event of a run. Later versions of the library add events: give a `switch` a `default`. */
export type StudioEvent = WorkflowEvent | ChatEvent;

/** The events of a run. Leaving the loop closes the stream and lets the run go on; `cancel` cancels the run. */
export class Events<E extends StudioEvent = StudioEvent> implements AsyncIterableIterator<E> {
  readonly #stream: Stream | undefined;
  #failed: unknown;
  #ready: E[] = [];
  #at = 0;
  #asked = 0;
  #last: Promise<unknown> = Promise.resolve();
  #forget = () => {};

  /** `begin` is called at once; what it throws is thrown by the first `next`. */
  constructor(begin: () => Stream, signal?: AbortSignal) {
    try {
      signal?.throwIfAborted();
      this.#stream = begin();
    } catch (failed) {
      this.#failed = failed;
    }
    if (signal && this.#stream) this.#follow(signal, this.#stream);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<E>> {
    // What is there already is given at once, unless somebody asked before.
    const ready = this.#asked === 0 && this.#failed === undefined ? this.#ready[this.#at] : undefined;
    if (ready !== undefined) {
      this.#at += 1;
      return Promise.resolve({ done: false, value: ready });
    }
    this.#asked += 1;
    const next = this.#last.then(() => this.#next());
    const answered = () => {
      this.#asked -= 1;
    };
    this.#last = next.then(answered, answered);
    return next;
  }

  async return(): Promise<IteratorResult<E>> {
    this.#end();
    return { done: true, value: undefined };
  }

  /** Cancels the run; the events that follow tell its end. */
  cancel(): void {
    this.#stream?.cancel();
  }

  async #next(): Promise<IteratorResult<E>> {
    while (this.#failed === undefined && this.#at === this.#ready.length) {
      try {
        const piece = await this.#stream?.next();
        if (piece === undefined) break;
        if (piece.code === CODES.HEAD) continue;
        this.#ready = eventsOf<E>(text(piece.bytes));
        this.#at = 0;
      } catch (failed) {
        this.#failed ??= failed;
      }
    }
    if (this.#failed !== undefined) {
      const failed = this.#failed;
      this.#failed = undefined;
      this.#end();
      throw failed;
    }
    const value = this.#ready[this.#at];
    if (value !== undefined) {
      this.#at += 1;
      return { done: false, value };
    }
    this.#forget();
    return { done: true, value: undefined };
  }

  #follow(signal: AbortSignal, stream: Stream): void {
    const aborted = () => {
      this.#failed = signal.reason;
      stream.cancel();
      stream.close();
    };
    signal.addEventListener('abort', aborted, { once: true });
    this.#forget = () => signal.removeEventListener('abort', aborted);
  }

  #end(): void {
    this.#ready = [];
    this.#at = 0;
    this.#forget();
    this.#stream?.close();
  }
}

/** The events in a piece of a stream, which has whole ones: three lines each, from their id. Other lines are said to browsers only. */
export function eventsOf<E extends StudioEvent = StudioEvent>(frames: string): E[] {
  const [events, texts]: [E[], string[]] = [[], []];
  for (let at = 0, end; (end = frames.indexOf('\n', at)) >= 0; at = end + 1) {
    if (!frames.startsWith(ID, at)) continue;
    const data = frames.indexOf('\n', end + 1);
    const last = frames.indexOf('\n', data + 1);
    events.push({ id: frames.slice(at + ID.length, end), name: frames.slice(end + EVENT.length, data), data: undefined } as unknown as E);
    texts.push(frames.slice(data + DATA.length, last));
    end = last;
  }
  // All at once is faster than one by one.
  JSON.parse(`[${texts.join(',')}]`).forEach((data: E['data'], at: number) => (events[at]!.data = data));
  return events;
}

const ID = 'id: ';
const EVENT = '\nevent: ';
const DATA = '\ndata: ';

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
    const next = this.#last.then(() => this.#next());
    this.#last = next.catch(() => {});
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
    while (this.#failed === undefined && this.#ready.length === 0) {
      try {
        const piece = await this.#stream?.next();
        if (piece === undefined) break;
        if (piece.code !== CODES.HEAD) this.#ready = eventsOf<E>(text(piece.bytes));
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
    const value = this.#ready.shift();
    if (value !== undefined) return { done: false, value };
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
    this.#forget();
    this.#stream?.close();
  }
}

/** The events in a piece of a stream, which has whole ones. */
export function eventsOf<E extends StudioEvent = StudioEvent>(frames: string): E[] {
  const events: E[] = [];
  for (const frame of frames.split('\n\n')) {
    const fields: Record<string, string> = {};
    for (const line of frame.split('\n')) {
      const colon = line.indexOf(': ');
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
    }
    if (fields.event !== undefined) events.push({ id: fields.id, name: fields.event, data: JSON.parse(fields.data ?? 'null') } as E);
  }
  return events;
}

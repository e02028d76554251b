/** Owns an engine of the library: requests begin, their streams are pulled, calls to the host are fetched; nothing here waits outside of the event loop. */

import { StudioError } from './errors.js';
import { CODES } from './generated.js';
import { type Native, type Piece, ROOM, failure, json, text } from './native.js';
import { type Watch, watch } from './watch.js';

const NO_BYTES = new Uint8Array(0);

export class Engine {
  readonly native: Native;
  readonly handle: number;
  /** Answers a call to the host, as text. */
  onHostCall: (call: string) => Promise<void> = async () => {};
  readonly #waiting = new Map<number, () => void>();
  #watch: Watch | undefined;
  #closing: Promise<void> | undefined;
  #kept = false;
  #answering = 0;

  constructor(native: Native, config: string) {
    this.native = native;
    const text = Buffer.from(config);
    this.handle = native.make('studio_engine_open', text, text.length);
    native.engines.add(this.handle);
  }

  get closed(): boolean {
    return this.#closing !== undefined;
  }

  /** Begins a request. */
  start(op: string, request: unknown, body: Uint8Array = NO_BYTES): Stream {
    this.#open();
    const told = json(request);
    try {
      return new Stream(this, this.native.make('studio_start', this.handle, op, told, told.length, body, body.length));
    } catch (failed) {
      // The library forgets handles that were closed long ago.
      const forgotten = this.closed && failed instanceof StudioError && failed.code === CODES.BAD_HANDLE;
      throw forgotten ? new StudioError(CODES.CLOSED, 'the studio was closed') : failed;
    }
  }

  /** Declares what the host answers; from now on calls are fetched. */
  declare(declaration: unknown): void {
    if (this.closed) return;
    this.#open();
    const told = json(declaration);
    const code: number = this.native.functions.studio_host_set(this.handle, told, told.length, null, null, null);
    if (code < 0) throw new StudioError(code, 'this is no declaration of a host: a call has another name, or a tool is told wrongly');
  }

  /** Has a call answered; the process stays alive meanwhile. */
  async take(call: Uint8Array): Promise<void> {
    this.#answering += 1;
    this.#hold();
    await this.onHostCall(text(call));
    this.#answering -= 1;
    this.#hold();
  }

  /** Answers a call to the host: 1 a result, 0 a failure, 2 a chunk. The code of the library. */
  complete(call: number, ok: number, answer: string): number {
    const told = Buffer.from(answer);
    return this.native.functions.studio_host_complete(this.handle, call, ok, told, told.length);
  }

  /** Keeps the process alive from now on, until the engine is closed. */
  keep(): void {
    this.#kept = true;
    this.#hold();
  }

  /** Is told when there is news of a stream. */
  wait(stream: number, told: () => void): void {
    this.#waiting.set(stream, told);
    this.#hold();
  }

  /** Waits no longer for a stream. */
  leave(stream: number): void {
    if (this.#waiting.delete(stream)) this.#hold();
  }

  /** Closes the engine on a thread of the runtime, so that calls to the host can be answered meanwhile. */
  close(timeout: number): Promise<void> {
    return (this.#closing ??= this.native.later('studio_engine_close', this.handle, timeout).then(() => {
      this.native.engines.delete(this.handle);
      for (const told of [...this.#waiting.values()]) told();
      this.#waiting.clear();
      this.#watch?.end();
    }));
  }

  #open(): void {
    // The descriptor comes with the first use, as the engine's threads do.
    if (!this.closed) this.#watch ??= watch(this.native, this.handle, (handles) => this.#news(handles));
  }

  #hold(): void {
    this.#watch?.hold(this.#kept || this.#waiting.size > 0 || this.#answering > 0);
  }

  #news(told?: number[]): void {
    let handles: number[];
    do {
      handles = told ?? this.native.ready(this.handle);
      for (const handle of handles) {
        if (handle === 0) this.#fetch();
        else this.#waiting.get(handle)?.();
      }
    } while (!told && handles.length === ROOM);
  }

  #fetch(): void {
    for (;;) {
      const { code, bytes } = this.native.take('studio_host_next', this.handle, 0);
      if (code < 0 || code === CODES.TIMEOUT || code === CODES.END) return;
      this.take(bytes).catch(() => {});
    }
  }
}

/** What a stream needs of an `AbortSignal`. */
export interface Leaving {
  readonly aborted: boolean;
  throwIfAborted(): void;
  addEventListener(type: 'abort', told: () => void, options?: { once: boolean }): void;
  removeEventListener(type: 'abort', told: () => void): void;
}

/** Streams that nobody holds any more are closed. */
const dropped = new FinalizationRegistry<{ native: Native; handle: number }>(({ native, handle }) => {
  native.functions.studio_stream_close(handle);
});

/** What comes for one request, in pieces. It has one reader. */
export class Stream {
  readonly #engine: Engine;
  readonly #handle: number;
  #told: (() => void) | undefined;
  #forget = () => {};
  #open = true;

  constructor(engine: Engine, handle: number) {
    this.#engine = engine;
    this.#handle = handle;
    dropped.register(this, { native: engine.native, handle }, this);
  }

  /** The next piece: a head or whole events; `undefined` at the end and after `close`. */
  async next(): Promise<Piece | undefined> {
    for (;;) {
      const piece = this.now();
      if (piece !== null) return piece;
      await this.#news();
    }
  }

  /** As `next`, without waiting: `null` when it is still to come. */
  now(): Piece | undefined | null {
    while (this.#open) {
      const piece = this.#engine.native.take('studio_stream_next_batch', this.#handle, 0, 0);
      if (piece.code === CODES.OK || piece.code === CODES.HEAD) return piece;
      if (piece.code === CODES.TIMEOUT) return null;
      if (piece.code === CODES.HOST_CALL) this.#engine.take(piece.bytes).catch(() => {});
      else {
        this.close();
        if (piece.code < 0) throw failure(piece.code, piece.bytes);
      }
    }
    return undefined;
  }

  /** Cancels the run; the stream goes on and tells its end. */
  cancel(): void {
    if (this.#open) this.#engine.native.functions.studio_stream_cancel(this.#handle);
  }

  /** Lets the stream go when the signal is aborted; a stream that is closed holds no signal. */
  follow(signal: Leaving | undefined): void {
    const aborted = () => this.close();
    signal?.addEventListener('abort', aborted, { once: true });
    this.#forget = () => signal?.removeEventListener('abort', aborted);
  }

  /** Lets the stream go; whoever waits for the next piece gets none. */
  close(): void {
    if (!this.#open) return;
    this.#open = false;
    dropped.unregister(this);
    this.#forget();
    this.#engine.leave(this.#handle);
    this.#engine.native.functions.studio_stream_close(this.#handle);
    this.#told?.();
  }

  #news(): Promise<void> {
    return new Promise((resolve) => {
      this.#told = () => {
        this.#told = undefined;
        this.#engine.leave(this.#handle);
        resolve();
      };
      this.#engine.wait(this.#handle, this.#told);
    });
  }
}

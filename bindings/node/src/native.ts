/** Owns the functions of the loaded library, and how bytes come out of its buffers. One library for a process. */

import { isMainThread } from 'node:worker_threads';
import koffi from 'koffi';
import { StudioError } from './errors.js';
import { CODES } from './generated.js';
import { type Functions, type Name, load } from './load.js';

/** A code and what came with it. */
export interface Piece {
  code: number;
  /** What the library told, copied; its buffer was given back. */
  bytes: Uint8Array;
}

/** How many streams with news are told at once; after fewer, others ring again. */
export const ROOM = 64;
const NOTHING = new Uint8Array(0);

/** The library's functions with JavaScript's values. */
export class Native {
  readonly functions: Functions;
  /** Those that this thread has open. */
  readonly engines = new Set<number>();
  /** A `studio_buf` (bytes, length, capacity) and other room of calls that return at once: one is enough for a thread. */
  readonly #buffer = new BigUint64Array(3);
  readonly #handles = new BigUint64Array(ROOM);
  readonly #count = new BigUint64Array(1);

  constructor(functions: Functions) {
    this.functions = functions;
    // Whatever is still open is closed in order; the exit code stays what it is. A worker that ends closes what it has opened itself.
    process.on('exit', () => {
      if (isMainThread) functions.studio_shutdown(EXIT_MS);
      else for (const engine of this.engines) functions.studio_engine_close(engine, EXIT_MS);
    });
  }

  /** The library of this process; loaded by the first who asks. */
  static get(): Native {
    const kept = globalThis as { [LOADED]?: Native };
    return (kept[LOADED] ??= new Native(load()));
  }

  /** Calls a function whose last parameter is a buffer, and takes what is in it. */
  take(name: Name, ...values: unknown[]): Piece {
    const code: number = this.functions[name](...values, this.#buffer);
    return { code, bytes: this.#taken() };
  }

  /** As `take`, for a function that makes something: its handle. */
  make(name: Name, ...values: unknown[]): number {
    const { code, bytes } = this.take(name, ...values, this.#count);
    if (code < 0) throw failure(code, bytes);
    return Number(this.#count[0]);
  }

  /** The streams with news, 0 for calls to the host; none when the engine is gone. */
  ready(engine: number): number[] {
    const code: number = this.functions.studio_ready(engine, 0, this.#handles, this.#handles.length, this.#count);
    return code === CODES.OK ? Array.from(this.#handles.subarray(0, Number(this.#count[0])), Number) : [];
  }

  /** Calls a function on a thread of the runtime. */
  later(name: Name, ...values: unknown[]): Promise<number> {
    return new Promise((resolve, reject) => {
      this.functions[name].async(...values, (error: unknown, code: number) => (error ? reject(error) : resolve(code)));
    });
  }

  #taken(): Uint8Array {
    const [data, length] = this.#buffer as unknown as [bigint, bigint];
    if (data === 0n) return NOTHING;
    const bytes = new Uint8Array(koffi.view(data, Number(length))).slice();
    this.functions.studio_buf_free(this.#buffer);
    return bytes;
  }
}

const LOADED = Symbol.for('wfstudio.native');
// Nobody can answer calls of the engine any more.
const EXIT_MS = 1000;

/** The error of a negative code. */
export function failure(code: number, bytes: Uint8Array): StudioError {
  return new StudioError(code, text(bytes));
}

const decoder = new TextDecoder();

/** UTF-8 as text. */
export function text(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** A value as the library reads it. */
export function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

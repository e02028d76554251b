/** Owns the functions of the loaded library, and how bytes come out of its buffers. One library for a process. */

import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import koffi, { type LibraryHandle } from 'koffi';
import { StudioError } from './errors.js';
import { CODES, FUNCTIONS, type Kind } from './generated.js';
import { bundledFile, find, mappedFiles } from './library.js';

type Name = keyof typeof FUNCTIONS;
type Function = ReturnType<LibraryHandle['func']>;

/** A code and what came with it. */
export interface Piece {
  code: number;
  /** What the library told, copied; its buffer was given back. */
  bytes: Uint8Array;
}

const NOTHING = new Uint8Array(0);
const BUFFER = koffi.struct({ data: 'void *', len: 'size_t', cap: 'size_t' });
const TYPES: Record<Kind, Parameters<typeof koffi.out>[0]> = {
  handle: 'uint64_t',
  outHandle: koffi.out(koffi.pointer('uint64_t')) as never,
  buffer: koffi.pointer(BUFFER),
  bytes: 'const uint8_t *',
  text: 'const char *',
  words: 'uint64_t *',
  size: 'size_t',
  int32: 'int32_t',
  uint32: 'uint32_t',
  uint64: 'uint64_t',
  pointer: 'void *',
  void: 'void',
};

/** What a library of this name has to have, bound as it is asked for. */
type Functions = Record<Name, Function>;

function bind(library: LibraryHandle): Functions {
  const bound = {} as Functions;
  for (const [name, [result, parameters]] of Object.entries(FUNCTIONS)) {
    let made: Function | undefined;
    Object.defineProperty(bound, name, {
      get: () =>
        (made ??= library.func(
          name,
          TYPES[result],
          parameters.map((kind) => TYPES[kind as Kind]),
        )),
    });
  }
  return bound;
}

/** The library's functions with JavaScript's values. */
export class Native {
  readonly functions: Functions;
  readonly path: string;
  /** Those that this thread has open. */
  readonly engines = new Set<number>();
  /** Buffers of calls that return at once: one is enough for a thread. */
  readonly #buffer: bigint = koffi.alloc(BUFFER, 1);
  readonly #handles = new BigUint64Array(64);
  readonly #count = new BigUint64Array(1);

  constructor(functions: Functions, path: string) {
    this.functions = functions;
    this.path = path;
  }

  /** The library of this process; loaded by the first who asks. */
  static get(): Native {
    const kept = globalThis as { [LOADED]?: Native };
    return (kept[LOADED] ??= Native.#load());
  }

  static #load(): Native {
    const { library, path } = find({
      environment: process.env,
      platform: process.platform,
      arch: process.arch,
      mapped: mappedFiles(),
      version: packageVersion(),
      bundled: bundledFile,
      load: (file) => bind(koffi.load(file)),
      versions: (functions) => ({ abi: functions.studio_abi_version(), version: functions.studio_version() }),
      warn: (message) => process.emitWarning(message),
    });
    const native = new Native(library, path);
    // Whatever is still open is closed in order; the exit code stays what it is. A worker that ends closes what it has opened itself.
    process.on('exit', () => {
      if (isMainThread) native.functions.studio_shutdown(EXIT_MS);
      else for (const engine of native.engines) native.functions.studio_engine_close(engine, EXIT_MS);
    });
    return native;
  }

  /** Calls a function whose last parameter is a buffer, and takes what is in it. */
  take(name: Name, ...values: unknown[]): Piece {
    const code: number = this.functions[name](...values, this.#buffer);
    return { code, bytes: this.#taken() };
  }

  /** As `take`, for a function that makes something: its handle. */
  make(name: Name, ...values: unknown[]): number {
    const out: [number] = [0];
    const { code, bytes } = this.take(name, ...values, out);
    if (code < 0) throw failure(code, bytes);
    return out[0];
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
    const { data, len } = koffi.decode(this.#buffer, BUFFER) as { data: bigint | null; len: number };
    if (data === null) return NOTHING;
    const bytes: Uint8Array = len === 0 ? NOTHING : koffi.decode(data, 'uint8_t', len);
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

function packageVersion(): string {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version;
}

/** Owns an answer of the studio to an HTTP request: its head at once, its body as it comes. */

import type { Leaving, Stream } from '../engine.js';
import { StudioError } from '../errors.js';
import { CODES } from '../generated.js';
import { text } from '../native.js';

/** What is told about a request (docs/hosts.md). */
export interface HttpRequest {
  method: string;
  /** The whole path, percent-encoded. */
  path: string;
  /** Without its `?`. */
  query?: string;
  headers?: [string, string][];
  body?: Uint8Array;
  user?: unknown;
  gate?: boolean;
  tenant?: string;
  authorized?: boolean;
  base_url?: string;
  root_path?: string;
  expect?: '100-continue';
}

export interface Head {
  status: number;
  headers: [string, string][];
  /** The bytes that a body may have, when that was asked. */
  body_limit?: number;
}

export class HttpAnswer implements AsyncIterable<Uint8Array> {
  readonly status: number;
  readonly headers: [string, string][];
  readonly bodyLimit: number | undefined;
  readonly #stream: Stream | undefined;
  #text: string;

  /** `rest` is the body: a stream or a text. */
  constructor(
    head: Head,
    rest: Stream | string,
    readonly signal?: Leaving,
  ) {
    this.status = head.status;
    this.headers = head.headers;
    this.bodyLimit = head.body_limit;
    this.#stream = typeof rest === 'string' ? undefined : rest;
    this.#text = typeof rest === 'string' ? rest : '';
  }

  /** Waits for the head. When the signal is aborted the request is given up, also later. */
  static async of(stream: Stream, signal?: Leaving): Promise<HttpAnswer> {
    stream.follow(signal);
    const piece = await stream.next();
    signal?.throwIfAborted();
    if (piece?.code !== CODES.HEAD) {
      stream.close();
      throw new StudioError(CODES.INTERNAL, 'the answer has no head');
    }
    return new HttpAnswer(JSON.parse(text(piece.bytes)), stream, signal);
  }

  get isEvents(): boolean {
    return this.headers.some(([name, value]) => name === 'content-type' && value.startsWith('text/event-stream'));
  }

  /** The next piece of the body, if it is there: `null` when it is still to come, `undefined` behind the last. */
  now(): Uint8Array | undefined | null {
    if (this.#stream) {
      const piece = this.#stream.now();
      return piece ? piece.bytes : piece;
    }
    const text = this.#text;
    this.#text = '';
    return text ? Buffer.from(text) : undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    if (this.#stream === undefined) {
      if (this.#text) yield Buffer.from(this.#text);
      return;
    }
    try {
      for (let piece; (piece = await this.#stream.next()) !== undefined;) yield piece.bytes;
    } catch (failed) {
      // Events are whole: their readers come again with the position that they have.
      if (!(this.isEvents && failed instanceof StudioError && failed.code === CODES.CLOSED)) throw failed;
    } finally {
      this.#stream.close();
    }
  }

  async bytes(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const part of this) parts.push(part);
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  async text(): Promise<string> {
    return text(await this.bytes());
  }

  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  async json(): Promise<any> {
    return JSON.parse(await this.text());
  }

  /** The body for web APIs; whoever cancels it lets the stream go. */
  readable(): ReadableStream<Uint8Array> {
    const pieces = this[Symbol.asyncIterator]();
    return new ReadableStream(
      {
        pull: async (controller) => {
          const { done, value } = await pieces.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => this.close(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Lets the body go. */
  close(): void {
    this.#stream?.close();
  }
}

/** An answer of the mount itself: a problem document. */
export function problem(status: number, title: string, detail: string): HttpAnswer {
  const body = JSON.stringify({ type: 'about:blank', title, status, detail });
  return new HttpAnswer({ status, headers: [['content-type', 'application/problem+json']] }, body);
}

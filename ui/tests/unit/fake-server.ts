/** A server for tests: answers by route, refuses, cuts and holds streams; hears every request. */
import { vi } from 'vitest';

export interface Asked {
  method: string;
  path: string;
  body: Record<string, unknown>;
  key: string | null;
  lastId: string | null;
}
type Told = [name: string, data: Record<string, unknown>, id?: number];
type Answer = Response | Promise<Response>;

export const json = (body: unknown, status = 200): Response => new Response(status === 204 ? null : JSON.stringify(body), { status });
export const refusal = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify({ status, code, title: code, detail: code }), { status, headers });

/** A stream that ends, is cut in the middle, or is held open until somebody goes. */
export function stream(events: Told[], end: 'end' | 'cut' | 'hold' = 'end', from = 1): Response {
  const text = events.map(([name, data, id], n) => `id: ${id ?? from + n}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('');
  let told = false;
  const body = new ReadableStream<Uint8Array>({
    pull(control) {
      if (!told) {
        told = true;
        control.enqueue(new TextEncoder().encode(text));
      } else if (end === 'end') control.close();
      else if (end === 'cut') control.error(new TypeError('network error'));
      else
        return new Promise<void>((go) => {
          setTimeout(() => {
            control.enqueue(new TextEncoder().encode(': hb\n\n'));
            go();
          }, 15_000);
        });
      return undefined;
    },
  });
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
}

export class Server {
  asked: Asked[] = [];
  #routes: [string, RegExp, (asked: Asked) => Answer][] = [];

  constructor() {
    vi.stubGlobal('fetch', (url: string, init: RequestInit = {}) => this.#answer(String(url), init));
  }

  /** The newest route that fits answers; each of `answers` once, the last one for ever. */
  on(method: string, path: RegExp, ...answers: ((asked: Asked) => Answer)[]): void {
    let n = 0;
    this.#routes.unshift([method, path, (asked) => (answers[Math.min(n++, answers.length - 1)] as (a: Asked) => Answer)(asked)]);
  }

  of(method: string, path: RegExp): Asked[] {
    return this.asked.filter((a) => a.method === method && path.test(a.path));
  }

  async #answer(url: string, init: RequestInit): Promise<Response> {
    const headers = (init.headers ?? {}) as Record<string, string>;
    const asked: Asked = {
      method: init.method ?? 'GET',
      path: url,
      body: init.body ? (JSON.parse(String(init.body)) as Record<string, unknown>) : {},
      key: headers['Idempotency-Key'] ?? null,
      lastId: headers['Last-Event-ID'] ?? null,
    };
    this.asked.push(asked);
    const { signal } = init;
    const gone = new Promise<never>((_, no) => signal?.addEventListener('abort', () => no(new DOMException('aborted', 'AbortError'))));
    gone.catch(() => undefined);
    if (signal?.aborted) throw new DOMException('aborted', 'AbortError');
    const route = this.#routes.find(([method, path]) => method === asked.method && path.test(asked.path));
    const response = await Promise.race([route ? route[2](asked) : refusal(404, 'not_found'), gone]);
    if (response.status !== 200 || !response.body) return response;
    const reader = response.body.getReader();
    // An aborted request errors the body that is being read.
    const body = new ReadableStream<Uint8Array>({
      async pull(control) {
        const { done, value } = await Promise.race([reader.read(), gone]);
        if (done) control.close();
        else control.enqueue(value);
      },
    });
    return new Response(body, { status: response.status, headers: response.headers });
  }
}

export const offline = (): Promise<Response> => Promise.reject(new TypeError('failed to fetch'));

/** Hides the tab, or shows it. */
export function hide(hidden: boolean): void {
  Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}

/** Time passes, with everything that is due in it. */
export const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

export const run = (id: string, status: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  trace: {
    id,
    trace_id: id,
    status,
    entity_type: 'workflow',
    input_preview: 'hi',
    input: { message: 'hi', state: {}, attachments: [], thread_id: null },
    created_at: '2026-01-01T00:00:00Z',
    started_at: '2026-01-01T00:00:00Z',
    finished_at: null,
    pauses: [],
    last_event_id: 2,
    error: null,
    reply: null,
    output: null,
    checkpoint: null,
    ...more,
  },
  steps: [],
  spans: [],
  children: [],
});

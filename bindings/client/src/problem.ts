/** Owns the one error every request can end in: problem details, or the reason there was none. */
import type { ProblemBody } from './generated/schemas.js';

/** Problem details; without a `type` and a `message` where it was not the studio that answered. */
export type Body = Partial<ProblemBody> & Pick<ProblemBody, 'status' | 'code' | 'title' | 'detail'> & Record<string, unknown>;

export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: Record<string, string[]>;
  readonly body: Body;
  readonly requestId: string | null;
  /** After how many milliseconds to ask again, when the server said so. */
  readonly retryAfter: number | null;

  constructor(body: Body, requestId: string | null = null, retryAfter: number | null = null) {
    super(body.detail || body.title || body.code);
    this.status = body.status;
    this.code = body.code;
    this.errors = body.errors ?? {};
    this.body = body;
    this.requestId = body.request_id ?? requestId;
    this.retryAfter = retryAfter;
  }

  field(name: string): string | undefined {
    return this.errors[name]?.[0];
  }
}

export const isProblem = (error: unknown): error is Problem => error instanceof Problem;

/** `Retry-After` in milliseconds: seconds, or a date. */
function waitOf(header: string | null): number | null {
  if (!header) return null;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

export async function problemFrom(response: Response, signal?: AbortSignal): Promise<Problem> {
  const requestId = response.headers.get('x-request-id');
  const retryAfter = waitOf(response.headers.get('retry-after'));
  const { status, statusText } = response;
  const body = (await response.json().catch((error: unknown) => {
    if (signal?.aborted) throw error;
    return null;
  })) as Partial<Body> | null;
  const title = body ? (body.title ?? '') : statusText;
  return new Problem(
    { ...body, status, code: body?.code ?? `http_${status}`, title, detail: body?.detail ?? title },
    requestId,
    retryAfter,
  );
}

export const offline = (): Problem => new Problem({ status: 0, code: 'offline', title: 'Offline', detail: 'offline' });

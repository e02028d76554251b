/** Owns the host's side: tools and other answers of the application, what is declared about them, and the calls under way. */

import type { Engine } from './engine.js';
import { CODES, type HostOp } from './generated.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any;

/** What is told about a tool. */
export interface ToolDeclaration {
  name: string;
  description?: string;
  /** JSON Schema of the arguments. */
  inputSchema?: object;
  requireApproval?: boolean;
  idempotent?: boolean;
  timeoutMs?: number;
}

/** What a tool or an answer is told beside its arguments. */
export interface CallContext {
  /** Aborted when the result is no longer wanted: cancelled, or too late. */
  signal: AbortSignal;
  /** The payload of the call: `trace_id`, `node_id`, `call_id`, `idempotency_key`, `tenant`, `user` and what the op has. */
  payload: Json;
}

/** A tool: its arguments in, any JSON out. What it throws is the failure that a model reads. */
export type Tool = (input: Json, context: CallContext) => unknown;
/** An answer to an op: payload in, result out. A generator's yields are chunks, its return value the result. */
export type Answer<P = Json> = (payload: P, context: CallContext) => unknown;

export class Host {
  readonly #tools = new Map<string, { declaration: object; run: Tool }>();
  readonly #answers = new Map<string, Answer>();
  readonly #calls = new Map<number, AbortController>();

  tool(declaration: ToolDeclaration, run: Tool): void {
    const { name, description, inputSchema, requireApproval, idempotent, timeoutMs } = declaration;
    const told = { name, description, input_schema: inputSchema, require_approval: requireApproval, idempotent, timeout_ms: timeoutMs };
    this.#tools.set(name, { declaration: told, run });
  }

  answer(op: string, run: Answer): void {
    this.#answers.set(op, run);
  }

  /** What is declared to the engine. */
  declaration(): object {
    const own: HostOp[] = this.#tools.size > 0 ? ['tool.call', 'tool.cancel'] : [];
    const ops = new Set<string>([...own, ...this.#answers.keys()]);
    return { ops: [...ops], tools: [...this.#tools.values()].map((tool) => tool.declaration) };
  }

  /** Answers a call of an engine, now or later. Never throws. */
  async take(engine: Engine, text: string): Promise<void> {
    const { op, call_id: id, payload } = JSON.parse(text) as { op: HostOp; call_id: number; payload: Json };
    if (op === 'tool.cancel') this.#calls.get(payload.cancels)?.abort(new DOMException('the result is no longer wanted', 'AbortError'));
    const control = new AbortController();
    const late = timer(control, payload?.timeout_ms);
    this.#calls.set(id, control);
    let returned = false;
    try {
      const result = await this.#result(engine, op, id, payload, control.signal);
      returned = true;
      if (engine.complete(id, 1, JSON.stringify(result) ?? 'null') === CODES.INVALID) throw new Error('the engine does not read it');
    } catch (failed) {
      const said = messageOf(failed);
      if (!returned) fail(engine, id, said);
      else if (op === 'tool.call') fail(engine, id, unwritten(said), true);
      else fail(engine, id, `the answer could not be written as JSON: ${said}`);
    } finally {
      clearTimeout(late);
      this.#calls.delete(id);
    }
  }

  async #result(engine: Engine, op: HostOp, id: number, payload: Json, signal: AbortSignal): Promise<unknown> {
    const context = { signal, payload };
    const answer = this.#answers.get(op);
    if (op === 'tool.call' && !answer) {
      const tool = this.#tools.get(payload.name);
      if (!tool) throw new Error(`there is no tool \`${payload.name}\``);
      return tool.run(payload.arguments, context);
    }
    if (op === 'tool.cancel' && !answer) return null;
    if (!answer) throw new Error(`nothing answers \`${op}\``);
    return last(answer(payload, context), (chunk) => {
      const code = engine.complete(id, 2, JSON.stringify(chunk));
      if (code === CODES.INVALID)
        throw new Error('the engine does not read a chunk of the answer: it ends inside a character, or is no JSON');
      return code >= 0;
    });
  }
}

const LONGEST = 10_000;
// What a timer can hold; longer limits are left to the engine, which cancels the call.
const LONGEST_TIMER = 2 ** 31 - 1;

function timer(control: AbortController, ms: unknown): NodeJS.Timeout | undefined {
  if (typeof ms !== 'number' || ms <= 0 || ms > LONGEST_TIMER) return undefined;
  return setTimeout(() => control.abort(new DOMException(`no answer within ${ms} ms`, 'TimeoutError')), ms).unref();
}

/** The result of an answer; chunks of a generator are told as they come, until nobody wants them. */
async function last(answered: unknown, tell: (chunk: unknown) => boolean): Promise<unknown> {
  const iterator = (answered as Partial<AsyncGenerator> | null)?.[Symbol.asyncIterator]?.();
  if (!iterator) return answered;
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return value;
    let wanted = false;
    try {
      wanted = tell(value);
    } finally {
      if (!wanted) await iterator.return?.(undefined);
    }
    if (!wanted) return null;
  }
}

/** A tool that ran must not look like one that failed: whoever reads that calls it again. */
function unwritten(why: string): string {
  return `the tool ran, but its result could not be written as JSON (${why}): return text without halves of characters, finite numbers, lists and objects, at most 16 MiB`;
}

/** Without halves of characters, which are no JSON: the engine would refuse the text, and nobody would answer. */
function fail(engine: Engine, id: number, said: string, ran?: true): void {
  engine.complete(id, 0, JSON.stringify({ message: said.slice(0, LONGEST).replace(/[\ud800-\udfff]/gu, '\ufffd'), ran }));
}

function messageOf(failed: unknown): string {
  try {
    if (!(failed instanceof Error)) return String(failed);
    return failed.name === 'Error' ? String(failed.message) : `${failed.name}: ${String(failed.message)}`;
  } catch {
    return 'the tool failed with something that cannot be read';
  }
}

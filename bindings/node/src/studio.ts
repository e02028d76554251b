/** Owns `Studio`: an engine as an application uses it. */

import { type Definable, nameOf } from './contracts.js';
import { Engine, type Leaving } from './engine.js';
import { type ChatEvent, Events, type StudioEvent, type WorkflowEvent } from './events.js';
import { StudioError } from './errors.js';
import { CODES, type HostOp, type Op } from './generated.js';
import { type Answer, Host, type Tool, type ToolDeclaration } from './host.js';
import { HttpAnswer, type HttpRequest } from './http/answer.js';
import { Native, text } from './native.js';
import type { HostCalls } from './wire.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any;

/** Configuration keys, dotted ones nested (docs/configuration.md). */
export type Config = Record<string, Json>;

export interface Signalled {
  signal?: AbortSignal;
}

/** What is run: a workflow or an agent's chat turn, by id or slug, with the members that the HTTP route of the same meaning takes. */
export interface RunRequest {
  workflow?: string;
  agent?: string;
  message?: string;
  tenant?: string;
  user?: Json;
  [member: string]: Json;
}

const OPENED = Symbol.for('wfstudio.studios');
const CLOSE_MS = 10_000;

export class Studio {
  readonly #engine: Engine;
  readonly #host = new Host();
  #declared = true;
  #declaring = false;
  #warned = false;
  #mounts: Promise<string[]> | undefined;

  private constructor(config: string) {
    this.#engine = new Engine(Native.get(), config);
    this.#engine.onHostCall = (call) => this.#host.take(this.#engine, call);
  }

  /** Opens the studio of this process. Whoever opens the same database again, as a module does that is loaded anew, gets the same studio. */
  static async open(config: Config = {}): Promise<Studio> {
    const opened = ((globalThis as { [OPENED]?: Map<string, { config: string; studio: Studio }> })[OPENED] ??= new Map());
    const [key, told] = [JSON.stringify(config.database ?? null), JSON.stringify(config)];
    const known = opened.get(key);
    if (known && !known.studio.closed) {
      if (known.config === told) return known.studio;
      throw new StudioError(CODES.CONFLICT, 'this process has that database open with another configuration: close that studio first');
    }
    const studio = new Studio(told);
    opened.set(key, { config: told, studio });
    return studio;
  }

  get closed(): boolean {
    return this.#engine.closed;
  }

  /** Makes a function a tool. Declare tools before graphs that name them are saved or run. */
  tool(declaration: ToolDeclaration, run: Tool): this {
    this.#host.tool(declaration, run);
    return this.#undeclared();
  }

  /** Makes a function the answer to an op such as `gate` or `secret.get`. */
  answer<O extends HostOp>(op: O, run: Answer<NonNullable<HostCalls[O]>['payload']>): this {
    this.#host.answer(op, run);
    return this.#undeclared();
  }

  /** Registers exported classes: they are listed and run, and nobody can write them in the studio. Where names of classes are shortened by a
   *  bundler, give them in an object: `register({ LeadTriageWorkflow })`. */
  async register(...classes: (Definable | Record<string, Definable>)[]): Promise<void> {
    for (const [name, one] of classes.flatMap((given) =>
      'definition' in given ? [[nameOf(given as Definable), given]] : Object.entries(given),
    )) {
      await this.call('class.register', { class: name, definition: (one as Definable).definition() });
    }
  }

  /** Starts the workers of this process, which then stays alive until `close`: a studio that is only opened takes no run. */
  async start(): Promise<void> {
    await this.call('start');
    this.#engine.keep();
  }

  /** Runs a workflow or an agent and gives its events. When the signal is aborted the run is cancelled. */
  run(request: RunRequest & { agent: string }, options?: Signalled): Events<ChatEvent>;
  run(request: RunRequest & { workflow: string }, options?: Signalled): Events<WorkflowEvent>;
  run(request: RunRequest, options?: Signalled): Events;
  run<E extends StudioEvent>(request: RunRequest, { signal }: Signalled = {}): Events<E> {
    return new Events(() => this.#start('run', request), signal);
  }

  /** Answers a pause and gives the events that follow. */
  resume(request: { trace_id: string; [member: string]: Json }, { signal }: Signalled = {}): Events {
    return new Events(() => this.#start('resume', request), signal);
  }

  /** One operation, such as `trace.list`; `ops` lists them. When the signal is aborted its answer is no longer waited for. */
  async call(op: Op, request: Json = {}, { signal }: Signalled = {}): Promise<Json> {
    signal?.throwIfAborted();
    const stream = this.#start(op, request);
    stream.follow(signal);
    try {
      const piece = await stream.next();
      signal?.throwIfAborted();
      return JSON.parse(text(piece!.bytes));
    } finally {
      stream.close();
    }
  }

  /** The trace of a run. */
  trace(trace_id: string, request: Json = {}): Promise<Json> {
    return this.call('trace.get', { ...request, trace_id });
  }

  /** What runs used and cost; with `run` one of them. */
  usage(query: Json): Promise<Json> {
    return this.call('run' in query ? 'usage.run' : 'usage.query', query);
  }

  /** One HTTP request, as a mount makes it. */
  async http(request: HttpRequest, { signal }: { signal?: Leaving } = {}): Promise<HttpAnswer> {
    signal?.throwIfAborted();
    const { body, ...head } = request;
    return HttpAnswer.of(this.#start('http', head, body), signal);
  }

  /** What the paths of the studio begin with, such as `/studio` and `/api/studio`. */
  mounts(): Promise<string[]> {
    return (this.#mounts ??= this.call('about').then(
      (about) => about.mounts,
      (failed) => {
        this.#mounts = undefined;
        throw failed;
      },
    ));
  }

  /** Closes the studio: streams end, runs are put down so that they can be taken up again. */
  async close(timeoutMs = CLOSE_MS): Promise<void> {
    await this.#engine.close(timeoutMs);
  }

  #start(op: string, request: unknown, body?: Uint8Array) {
    this.#declare();
    return this.#engine.start(op, request, body);
  }

  #undeclared(): this {
    this.#declared = false;
    if (this.#declaring) return this;
    this.#declaring = true;
    // For runs of others. What is refused is thrown by the next use; the next declaration is another attempt.
    queueMicrotask(() => {
      this.#declaring = false;
      try {
        this.#declare();
      } catch (refused) {
        if (!this.#warned) process.emitWarning(`the studio refused what the application declares: ${(refused as Error).message}`);
        this.#warned = true;
      }
    });
    return this;
  }

  #declare(): void {
    if (!this.#declared) this.#engine.declare(this.#host.declaration());
    this.#declared = true;
  }
}

/** Owns the client: requests, and runs as streams of typed events. */
import { follow, type Follow } from './follow.js';
import type { Streams } from './generated/operations.js';
import type { ChatBody, ResumeBody, RetryBody, RunBody, RunCancelled } from './generated/schemas.js';
import type { End } from './line.js';
import { addressed, Requests, type Fields } from './requests.js';
import { Stream, type EventOf, type Starting } from './stream.js';

type GivenStream<O> = {} extends Fields<O> ? [options?: Fields<O> & Starting] : [options: Fields<O> & Starting];

type Told<K extends keyof Streams> = Stream<EventOf<Streams[K]['events']>>;

export class Client extends Requests {
  /** An operation that is answered with events. Following it begins with the first `for await`, or with the first look at its `end`. */
  stream<K extends keyof Streams>(operation: K, ...[options]: GivenStream<Streams[K]>): Told<K> {
    const {
      path: values,
      body,
      query,
      ...rest
    } = (options ?? {}) as Starting & {
      path?: Record<string, string>;
      body?: unknown;
      query?: { order?: 'ordered' | 'live'; after?: string };
    };
    const [method, path] = addressed(operation, values);
    return new Stream(this, {
      ...rest,
      path,
      body: method === 'GET' ? undefined : (body ?? {}),
      order: query?.order,
      after: rest.after ?? query?.after,
      traceId: values?.run,
    });
  }

  /** Runs a workflow, by id or slug. */
  run(id: string, body: RunBody = {}, options: Starting = {}): Told<'POST /workflows/{id}/run/stream'> {
    return this.stream('POST /workflows/{id}/run/stream', { path: { id }, body, ...options });
  }

  chat(id: string, body: ChatBody, options: Starting = {}): Told<'POST /agents/{id}/chat/stream'> {
    return this.stream('POST /agents/{id}/chat/stream', { path: { id }, body, ...options });
  }

  /** Answers a pause. */
  resume(run: string, body: ResumeBody, options: Starting = {}): Told<'POST /api/runs/{run}/resume/stream'> {
    return this.stream('POST /api/runs/{run}/resume/stream', { path: { run }, body, ...options });
  }

  retry(run: string, body: RetryBody = {}, options: Starting = {}): Told<'POST /api/runs/{run}/retry/stream'> {
    return this.stream('POST /api/runs/{run}/retry/stream', { path: { run }, body, ...options });
  }

  /** Follows a run that is there. */
  tail(run: string, options: Starting = {}): Told<'GET /api/runs/{run}/events/stream'> {
    return this.stream('GET /api/runs/{run}/events/stream', { path: { run }, ...options });
  }

  cancel(run: string): Promise<RunCancelled> {
    return this.call('POST /api/runs/{run}/cancel', { path: { run } });
  }

  /** The same without an iterator: events are called back, and how it ended is the result. */
  follow(request: Follow): Promise<End> {
    return follow(this, request);
  }
}

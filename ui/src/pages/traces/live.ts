/** Owns following the trace of one page: events change what is shown, and the whole is read again only now and then. */
import { useEffect, useState } from 'react';
import { atRest, tailPath, type End, type StudioEvent, type TraceAnswer } from '@wfstudio/client';
import { queries, refresh } from '../../api/queries';
import type { Waiting } from '../../run/view';
import { byFrame } from '../../run/frames';
import { Keys } from '../../run/keys';
import { foldIntoTrace, placeOf } from '../../run/live-trace';
import type { Answer, RetryBody } from '../../run/session';

export const WHOLE = { payloads: 'none', include: 'children' };
/** Others may answer what it waits for: whether it goes on is asked so often, which is a small question. */
const AGAIN = 5000;
/** The whole is read at most so often, the more seldom the longer it is. */
const often = (answer?: TraceAnswer): number => Math.max(2000, answer ? 2 * (answer.steps.length + answer.spans.length) : 0);
const KEPT = 5000;

export class TraceSession {
  private watch: AbortController | null = null;
  private events: [StudioEvent, number][] = [];
  private readAt = Date.now();
  private timer = 0;
  private readonly keys = new Keys();
  private readonly key: readonly unknown[];
  private gone = false;
  private last: Promise<unknown> = Promise.resolve();
  private due = 0;

  constructor(readonly id: string) {
    this.key = ['/api/runs', id, WHOLE];
  }

  /** Answers that were given are sent all the same. */
  dispose(): void {
    this.gone = true;
    if (this.due === 0) this.watch?.abort();
    clearTimeout(this.timer);
  }

  /** Goes on from what is shown. */
  attach(): void {
    const answer = this.answer();
    if (answer && !this.watch && !this.gone) void this.listen(tailPath(this.id), undefined, String(answer.trace.last_event_id));
  }

  /** One after another: a run takes an answer only while it rests. */
  resume(pause: Waiting, answer: Answer): Promise<End> {
    this.due += 1;
    const end = this.last.then(() => this.listen(`/workflows/traces/${pause.run}/resume/stream`, { pause_id: pause.pause_id, ...answer }));
    this.last = end.then(() => (this.due -= 1));
    return end;
  }

  retry(body: RetryBody = {}): Promise<End> {
    return this.listen(`/workflows/traces/${this.id}/retry/stream`, body);
  }

  private answer(): TraceAnswer | undefined {
    return queries.getQueryData<TraceAnswer>(this.key);
  }

  private async listen(path: string, body: unknown, after?: string): Promise<End> {
    this.watch?.abort();
    const mine = new AbortController();
    this.watch = mine;
    clearTimeout(this.timer);
    let told = false;
    const frames = byFrame<[StudioEvent, number]>(
      (batch) => {
        told = true;
        this.take(batch);
      },
      () => often(this.answer()) / 20,
    );
    const onEvent = (event: StudioEvent): void => {
      if (event.name !== 'token' && event.name !== 'reasoning') frames.add([event, Date.now()]);
      if (this.gone && this.due < 2) mine.abort();
    };
    const end = await this.keys.follow({ path, body, after, traceId: this.id, signal: mine.signal, onEvent });
    frames.flush();
    if (this.watch !== mine) return { kind: 'lost', problem: null };
    this.watch = null;
    if (this.gone) return end;
    if (told || body !== undefined) refresh('/api/runs', '/api/runs/counts');
    this.later();
    return end;
  }

  private later(): void {
    const status = this.answer()?.trace.status;
    if (!status || (atRest(status) && !status.startsWith('awaiting'))) return;
    this.timer = window.setTimeout(() => (document.hidden ? this.later() : this.attach()), AGAIN);
  }

  private take(batch: [StudioEvent, number][]): void {
    if (this.gone) return;
    const shown = this.answer();
    if (!shown) return;
    this.events = [...this.events, ...batch].filter(([event]) => placeOf(event) > 0).slice(-KEPT);
    // What was read meanwhile may be older than what was told: the events after it count again.
    const next = this.events.reduce((answer, [event, at]) => foldIntoTrace(answer, event, at), shown);
    queries.setQueryData(this.key, next, { updatedAt: queries.getQueryState(this.key)?.dataUpdatedAt });
    if (Date.now() - this.readAt < often(next) || atRest(next.trace.status)) return;
    this.readAt = Date.now();
    void queries.invalidateQueries({ queryKey: this.key, exact: true });
  }
}

/** The session of a page, following whenever the trace shown is at work or waits. */
export function useTraceSession(id: string, answer: TraceAnswer): TraceSession {
  const [session] = useState(() => new TraceSession(id));
  useEffect(() => () => session.dispose(), [session]);
  const { status } = answer.trace;
  const goesOn = !atRest(status) || status.startsWith('awaiting');
  useEffect(() => {
    if (goesOn) session.attach();
  }, [session, goesOn]);
  return session;
}

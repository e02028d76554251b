/** Owns the run of one page: starts, follows, answers, stops it. Made when the page mounts; once disposed of, it changes nothing. */
import { get, post } from '../api/client';
import { atRest, tailPath, type End, type StudioEvent, type DoubtAnswer, type TraceAnswer } from '@wfstudio/client';
import type { SentFile } from '../parts/files';
import { byFrame } from './frames';
import { Keys } from './keys';
import { nothing, useRun } from './store';
import { viewOf } from './trace';
import { fold, noRun, type RunView, type Waiting } from './view';

export interface RunBody {
  message: string;
  trial?: Record<string, unknown>;
  state?: Record<string, unknown>;
  attachments?: SentFile[];
  draft?: boolean;
  thread_id?: string | null;
}
export interface Answer {
  approval?: 'approve' | 'reject';
  message?: string;
  attachments?: SentFile[];
  decisions?: { call_id: string; approval: 'approve' | 'reject'; message?: string }[];
}
export interface RetryBody {
  from_step_id?: string;
  state?: Record<string, unknown>;
  in_doubt?: DoubtAnswer[];
}

interface Sent {
  pause: Waiting;
  answer: Answer;
  done: (end: End) => void;
}
const LEFT: End = { kind: 'lost', problem: null };

export class RunSession {
  /** About to begin a run: asked once more meanwhile, it begins no second one. */
  beginning = false;
  private watch: AbortController | null = null;
  private readonly answers: Sent[] = [];
  private readonly keys = new Keys();
  private sending = false;
  private streaming = false;
  private gone = false;

  constructor() {
    useRun.setState({ ...nothing(), session: this });
  }

  /** Answers that were given and are not sent yet are sent all the same. */
  dispose(): void {
    this.gone = true;
    if (this.answers.length === 0) this.watch?.abort();
    if (useRun.getState().session === this) useRun.setState({ ...nothing(), session: null });
  }

  async start(workflow: string, body: RunBody): Promise<End> {
    const before = this.state().view;
    this.put({ view: { ...noRun(), status: 'running', start: Date.now(), input: body.message }, answering: [] });
    const end = await this.listen(`/workflows/${workflow}/run/stream`, body, null, { order: 'live' });
    if (end.kind === 'refused') this.put({ view: before });
    return end;
  }

  /** Shows a run that is there, and follows it while it works; null when something else was opened meanwhile. */
  async open(id: string): Promise<TraceAnswer | null> {
    const mine = this.take();
    const answer = await get<TraceAnswer>(`/api/runs/${id}`, { include: 'graph', snapshots: 'none' }, mine.signal).catch(
      (error: unknown) => {
        if (mine.signal.aborted || this.gone) return null;
        throw error;
      },
    );
    if (!answer || this.watch !== mine || (this.gone && this.answers.length === 0)) return null;
    this.put({ view: viewOf(answer), answering: this.answers.map((a) => a.pause.pause_id), lost: null });
    if (!atRest(answer.trace.status)) void this.listen(tailPath(id), undefined, id, { after: String(answer.trace.last_event_id) });
    return answer;
  }

  /** Shows a run as it stood at some time. */
  show(view: RunView): void {
    this.put({ view });
  }

  /** An answer given while the run goes on from another one waits until that has come to rest. */
  answer(pause: Waiting, answer: Answer): Promise<End> {
    const { pause_id } = pause;
    if (this.answers.some((a) => a.pause.pause_id === pause_id)) return Promise.resolve(LEFT);
    return new Promise((done) => {
      this.answers.push({ pause, answer, done });
      this.put({ answering: this.answers.map((a) => a.pause.pause_id) });
      void this.sendAnswers();
    });
  }

  async retry(body: RetryBody = {}): Promise<End> {
    const { view } = this.state();
    if (!view.traceId) return LEFT;
    this.put({ view: { ...view, status: 'running', end: null, error: null } });
    const end = await this.listen(`/workflows/traces/${view.traceId}/retry/stream`, body, view.traceId);
    if (end.kind === 'refused') this.put({ view });
    return end;
  }

  /** The run tells its id with its first event; until then there is nothing to stop. */
  async cancel(): Promise<void> {
    const mine = this.watch;
    let id = this.state().view.traceId;
    while (!id && this.streaming && this.watch === mine && !this.gone) {
      await new Promise((go) => {
        setTimeout(go, 50);
      });
      id = this.streaming && this.watch === mine && !this.gone ? this.state().view.traceId : null;
    }
    if (id) await post(`/workflows/traces/${id}/cancel`);
  }

  /** The page of this session is still there. */
  get here(): boolean {
    return !this.gone;
  }

  private state(): ReturnType<typeof useRun.getState> {
    return useRun.getState();
  }

  private put(change: Partial<ReturnType<typeof nothing>>): void {
    if (!this.gone) useRun.setState(change);
  }

  private take(): AbortController {
    this.watch?.abort();
    this.watch = new AbortController();
    this.streaming = false;
    return this.watch;
  }

  /** One after another: a run takes an answer only while it rests. */
  private async sendAnswers(): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    for (let sent = this.answers[0]; sent && !this.streaming; sent = this.answers[0]) {
      const { run, pause_id, node_id } = sent.pause;
      const end = await this.listen(`/workflows/traces/${run}/resume/stream`, { pause_id, node_id, ...sent.answer }, run);
      this.answers.shift();
      this.put({ answering: this.answers.map((a) => a.pause.pause_id) });
      if (end.kind === 'refused' && end.problem.status === 409) await this.open(run).catch(() => null);
      sent.done(end);
    }
    this.sending = false;
  }

  private async listen(
    path: string,
    body: unknown,
    traceId: string | null,
    more: { after?: string; order?: 'live' | 'ordered' } = {},
  ): Promise<End> {
    const mine = this.take();
    const frames = byFrame<[StudioEvent, number]>((batch) => {
      if (this.watch !== mine || this.gone) return;
      const view = { ...this.state().view, events: [...this.state().view.events] };
      for (const [event, at] of batch) fold(view, event, at);
      this.put({ view });
    });
    this.streaming = true;
    this.put({ streaming: true, lost: null });
    const end = await this.keys.follow({
      path,
      body,
      traceId,
      ...more,
      signal: mine.signal,
      onEvent: (event) => {
        frames.add([event, Date.now()]);
        // The answer that this stream is of was taken; one that waits for the end of the stream was not.
        if (this.gone && this.answers.length < (this.sending ? 2 : 1)) mine.abort();
      },
      onLook: (answer) => this.look(mine, answer),
    });
    frames.flush();
    if (this.watch !== mine) return LEFT;
    if (end.kind === 'rested' && end.answer) this.look(mine, end.answer);
    this.streaming = false;
    this.put({ streaming: false, lost: end.kind === 'lost' ? end.problem : null });
    void this.sendAnswers();
    return end;
  }

  private look(mine: AbortController, answer: TraceAnswer): void {
    if (this.watch === mine) this.put({ view: { ...viewOf(answer), events: this.state().view.events } });
  }
}

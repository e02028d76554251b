/** Owns the run in view: starts, follows, answers, stops it; one commit per animation frame. */
import { create } from 'zustand';
import { get, post } from '../api/client';
import type { StudioEvent } from '../api/sse';
import { atRest, follow } from '../api/stream';
import type { Attachment, Pause, TraceAnswer } from '../api/types';
import { viewOf } from './trace';
import { fold, noRun, type RunView } from './view';

interface RunState {
  view: RunView;
  streaming: boolean;
  answering: string | null;
}
export const useRun = create<RunState>(() => ({ view: noRun(), streaming: false, answering: null }));

let pending: [StudioEvent, number][] = [];
let frame = 0;
let stop: AbortController | null = null;

function flush(): void {
  frame = 0;
  const batch = pending;
  pending = [];
  const view = { ...useRun.getState().view, events: [...useRun.getState().view.events] };
  for (const [event, at] of batch) fold(view, event, at);
  useRun.setState({ view });
}

function receive(event: StudioEvent): void {
  pending.push([event, Date.now()]);
  if (!frame) frame = document.hidden ? window.setTimeout(flush, 200) : requestAnimationFrame(flush);
}

async function listen(
  path: string,
  body: unknown,
  options: { after?: string | null; traceId?: string | null; order?: 'live' | 'ordered' } = {},
): Promise<void> {
  stop?.abort();
  const mine = new AbortController();
  stop = mine;
  useRun.setState({ streaming: true });
  try {
    await follow({
      path,
      body,
      order: options.order,
      after: options.after,
      traceId: options.traceId,
      signal: mine.signal,
      onEvent: (e) => {
        if (stop === mine) receive(e);
      },
      onReplay: () => {
        if (stop === mine) {
          pending = [];
          useRun.setState({
            view: {
              ...noRun(),
              traceId: options.traceId ?? useRun.getState().view.traceId,
              start: useRun.getState().view.start,
              input: useRun.getState().view.input,
              status: 'running',
            },
          });
        }
      },
      onPoll: (answer) => {
        if (stop === mine) useRun.setState({ view: viewOf(answer) });
      },
    });
  } finally {
    if (pending.length) flush();
    if (stop === mine) {
      stop = null;
      useRun.setState({ streaming: false, answering: null });
    }
  }
}

export interface RunBody {
  message: string;
  trial?: Record<string, unknown>;
  state?: Record<string, unknown>;
  attachments?: Attachment[];
  draft?: boolean;
  thread_id?: string | null;
}

export async function startRun(workflow: string, body: RunBody): Promise<void> {
  const view = noRun();
  view.status = 'running';
  view.start = Date.now();
  view.input = body.message;
  useRun.setState({ view, answering: null });
  try {
    await listen(`/workflows/${workflow}/run/stream`, body, { order: 'live' });
  } catch (error) {
    useRun.setState({ view: noRun() });
    throw error;
  }
}

export async function openRun(id: string): Promise<TraceAnswer> {
  stop?.abort();
  const answer = await get<TraceAnswer>(`/api/runs/${id}`, { include: 'graph', snapshots: 'none' });
  useRun.setState({ view: viewOf(answer), answering: null });
  if (!atRest(answer.trace.status))
    void listen(`/workflows/runs/${id}/events/stream`, undefined, { traceId: id, after: String(answer.trace.last_event_id) }).catch(
      () => undefined,
    );
  return answer;
}

export interface Answer {
  approval?: 'approve' | 'reject';
  message?: string;
  attachments?: Attachment[];
  decisions?: { call_id: string; approval: 'approve' | 'reject'; message?: string }[];
}

export async function answerPause(pause: Pause, answer: Answer): Promise<void> {
  const id = useRun.getState().view.traceId;
  if (!id || useRun.getState().answering) return;
  useRun.setState({ answering: pause.pause_id });
  try {
    await listen(`/workflows/traces/${id}/resume/stream`, { pause_id: pause.pause_id, node_id: pause.node_id, ...answer }, { traceId: id });
  } catch (error) {
    useRun.setState({ answering: null });
    await openRun(id).catch(() => undefined);
    throw error;
  }
}

export async function retryRun(body: { from_step_id?: string; state?: Record<string, unknown> } = {}): Promise<void> {
  const id = useRun.getState().view.traceId;
  if (id) await listen(`/workflows/traces/${id}/retry/stream`, body, { traceId: id });
}

export async function cancelRun(): Promise<void> {
  const id = useRun.getState().view.traceId;
  if (id) await post(`/workflows/traces/${id}/cancel`);
}

export function leaveRun(): void {
  stop?.abort();
  stop = null;
  useRun.setState({ view: noRun(), streaming: false, answering: null });
}

/** Owns one conversation: what is shown, sent, streamed, answered. Made for a session of an agent; once disposed of, it changes nothing. */
import { createContext, useContext } from 'react';
import { createStore, useStore, type StoreApi } from 'zustand';
import { get, post } from '../../api/client';
import {
  atRest,
  tailPath,
  type End,
  type Problem,
  type StudioEvent,
  type DoubtAnswer,
  type Thread,
  type TraceAnswer,
} from '@wfstudio/client';
import type { SentFile } from '../../parts/files';
import { refresh } from '../../api/queries';
import type { Waiting } from '../../run/view';
import { readyMarkdown } from '../../parts/markdown';
import { toastError } from '../../parts/toast';
import { atOnce, byFrame } from '../../run/frames';
import { Keys } from '../../run/keys';
import type { Answer } from '../../run/session';
import { apart } from '../../run/thoughts';
import { messagesOf, newestRun } from './messages';
import { chatBody, foldChat, foldTrace, fromMessages, newTurn, noOverrides, withRun, type Overrides, type Talk, type Turn } from './turns';

/** What is being written, and the files that go along. */
export interface Box {
  text: string;
  files: SentFile[];
  loading: number;
}
export const newBox = (): StoreApi<Box> => createStore<Box>(() => ({ text: '', files: [], loading: 0 }));

interface Chat extends Talk {
  /** The stored messages are not here yet. */
  opening: boolean;
  busy: boolean;
  answering: boolean;
  /** Why the last message was not sent. */
  refused: Problem | null;
  overrides: Overrides;
}

export class ChatSession {
  readonly store: StoreApi<Chat>;
  private watch: AbortController | null = null;
  private next: { pause: Waiting; answer: Answer; done: (end: End) => void } | null = null;
  private readonly keys = new Keys();
  private sending = false;
  private gone = false;

  constructor(
    readonly agent: string,
    thread: string | null,
    readonly box: StoreApi<Box> = newBox(),
    overrides: Overrides = noOverrides(),
  ) {
    this.store = createStore<Chat>(() => ({
      thread,
      turns: [],
      pause: null,
      opening: !!thread,
      busy: false,
      answering: false,
      refused: null,
      overrides,
    }));
  }

  get here(): boolean {
    return !this.gone;
  }

  /** An answer that was given is sent all the same. */
  dispose(): void {
    this.gone = true;
    if (!this.next) this.watch?.abort();
  }

  put(change: Partial<Chat>): void {
    if (!this.gone) this.store.setState(change);
  }

  /** Shows what is stored, and goes on with the newest run where it is not stored yet or waits. */
  async open(): Promise<void> {
    const { thread } = this.store.getState();
    if (!thread) return;
    // The run first: what ends between the two requests is among the messages.
    const [summary, newest] = await Promise.all([get<Thread>(`/api/threads/${thread}`, { limit: 1 }), newestRun(this.agent, thread)]);
    const [messages] = await Promise.all([messagesOf(this.agent, thread), readyMarkdown()]);
    if (this.gone) return;
    // What was asked here meanwhile may be stored by now.
    const { turns } = this.store.getState();
    const before = messages.filter((m) => !turns.some((x) => x.trace && x.trace === m.trace_id));
    this.put({ turns: [...fromMessages(before), ...turns], opening: false });
    const waits = summary.open_pause?.trace_id;
    const stored = messages.some((m) => m.role === 'assistant' && m.trace_id === newest?.id && m.content);
    const run = waits ?? (newest && newest.status !== 'completed' && !stored ? newest.id : null);
    if (run) await this.attach(run);
  }

  /** Shows the turn of a run, and follows it from its first event. */
  async attach(run: string): Promise<void> {
    const answer = await get<TraceAnswer>(`/api/runs/${run}`, { snapshots: 'none' });
    if (this.gone || this.store.getState().busy) return;
    this.put({ ...withRun(this.store.getState(), answer, Date.now()), refused: null });
    await this.listen(tailPath(run), undefined, run, !atRest(answer.trace.status));
  }

  async send(message: string, files: SentFile[]): Promise<void> {
    const { thread, turns, overrides } = this.store.getState();
    const asked = [newTurn('user', message, { files }), newTurn('assistant', '', { state: 'streaming' })];
    this.put({ turns: [...turns, ...asked] });
    const end = await this.listen(`/agents/${this.agent}/chat/stream`, chatBody(message, files, thread, overrides), null);
    if (end.kind !== 'refused') return;
    this.put({ turns: this.store.getState().turns.filter((x) => !asked.some((a) => a.key === x.key)), refused: end.problem });
    this.putBack(message, files);
  }

  /** What was not said is in the box again, before what was written since. */
  putBack(message: string, files: SentFile[]): void {
    this.box.setState((b) => ({ text: [message, b.text].filter(Boolean).join('\n'), files: [...files, ...b.files] }));
  }

  /** An answer given while the turn is still being told waits for its end. */
  answer(pause: Waiting, answer: Answer): Promise<End> {
    if (this.next) return Promise.resolve({ kind: 'lost', problem: null });
    return new Promise((done) => {
      this.next = { pause, answer, done };
      this.put({ answering: true });
      if (!this.watch) void this.sendAnswer();
    });
  }

  settle(run: string, answers: DoubtAnswer[]): Promise<End> {
    return this.again(`/api/runs/${run}/retry/stream`, { in_doubt: answers }, run);
  }

  async stop(): Promise<void> {
    let asked: string | undefined;
    // The run tells its id with its first event; until then there is nothing to cancel, and who only looks away stops nothing.
    while (this.store.getState().busy && !this.gone) {
      const last = this.store.getState().turns.at(-1);
      if (last?.state === 'streaming' || last?.state === 'waiting') {
        asked ??= last.key;
        if (asked !== last.key) return;
        if (last.trace) return post<void>(`/api/runs/${last.trace}/cancel`).catch(toastError);
      }
      await new Promise((resolve) => {
        setTimeout(resolve, 50);
      });
    }
  }

  private async sendAnswer(): Promise<void> {
    const sent = this.next;
    if (!sent || this.sending) return;
    this.sending = true;
    const { run, pause_id } = sent.pause;
    const end = await this.again(`/api/runs/${run}/resume/stream`, { pause_id, ...sent.answer }, run);
    this.next = null;
    this.sending = false;
    this.put({ answering: false });
    if (end.kind === 'refused' && end.problem.status === 409) await this.attach(run).catch(() => undefined);
    sent.done(end);
  }

  /** Goes on with the last turn; it is as it was when that is refused. */
  private async again(path: string, body: unknown, run: string): Promise<End> {
    const { turns, pause } = this.store.getState();
    const last = turns.at(-1);
    if (last && !pause)
      this.put({ turns: [...turns.slice(0, -1), { ...last, thought: apart(last.thought), state: 'streaming', error: null, end: null }] });
    const end = await this.listen(path, body, run);
    if (end.kind === 'refused') this.put({ turns, pause });
    return end;
  }

  private async listen(path: string, body: unknown, trace: string | null, busy = true): Promise<End> {
    this.watch?.abort();
    const mine = new AbortController();
    this.watch = mine;
    this.put({ busy, refused: null });
    const frames = (busy ? byFrame : atOnce)<StudioEvent>((batch) => {
      if (this.watch !== mine) return;
      let state = this.store.getState();
      for (const event of batch) state = { ...state, ...foldChat(state, event, Date.now()) };
      this.put(state);
    });
    const look = (answer: TraceAnswer): void => this.put(foldTrace(this.store.getState(), answer, Date.now()));
    const onEvent = (event: StudioEvent): void => {
      frames.add(event);
      if (this.gone && (this.sending || !this.next)) mine.abort();
    };
    const end = await this.keys.follow({ path, body, traceId: trace, signal: mine.signal, onEvent });
    frames.flush();
    if (this.watch !== mine) return { kind: 'lost', problem: null };
    this.watch = null;
    if (end.kind === 'rested' && end.answer) look(end.answer);
    if (end.kind === 'lost') this.leaveTurn(end.problem);
    this.put({ busy: false });
    refresh(`/agents/${this.agent}/chat/threads`, '/api/runs');
    refresh('/api/runs/counts');
    const last = this.store.getState().turns.at(-1);
    if (last?.error?.code === 'in_doubt' && !last.error.calls && last.trace)
      await get<TraceAnswer>(`/api/runs/${last.trace}`, { snapshots: 'none' }).then(
        // Another turn may have begun meanwhile.
        (answer) => this.store.getState().turns.at(-1)?.key === last.key && look(answer),
        () => undefined,
      );
    void this.sendAnswer();
    return end;
  }

  /** Marks the turn that is not told any more: stopped by the person, or lost. */
  private leaveTurn(problem: Problem | null): void {
    const { turns } = this.store.getState();
    const last = turns.at(-1);
    if (last?.state !== 'streaming') return;
    const change: Partial<Turn> = problem
      ? { state: 'lost', error: { code: problem.code, message: problem.message } }
      : { state: 'stopped' };
    this.put({ turns: [...turns.slice(0, -1), { ...last, ...change, end: Date.now() }] });
  }
}

export const ChatContext = createContext<ChatSession | null>(null);

export function useSession(): ChatSession {
  const session = useContext(ChatContext);
  if (!session) throw new Error('no conversation around this');
  return session;
}
export const useChat = <T>(choose: (chat: Chat) => T): T => useStore(useSession().store, choose);

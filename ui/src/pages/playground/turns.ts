/** Owns the conversation in view: stored messages and the turn being streamed. */
import { create } from 'zustand';
import { get, post } from '../../api/client';
import type { StudioEvent } from '../../api/sse';
import { follow } from '../../api/stream';
import { refresh } from '../../api/queries';
import { readyMarkdown } from '../../parts/markdown';
import type { Attachment, Message, Pause, Thread, TraceAnswer, UsageFields } from '../../api/types';
import type { ToolUse } from '../../run/view';
import type { Answer } from '../../run/store';

export interface Turn {
  key: string;
  role: 'user' | 'assistant' | 'summary';
  text: string;
  files: Attachment[];
  tools: ToolUse[];
  trace: string | null;
  state: 'stored' | 'streaming' | 'waiting' | 'stopped' | 'failed' | 'done';
  error: { code: string; message: string } | null;
  usage: UsageFields | null;
  start: number;
  firstToken: number | null;
  end: number | null;
  model?: string;
}

export interface ModelChoice {
  provider: string;
  model: string;
}
export interface Overrides {
  instructions: string | null;
  variables: Record<string, unknown>;
  temperature: number | null;
  model: ModelChoice | null;
}
interface Chat {
  thread: string | null;
  turns: Turn[];
  pause: Pause | null;
  busy: boolean;
  answering: boolean;
  overrides: Overrides;
}
export const noOverrides = (): Overrides => ({ instructions: null, variables: {}, temperature: null, model: null });
const empty = (): Chat => ({ thread: null, turns: [], pause: null, busy: false, answering: false, overrides: noOverrides() });
export const useChat = create<Chat>(empty);

let key = 0;
export const newTurn = (role: Turn['role'], text: string, more: Partial<Turn> = {}): Turn => ({
  key: `t${key++}`,
  role,
  text,
  files: [],
  tools: [],
  trace: null,
  state: 'stored',
  error: null,
  usage: null,
  start: Date.now(),
  firstToken: null,
  end: null,
  ...more,
});

const SUMMARY = '[Studio memory summary]';
export function fromMessages(messages: Message[]): Turn[] {
  return messages.map((m) => {
    const summary = m.meta?.studio_kind === 'summary' || m.content.startsWith(SUMMARY);
    return newTurn(
      summary ? 'summary' : m.role === 'user' ? 'user' : 'assistant',
      summary ? m.content.replace(SUMMARY, '').trim() : m.content,
      {
        key: m.id,
        files: m.attachments ?? [],
        trace: m.trace_id,
        start: new Date(m.created_at).getTime(),
        tools: (m.tool_calls ?? []).map((c) => ({
          callId: c.call_id,
          name: c.name,
          inputs: c.inputs,
          result: c.result,
          isError: c.is_error === true,
          skipped: false,
          ms: null,
        })),
      },
    );
  });
}

let stop: AbortController | null = null;
let pending: StudioEvent[] = [];
let frame = 0;

function flush(): void {
  frame = 0;
  const batch = pending;
  pending = [];
  let state = useChat.getState();
  for (const event of batch) state = { ...state, ...foldChat(state, event, Date.now()) };
  useChat.setState(state);
}

/** What one chat event changes. */
export function foldChat(chat: Pick<Chat, 'turns' | 'pause' | 'thread'>, event: StudioEvent, at: number): Partial<Chat> {
  const d = event.data;
  const last = chat.turns.at(-1);
  if (!last || last.role !== 'assistant') return {};
  const put = (change: Partial<Turn>, more: Partial<Chat> = {}): Partial<Chat> => ({
    ...more,
    turns: [...chat.turns.slice(0, -1), { ...last, ...change }],
  });
  switch (event.name) {
    case 'thread':
      return put({ trace: String(d.trace_id ?? '') || last.trace }, { thread: String(d.thread_id ?? '') || chat.thread });
    case 'token':
      return put({ text: last.text + String(d.delta ?? ''), firstToken: last.firstToken ?? at, state: 'streaming' });
    case 'tool_call':
      return put({
        tools: [
          ...last.tools.filter((u) => u.callId !== d.call_id),
          {
            callId: String(d.call_id),
            name: String(d.name),
            inputs: (d.inputs as Record<string, unknown>) ?? {},
            result: null,
            isError: false,
            skipped: false,
            ms: null,
          },
        ],
      });
    case 'tool_result': {
      const use: ToolUse = {
        callId: String(d.call_id),
        name: String(d.name),
        inputs: (d.inputs as Record<string, unknown>) ?? {},
        result: String(d.result ?? ''),
        isError: d.is_error === true,
        skipped: d.skipped === true,
        ms: typeof d.duration_ms === 'number' ? d.duration_ms : null,
      };
      return put({
        tools: last.tools.some((u) => u.callId === use.callId)
          ? last.tools.map((u) =>
              u.callId === use.callId ? { ...use, inputs: Object.keys(use.inputs).length ? use.inputs : u.inputs } : u,
            )
          : [...last.tools, use],
      });
    }
    case 'tool_approval_required':
      return put(
        { state: 'waiting', trace: String(d.trace_id ?? last.trace ?? '') },
        {
          pause: {
            pause_id: String(d.pause_id),
            node_id: String(d.node_id ?? ''),
            step_id: null,
            reason: 'tool_approval',
            pending_tools: d.pending_tools as Pause['pending_tools'],
            message: String(d.message ?? ''),
            created_at: new Date(at).toISOString(),
          },
        },
      );
    case 'tool_approval_resolved':
      return put({ state: 'streaming' }, { pause: null });
    case 'done':
      return put({
        state: 'done',
        end: at,
        text: typeof d.reply === 'string' && d.reply ? d.reply : last.text,
        usage: typeof d.total_tokens === 'number' ? (d as unknown as UsageFields) : null,
      });
    case 'error':
      return put({
        state: d.code === 'cancelled' ? 'stopped' : 'failed',
        end: at,
        error: d.code === 'cancelled' ? null : { code: String(d.code ?? ''), message: String(d.message ?? '') },
      });
    default:
      return {};
  }
}

async function listen(agent: string, path: string, body: unknown, trace: string | null): Promise<void> {
  stop?.abort();
  const mine = new AbortController();
  stop = mine;
  try {
    await follow({
      path,
      body,
      traceId: trace,
      signal: mine.signal,
      onEvent: (e) => {
        if (stop !== mine) return;
        pending.push(e);
        if (!frame) frame = document.hidden ? window.setTimeout(flush, 200) : requestAnimationFrame(flush);
      },
    });
  } catch (error) {
    pending.push({ id: null, name: 'error', data: { code: 'refused', message: (error as Error).message } });
  } finally {
    flush();
    if (stop === mine) {
      stop = null;
      useChat.setState({ busy: false, answering: false });
    }
    refresh(`/agents/${agent}/chat/threads`, '/api/runs');
    refresh('/api/runs/counts');
  }
}

export async function sendTurn(agent: string, message: string, files: Attachment[]): Promise<void> {
  const { thread, turns, overrides } = useChat.getState();
  useChat.setState({
    busy: true,
    turns: [...turns, newTurn('user', message, { files }), newTurn('assistant', '', { state: 'streaming' })],
  });
  await listen(agent, `/agents/${agent}/chat/stream`, chatBody(message, files, thread, overrides), null);
}

export function chatBody(message: string, files: Attachment[], thread: string | null, overrides: Overrides): Record<string, unknown> {
  return {
    message,
    ...(files.length ? { attachments: files } : {}),
    ...(thread ? { thread_id: thread } : {}),
    ...(overrides.instructions !== null ? { instructions: overrides.instructions } : {}),
    ...(Object.keys(overrides.variables).length ? { context: overrides.variables } : {}),
    ...(overrides.temperature !== null ? { parameters: { temperature: overrides.temperature } } : {}),
    ...overrides.model,
  };
}

export async function answerTurn(agent: string, answer: Answer): Promise<void> {
  const { pause, turns } = useChat.getState();
  const trace = turns.at(-1)?.trace;
  if (!pause || !trace) return;
  useChat.setState({ busy: true, answering: true });
  await listen(agent, `/api/runs/${trace}/resume/stream`, { pause_id: pause.pause_id, ...answer }, trace);
}

export async function stopTurn(): Promise<void> {
  const asked = useChat.getState().turns.at(-1);
  // The run tells its id with its first event; until then there is nothing to cancel.
  for (let n = 0; n < 40 && useChat.getState().busy; n++) {
    const trace = useChat.getState().turns.find((x) => x.key === asked?.key)?.trace;
    if (trace) {
      await post(`/api/runs/${trace}/cancel`).catch(() => undefined);
      return;
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
  stop?.abort();
  useChat.setState((s) => ({
    turns: s.turns.map((x) => (x.key === asked?.key && x.state === 'streaming' ? { ...x, state: 'stopped' } : x)),
  }));
}

export async function openThread(agent: string, thread: string | null): Promise<void> {
  stop?.abort();
  stop = null;
  const { overrides } = useChat.getState();
  useChat.setState({ ...empty(), overrides, thread });
  if (!thread) return;
  const [messages, summary] = await Promise.all([
    messagesOf(agent, thread),
    get<Thread>(`/api/threads/${thread}`, { limit: 1 }),
    readyMarkdown(),
  ]);
  if (useChat.getState().thread !== thread) return;
  useChat.setState({ turns: fromMessages(messages) });
  if (summary.open_pause) await openPause(summary.open_pause.trace_id, summary.open_pause.pause_id);
}

/** All messages of a session, page by page, oldest first. */
export async function messagesOf(agent: string, thread: string): Promise<Message[]> {
  const all: Message[] = [];
  let cursor: string | null = null;
  do {
    const page: { messages: Message[]; next_cursor: string | null } = await get(`/agents/${agent}/chat/threads/${thread}`, {
      include: 'tools',
      limit: 100,
      cursor,
    });
    all.push(...page.messages);
    cursor = page.next_cursor;
  } while (cursor && all.length < 2000);
  return all;
}

/** A thread that waits for a decision shows it again after a reload. */
export async function openPause(trace: string, pauseId: string): Promise<void> {
  const answer = await get<TraceAnswer>(`/api/runs/${trace}`);
  const pause = answer.trace.pauses?.find((p) => p.pause_id === pauseId);
  if (!pause || useChat.getState().busy) return;
  const { turns } = useChat.getState();
  const asked = turns.some((x) => x.role === 'user' && x.trace === trace);
  useChat.setState({
    pause,
    turns: [
      ...turns.filter((x) => !(x.trace === trace && x.role === 'assistant' && !x.text)),
      ...(asked ? [] : [newTurn('user', answer.trace.input?.message ?? answer.trace.input_preview)]),
      newTurn('assistant', '', { trace, state: 'waiting' }),
    ],
  });
}

export const leaveChat = (): void => {
  stop?.abort();
  stop = null;
  useChat.setState(empty());
};

/** Owns what a conversation is made of, and what stored messages, events and traces change in it. */
import type { DoubtfulCall, Message, StudioEvent, TraceAnswer } from '@wfstudio/client';
import type { SentFile } from '../../parts/files';
import { apart, cited, sourcesOf, thoughtOf, unlike, withSource, type Cited } from '../../run/thoughts';
import { madeFiles, type MadeFile } from '../../run/made';
import { warningsOf, type Warning } from '../../run/warnings';
import type { ToolUse, UsageFields, Waiting } from '../../run/view';

export interface Turn {
  key: string;
  role: 'user' | 'assistant' | 'summary';
  text: string;
  thought: string;
  cited: Cited[];
  files: SentFile[];
  made: MadeFile[];
  tools: ToolUse[];
  trace: string | null;
  /** `lost`: it may go on, and is not followed any more. */
  state: 'stored' | 'streaming' | 'waiting' | 'stopped' | 'failed' | 'done' | 'lost';
  error: { code: string; message: string; calls?: DoubtfulCall[] } | null;
  warnings: Warning[];
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
export interface Talk {
  thread: string | null;
  turns: Turn[];
  pause: Waiting | null;
}
export const noOverrides = (): Overrides => ({ instructions: null, variables: {}, temperature: null, model: null });

let made = 0;
export const newTurn = (role: Turn['role'], text: string, more: Partial<Turn> = {}): Turn => ({
  key: `t${made++}`,
  role,
  text,
  thought: '',
  cited: [],
  files: [],
  made: [],
  tools: [],
  trace: null,
  state: 'stored',
  error: null,
  warnings: [],
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
        thought: thoughtOf(m.parts),
        cited: sourcesOf(m.parts),
        files: m.attachments ?? [],
        made: m.role === 'user' ? [] : madeFiles(m.attachments),
        warnings: warningsOf(m.meta?.warnings),
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
          files: madeFiles(c.files),
        })),
      },
    );
  });
}

/** What one chat event changes. */
export function foldChat(chat: Talk, event: StudioEvent, at: number): Partial<Talk> {
  const d = event.data;
  const last = chat.turns.at(-1);
  if (!last || last.role !== 'assistant') return {};
  const put = (change: Partial<Turn>, more: Partial<Talk> = {}): Partial<Talk> => ({
    ...more,
    turns: [...chat.turns.slice(0, -1), { ...last, ...change }],
  });
  switch (event.name) {
    case 'thread':
      return put({ trace: String(d.trace_id ?? '') || last.trace }, { thread: String(d.thread_id ?? '') || chat.thread });
    case 'reasoning':
      return put({ thought: last.thought + String(d.delta ?? ''), state: 'streaming' });
    case 'model_fallback':
    case 'step_retrying':
      return put({ thought: apart(last.thought) });
    case 'source':
      return put({ cited: withSource(last.cited, cited(d)) });
    case 'file':
      return put({ made: [...last.made, ...madeFiles([d])] });
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
        files: madeFiles(d.files),
      };
      return put({
        thought: apart(last.thought),
        tools: last.tools.some((u) => u.callId === use.callId)
          ? last.tools.map((u) =>
              u.callId === use.callId ? { ...use, inputs: Object.keys(use.inputs ?? {}).length ? use.inputs : u.inputs } : u,
            )
          : [...last.tools, use],
      });
    }
    case 'tool_approval_required':
      return put(
        { state: 'waiting', trace: String(d.trace_id ?? last.trace ?? '') },
        {
          pause: {
            run: String(d.trace_id ?? last.trace ?? ''),
            pause_id: String(d.pause_id),
            node_id: String(d.node_id ?? ''),
            step_id: '',
            reason: 'tool_approval',
            pending_tools: d.pending_tools as Waiting['pending_tools'],
            message: String(d.message ?? ''),
            created_at: new Date(at).toISOString(),
          },
        },
      );
    case 'tool_approval_resolved':
      return put({ state: 'streaming' }, { pause: null });
    case 'done': {
      const reply = typeof d.reply === 'string' && d.reply ? d.reply : last.text;
      return put({
        state: 'done',
        end: at,
        text: reply,
        thought: unlike(last.thought, reply),
        usage: typeof d.total_tokens === 'number' ? (d as unknown as UsageFields) : null,
        warnings: warningsOf(d.warnings),
      });
    }
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

export function chatBody(message: string, files: SentFile[], thread: string | null, overrides: Overrides): Record<string, unknown> {
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

/** What the stored run says of its turn, where its events did not. */
export function foldTrace(chat: Talk, { trace, spans, steps }: TraceAnswer, at: number): Partial<Talk> {
  const last = chat.turns.at(-1);
  if (!last || last.role !== 'assistant') return {};
  const waits = trace.status.startsWith('awaiting');
  const state = waits
    ? 'waiting'
    : trace.status === 'completed'
      ? 'done'
      : trace.status === 'cancelled'
        ? 'stopped'
        : trace.status === 'failed'
          ? 'failed'
          : 'streaming';
  const used = spans.some((span) => span.type === 'llm');
  const turn: Turn = {
    ...last,
    state,
    trace: trace.id,
    text: trace.reply ?? last.text,
    end: waits || state === 'streaming' ? null : trace.finished_at ? Date.parse(trace.finished_at) : at,
    usage: state === 'done' && used ? trace : last.usage,
    warnings: warningsOf(steps.filter((step) => !step.superseded).flatMap((step) => step.warnings ?? [])),
    error: state === 'failed' && trace.error ? { code: trace.error.code, message: trace.error.message, calls: trace.error.calls } : null,
  };
  const pause = trace.pauses?.[0];
  return { turns: [...chat.turns.slice(0, -1), turn], pause: waits && pause ? { ...pause, run: trace.id } : null };
}

/** The session with the turn of a run that is not stored in it: what was asked, and the answer as far as it is. */
export function withRun(chat: Talk, answer: TraceAnswer, at: number): Talk {
  const { trace } = answer;
  const shown = chat.turns.findIndex((x) => x.trace === trace.id && x.role === 'assistant' && (x.state !== 'stored' || !x.text));
  const turns = chat.turns.filter((_, n) => n !== shown);
  const asked = chat.turns[shown - 1]?.role === 'user' || turns.some((x) => x.role === 'user' && x.trace === trace.id);
  const start = Date.parse(trace.started_at ?? trace.created_at);
  const said = newTurn('user', trace.input?.message ?? trace.input_preview, {
    files: trace.input?.attachments ?? [],
    trace: trace.id,
    start,
  });
  const open = newTurn('assistant', '', { trace: trace.id, start, state: 'streaming' });
  const whole = { ...chat, turns: [...turns, ...(asked ? [] : [said]), open] };
  return { ...whole, ...foldTrace(whole, answer, at) };
}

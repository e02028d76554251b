/** Owns one turn asked of two models: two streams, their figures, and keeping one answer. */
import { Check, Copy } from 'lucide-react';
import { useEffect, useRef, useState, type ReactElement } from 'react';
import { follow, type Agent, type TraceAnswer } from '@wfstudio/client';
import type { SentFile } from '../../parts/files';
import { get, studio } from '../../api/client';
import { refresh, useProviders } from '../../api/queries';
import { ModelSelect } from '../../editor/pickers';
import { t } from '../../i18n';
import { count, duration, money } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { copy } from '../../parts/copy';
import { Markdown } from '../../parts/markdown';
import { Status } from '../../parts/status';
import { textOf, toast, toastError } from '../../parts/toast';
import { Fault } from '../../parts/said';
import { branchOf, discard } from './branch';
import { FileChip } from './file-chip';
import { ToolCard } from './turn';
import { useSession } from './session';
import { chatBody, foldChat, foldTrace, newTurn, type Talk, type Turn } from './turns';

interface Column {
  provider: string;
  model: string;
  turn: Turn;
  thread: string | null;
  ran: string | null;
  pause: string | null;
}
type Pick = { provider: string; model: string };

export function Compare({
  agent,
  asked,
  onKept,
}: {
  agent: Agent;
  asked: { message: string; files: SentFile[] };
  onKept: (thread: string | null) => void;
}): ReactElement {
  const session = useSession();
  const providers = useProviders().data;
  const [picks, setPicks] = useState<[Pick, Pick]>([
    { provider: agent.provider, model: agent.model },
    { provider: '', model: '' },
  ]);
  const [columns, setColumns] = useState<Column[] | null>(null);
  const [busy, setBusy] = useState(false);
  const stop = useRef(new AbortController());
  const made = useRef<Column[]>([]);
  const kept = useRef<number | null>(null);
  useEffect(() => {
    const halt = stop.current;
    return () => {
      halt.abort();
      made.current.forEach((c, n) => {
        if (n !== kept.current && c.thread)
          void discard(c.thread, c.turn.state === 'streaming' || c.turn.state === 'waiting' ? c.turn.trace : null);
      });
    };
  }, []);

  const start = async (): Promise<void> => {
    const { thread, turns } = session.store.getState();
    setBusy(true);
    const threads: string[] = [];
    const forget = (): void => threads.forEach((made) => void discard(made, null));
    try {
      if (thread) for (const _ of picks) threads.push(await branchOf(thread, undefined, turns.at(-1)?.key));
      made.current = picks.map((p, n): Column => ({
        ...p,
        turn: newTurn('assistant', '', { state: 'streaming' }),
        thread: threads[n] ?? null,
        ran: null,
        pause: null,
      }));
      if (stop.current.signal.aborted) {
        return forget();
      }
      setColumns(made.current);
      made.current.forEach((column, n) => void run(column, n));
    } catch (error) {
      forget();
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  const run = async (column: Column, n: number): Promise<void> => {
    let state: Talk = { turns: [column.turn], pause: null, thread: column.thread };
    const show = (change: Partial<Column>): void => {
      made.current = made.current.map((c, m) => (m === n ? { ...c, ...change } : c));
      setColumns(made.current);
    };
    const body = chatBody(asked.message, asked.files, column.thread, {
      ...session.store.getState().overrides,
      model: { provider: column.provider, model: column.model },
    });
    const fold = (change: Partial<Talk>): void => {
      state = { ...state, ...change };
      show({ turn: state.turns[0] as Turn, thread: state.thread, pause: state.pause?.pause_id ?? null });
    };
    const end = await follow(studio, {
      path: `/agents/${agent.id}/chat/stream`,
      body,
      signal: stop.current.signal,
      onEvent: (e) => fold(foldChat(state, e, Date.now())),
    });
    if (end.kind === 'rested') {
      const trace = state.turns[0]?.trace;
      if (end.answer) fold(foldTrace(state, end.answer, Date.now()));
      const answer = trace ? await get<TraceAnswer>(`/api/runs/${trace}`, { payloads: 'none' }).catch(() => null) : null;
      show({ ran: answer?.spans.find((s) => s.type === 'llm')?.model ?? null });
    } else if (end.problem)
      show({ turn: { ...(state.turns[0] as Turn), state: 'failed', error: { code: '', message: textOf(end.problem) } } });
  };
  const keep = (n: number): void => {
    const column = made.current[n];
    kept.current = n;
    refresh(`/agents/${agent.id}/chat/threads`);
    toast(t('chat.kept', { model: column?.model ?? '' }));
    onKept(column?.thread ?? null);
  };
  return (
    <>
      <div className="um">
        <div className="bub">{asked.message}</div>
        {asked.files.map((f) => (
          <FileChip key={f.storage_key} file={f} />
        ))}
      </div>
      <div className="am">
        <div className="who wrap">
          <span className="mut">{t('chat.comparing')}</span>
          <span className="sp" />
          <span className="mut small">{t('chat.comparing.same')}</span>
        </div>
        {!columns ? (
          <div className="card" style={{ padding: 14, display: 'grid', gap: 12 }}>
            <div className="grid2">
              {picks.map((p, n) => (
                <ModelSelect
                  key={n}
                  label={t('chat.model', { n: n + 1 })}
                  providers={providers}
                  provider={p.provider}
                  model={p.model}
                  onChange={(provider, model) => setPicks(picks.map((x, m) => (m === n ? { provider, model } : x)) as [Pick, Pick])}
                />
              ))}
            </div>
            <p className="mut small">{t('chat.comparing.tools')}</p>
            <div className="row">
              <Button onClick={() => onKept(null)}>{t('cancel')}</Button>
              <Button look="pri" disabled={busy || picks.some((p) => !p.model)} onClick={() => void start()}>
                {t('chat.compare.start')}
              </Button>
            </div>
          </div>
        ) : (
          <div className="cg">
            {columns.map((c, n) => (
              <ColumnView
                key={n}
                column={c}
                label={providers?.data.find((p) => p.id === c.provider)?.label ?? c.provider}
                first={n === 0}
                onKeep={() => keep(n)}
              />
            ))}
          </div>
        )}
      </div>
    </>
  );
}

function ColumnView({ column, label, first, onKeep }: { column: Column; label: string; first: boolean; onKeep: () => void }): ReactElement {
  const { turn } = column;
  const live = turn.state === 'streaming';
  const seconds = turn.firstToken ? ((turn.end ?? Date.now()) - turn.firstToken) / 1000 : 0;
  const tokens = turn.usage?.completion_tokens ?? Math.ceil(turn.text.length / 4);
  return (
    <div className="cmp">
      <div className="row ch">
        <b className="mono trunc">{column.model}</b>
        <span className="mut small">{label}</span>
        <span className="sp" />
        <Status status={live ? 'streaming' : turn.state === 'failed' ? 'failed' : column.pause ? 'awaiting_tool_approval' : 'completed'} />
      </div>
      <div className="cb">
        {turn.tools.map((u) => (
          <ToolCard key={u.callId} use={u} />
        ))}
        {turn.text && <Markdown text={turn.text} cursor={live} />}
        {column.pause && <p className="mut">{t('chat.comparing.paused')}</p>}
        {turn.error && <Fault error={turn.error} />}
        {column.ran && column.ran !== column.model && <div className="note-box wait">{t('chat.othermodel', { model: column.ran })}</div>}
      </div>
      <div className="cf">
        <span>
          <em>{t('chat.firsttoken')}</em>
          {turn.firstToken ? duration(turn.firstToken - turn.start) : '–'}
        </span>
        <span>
          <em>{t('chat.speed')}</em>
          {seconds > 0.2 ? `${count(Math.round(tokens / seconds))} tok/s` : '–'}
        </span>
        <span>
          <em>{t('trace.tokens')}</em>
          {turn.usage ? count(turn.usage.total_tokens) : '–'}
        </span>
        <span>
          <em>{t('trace.cost')}</em>
          {turn.usage ? (turn.usage.unpriced ? t('usage.unpriced') : money(turn.usage.estimated_cost, turn.usage.currency)) : '–'}
        </span>
      </div>
      <div className="row ca">
        <Button small look={first ? 'pri' : ''} icon={Check} disabled={live || turn.state === 'failed'} onClick={onKeep}>
          {t('chat.keep')}
        </Button>
        <Button
          small
          look="ghost"
          icon={Copy}
          label={t('copy')}
          onClick={() => {
            void copy(turn.text);
          }}
        />
      </div>
    </div>
  );
}

/** Owns the page of one trace: figures, waterfall, step panel, graph replay. */
import { Download, Pencil, RotateCcw, Square, Waypoints } from 'lucide-react';
import { lazy, Suspense, useEffect, useMemo, useState, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import { get, post } from '../../api/client';
import { refresh, useTrace } from '../../api/queries';
import { atRest, type End, type TraceAnswer } from '@wfstudio/client';
import { t } from '../../i18n';
import { count, dateTime, duration, money, percent, priceless, shortId } from '../../i18n/figures';
import { Button, LinkButton } from '../../parts/button';
import { saveFile } from '../../parts/file';
import { oneLine } from '../../parts/one-line';
import { Failure, SkeletonFigures, SkeletonRows } from '../../parts/states';
import { Status } from '../../parts/status';
import { Segments } from '../../parts/tabs';
import { toastError } from '../../parts/toast';
import { Fault } from '../../parts/said';
import { Ask } from '../../run/ask';
import { Doubts } from '../../run/doubts';
import { tellRefusal } from '../../run/refusal';
import type { Answer, RetryBody } from '../../run/session';
import { START, startName } from '../../run/rows';
import { traceRows } from '../../run/trace-rows';
import { useAddress } from '../../shell/place';
import { Top } from '../../shell/top';
import '../../styles/trace.css';
import { Begun } from './begun';
import { type TraceSession, useTraceSession, WHOLE } from './live';
import { Overview } from './overview';
import { StepPanel } from './step-panel';
import { Waterfall } from './waterfall';

const Replay = lazy(() => import('./replay'));

export default function TracePage({ id }: { id: string }): ReactElement {
  const trace = useTrace(id, WHOLE);
  const crumbs = [
    { label: t('nav.traces'), to: '/traces' },
    {
      label: (
        <span className="mono" style={{ fontSize: 12.5 }}>
          {shortId(id)}
        </span>
      ),
    },
  ];
  if (trace.isError && !trace.data)
    return (
      <>
        <Top crumbs={crumbs} title={t('nav.traces')} />
        <div className="page">
          <Failure error={trace.error} id={id} onRetry={() => void trace.refetch()} list={{ to: '/traces', label: t('nav.traces') }} />
        </div>
      </>
    );
  if (!trace.data)
    return (
      <>
        <Top crumbs={crumbs} title={t('nav.traces')} />
        <div className="page">
          <SkeletonFigures />
          <SkeletonRows rows={12} height={32} />
        </div>
      </>
    );
  return <Loaded id={id} answer={trace.data} />;
}

const NAMED = 200;

function Loaded({ id, answer }: { id: string; answer: TraceAnswer }): ReactElement {
  const [params, setParams] = useAddress();
  const [, go] = useLocation();
  const { trace } = answer;
  const session = useTraceSession(id, answer);
  const retry = (body?: RetryBody): void => void session.retry(body).then(tellRefusal);
  // The graph names the start, of which no step is kept; a long trace does without.
  const graph = useTrace(trace.entity_type === 'workflow' && answer.steps.length <= NAMED ? id : undefined, {
    payloads: 'none',
    include: 'graph',
  }).data?.trace.graph;
  const made = useMemo(() => traceRows(answer, startName(graph)), [answer, graph]);
  const [zoom, setZoom] = useState<[number, number] | null>(null);
  const chosen = params.get('step');
  const view = params.get('view') === 'graph' && trace.entity_type === 'workflow' ? 'graph' : 'timeline';
  const row =
    (chosen ? made.byId.get(chosen) : undefined) ??
    (chosen
      ? undefined
      : (made.rows.find((r) => r.kind === 'step' && r.type !== 'fork' && (r.state === 'fail' || r.state === 'wait')) ??
        made.rows.find((r) => r.tokens)));
  const workflow = trace.workflow_id;
  const editor = workflow ? `/workflows/${workflow}/edit?trace=${trace.id}` : null;
  const title = oneLine(trace.input_preview) || t('traces.noinput');
  const exportJson = async (): Promise<void> => {
    try {
      saveFile(
        `trace-${shortId(id)}.json`,
        JSON.stringify(await get<TraceAnswer>(`/api/runs/${id}`, { include: 'graph,messages' }), null, 2),
      );
    } catch (error) {
      toastError(error);
    }
  };
  const crumbs = [
    ...(workflow
      ? [
          { label: t('nav.workflows'), to: '/workflows' },
          { label: trace.workflow_name ?? trace.entity_name ?? '–', to: `/workflows/${workflow}/edit` },
          { label: t('nav.traces'), to: `/workflows/${workflow}/traces` },
        ]
      : [
          { label: t('nav.agents'), to: '/agents' },
          { label: trace.entity_name ?? '–', to: `/agents/${trace.entity_id}/playground` },
          { label: t('nav.traces'), to: `/traces?agent=${trace.entity_id}` },
        ]),
    {
      label: (
        <span className="mono" style={{ fontSize: 12.5 }}>
          {shortId(trace.id)}
        </span>
      ),
    },
  ];
  return (
    <>
      <Top
        crumbs={crumbs}
        title={title}
        live={trace.status === 'running'}
        middle={
          trace.entity_type === 'workflow' && (
            <Segments
              label={t('trace.view')}
              value={view}
              onChange={(v) => setParams({ view: v === 'graph' ? 'graph' : null })}
              options={[
                { id: 'timeline', label: t('tab.timeline') },
                { id: 'graph', label: t('trace.graph') },
              ]}
            />
          )
        }
      >
        <span className="hide-s">
          <Button look="ghost" icon={Download} onClick={() => void exportJson()}>
            {t('export.json')}
          </Button>
        </span>
        {editor && (
          <LinkButton to={editor} icon={Waypoints}>
            {t('trace.editor')}
          </LinkButton>
        )}
        {!atRest(trace.status) ? (
          <Button
            icon={Square}
            onClick={() =>
              void post(`/workflows/traces/${id}/cancel`)
                .then(() => refresh('/api/runs'))
                .catch(toastError)
            }
          >
            {t('run.stop')}
          </Button>
        ) : trace.status === 'failed' ? (
          <Button look="pri" icon={RotateCcw} reason={trace.error?.code === 'in_doubt' && t('doubt.first')} onClick={() => retry()}>
            {t('trace.retry')}
          </Button>
        ) : workflow ? (
          <Button look="pri" icon={RotateCcw} onClick={() => go(`/workflows/${workflow}/edit?again=${trace.id}`)}>
            {t('trace.again')}
          </Button>
        ) : (
          <LinkButton look="pri" icon={Pencil} to={`/agents/${trace.entity_id}/playground?thread=${trace.thread_id ?? ''}`}>
            {t('trace.playground')}
          </LinkButton>
        )}
      </Top>
      <div className="page fixed tp">
        <Head answer={answer} made={made} zoom={zoom} onZoom={setZoom} title={title} />
        <section className="split" aria-label={t('tab.timeline')}>
          <div className="wf">
            {view === 'graph' ? (
              <Suspense fallback={<SkeletonRows rows={8} />}>
                <Replay id={id} onChoose={(step) => setParams({ step })} />
              </Suspense>
            ) : (
              <Waterfall
                made={made}
                chosen={row?.id ?? null}
                zoom={zoom}
                onZoom={setZoom}
                onChoose={(step) => setParams({ step })}
                live={trace.finished_at === null}
              />
            )}
          </div>
          <aside className="dt" aria-label={t('trace.step')}>
            <Waits answer={answer} session={session} />
            {row?.id === START ? (
              <Begun name={row.label} input={trace.input} preview={trace.input_preview} />
            ) : row ? (
              <StepPanel
                key={row.id}
                answer={answer}
                row={row}
                tab={params.get('tab')}
                onTab={(tab) => setParams({ tab })}
                onRetry={retry}
              />
            ) : (
              <p className="mut" style={{ padding: 16 }}>
                {t('trace.pick')}
              </p>
            )}
          </aside>
        </section>
      </div>
    </>
  );
}

/** The input that a run stopped before a node goes on with. */
function kept({ trace }: TraceAnswer): string {
  const input = trace.checkpoint?.state.input;
  return (typeof input === 'string' && input.trim() ? input : trace.input?.message.trim()) || '…';
}

/** What the run waits for from a person. */
function Waits({ answer, session }: { answer: TraceAnswer; session: TraceSession }): ReactElement | null {
  const [busy, setBusy] = useState<string[]>([]);
  const { trace } = answer;
  const pauses = trace.status.startsWith('awaiting') || busy.length > 0 ? (trace.pauses ?? []) : [];
  const calls = trace.status === 'failed' ? trace.error?.calls : undefined;
  if (pauses.length === 0 && !calls) return null;
  const send = (name: string, asked: Promise<End>): void => {
    setBusy((all) => [...all, name]);
    void asked.then(tellRefusal).finally(() => setBusy((all) => all.filter((x) => x !== name)));
  };
  return (
    <div className="pauses">
      {pauses.map((p) => {
        const pause = { ...p, run: trace.id };
        const onAnswer = (a: Answer): void => send(p.pause_id, session.resume(pause, a));
        return <Ask key={p.pause_id} pause={pause} busy={busy.includes(p.pause_id)} keep={kept(answer)} onAnswer={onAnswer} />;
      })}
      {calls && (
        <Doubts calls={calls} busy={busy.includes('doubts')} onSettle={(in_doubt) => send('doubts', session.retry({ in_doubt }))} />
      )}
    </div>
  );
}

/** Where nobody takes queued runs, they wait for ever. */
const TAKEN = 30_000;

export function Queued({ since }: { since: number }): ReactElement {
  // Nothing is told of it meanwhile, but for the time.
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const time = Math.max(0, now - since);
  return (
    <div className={`note-box${time > TAKEN ? ' wait' : ''}`} style={{ marginTop: 10 }}>
      {t('trace.queued', { time: duration(time) })} <span role="status">{time > TAKEN && t('trace.queued.long')}</span>
    </div>
  );
}

function Head({
  answer,
  made,
  zoom,
  onZoom,
  title,
}: {
  answer: TraceAnswer;
  made: ReturnType<typeof traceRows>;
  zoom: [number, number] | null;
  onZoom: (z: [number, number] | null) => void;
  title: string;
}): ReactElement {
  const { trace, steps, spans } = answer;
  const models = new Set([...spans.map((s) => s.model), ...steps.map((s) => s.model)].filter(Boolean));
  const reused = steps.filter((s) => s.checkpoint_hit).length;
  const old = trace.total_tokens === undefined;
  const paused = trace.status.startsWith('awaiting');
  const waited = paused ? Math.max(0, (trace.duration_ms ?? 0) - (trace.working_ms ?? 0)) : trace.waiting_ms;
  return (
    <section className="hd">
      <div className="row wrap" style={{ gap: 12 }}>
        <h2 className="h1 trunc" style={{ maxWidth: '100%' }}>
          {title}
        </h2>
        <Status status={trace.status} />
        <span className="mut">
          {trace.workflow_revision
            ? `${t('version', { n: trace.workflow_revision })} · `
            : trace.entity_type === 'workflow'
              ? `${t('history.draft')} · `
              : ''}
          {trace.thread_id && (
            <>
              {t('trace.thread')} <span className="mono">{shortId(trace.thread_id)}</span> ·{' '}
            </>
          )}
          {dateTime(trace.started_at ?? trace.created_at)}
        </span>
      </div>
      {trace.error && (
        <div style={{ marginTop: 10 }}>
          <Fault error={trace.error} />
        </div>
      )}
      {trace.status === 'queued' && <Queued since={Date.parse(trace.created_at)} />}
      <div className="kp">
        <div>
          <span className="eyebrow">{t('trace.duration')}</span>
          <b>
            {duration(
              !paused && trace.working_ms != null && trace.waiting_ms != null ? trace.working_ms + trace.waiting_ms : trace.duration_ms,
            )}
          </b>
          <em>{waited ? t('trace.waited', { time: duration(waited) }) : t('trace.nowait')}</em>
        </div>
        <div>
          <span className="eyebrow">{t('trace.tokens')}</span>
          <b>{old ? '–' : count(trace.total_tokens)}</b>
          <em>
            {old ? '' : t('trace.split', { a: count(trace.prompt_tokens), b: count(trace.completion_tokens) })}
            {!old &&
              trace.cached_tokens > 0 &&
              ` · ${t('usage.share', { n: percent(trace.cached_tokens / (trace.prompt_tokens || 1), 0) })}`}
          </em>
        </div>
        <div>
          <span className="eyebrow">{t('usage.cost')}</span>
          <b>{old ? '–' : priceless(trace) ? '–' : money(trace.estimated_cost, trace.currency)}</b>
          <em>
            {trace.unpriced ? t(priceless(trace) ? 'usage.unpriced' : 'trace.partlyunpriced') : t('trace.models', { n: models.size })}
          </em>
        </div>
        <div>
          <span className="eyebrow">{t('trace.steps')}</span>
          <b>{count(steps.filter((s) => !s.superseded).length)}</b>
          <em>{reused ? t('trace.reused', { n: reused }) : t('trace.spans', { n: spans.length })}</em>
        </div>
        <div className="ov hide-s">
          <span className="eyebrow">{t('trace.overview')}</span>
          <Overview made={made} zoom={zoom} onZoom={onZoom} />
        </div>
      </div>
    </section>
  );
}

/** Owns the usage page: window and filters, figures, cost per day, models, entities, dear runs. */
import { ArrowUp, Calendar, Code as CodeIcon, Download } from 'lucide-react';
import { useEffect, useState, type ReactElement } from 'react';
import { rows, useList, useProviders } from '../../api/queries';
import { apiUrl } from '../../api/root';
import { withQuery, type Agent, type WorkflowListed } from '@wfstudio/client';
import { daysBetween, lastDays, useToday } from '../../api/window';
import { t } from '../../i18n';
import { ago, compact, count, day, divideMoney, duration, micros, money, percent, priceless, symbol } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { Dialog } from '../../parts/dialog';
import { saveFile } from '../../parts/file';
import { Icon } from '../../parts/icons';
import { DateRange } from '../../parts/range';
import { Empty, Failure, SkeletonFigures, SkeletonRows } from '../../parts/states';
import { Segments } from '../../parts/tabs';
import { copy } from '../../parts/copy';
import { useAddress } from '../../shell/place';
import { Top } from '../../shell/top';
import '../../styles/usage.css';
import { Chart, ChartTable, COLOURS, SHADES } from './chart';
import { before, csv, delta, quantile, useDaily, useRunsOf, useUsage, type By, type Measure, type Scope } from './data';
import { DearRuns, Entities, Models } from './tables';

/** The year is told where it is not this one. */
const dated = (text: string): Intl.DateTimeFormatOptions => ({
  day: 'numeric',
  month: 'short',
  year: text.startsWith(String(new Date().getFullYear())) ? undefined : 'numeric',
});
const WINDOWS = ['1', '7', '30', '90'] as const;
const isDay = (text: string): boolean => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));

export default function Usage(): ReactElement {
  const today = useToday();
  if (today) return <Used today={today} />;
  return (
    <>
      <Top crumbs={[{ label: t('nav.usage') }]} title={t('nav.usage')} />
      <div className="page">
        <SkeletonFigures />
      </div>
    </>
  );
}

function Used({ today }: { today: string }): ReactElement {
  const [params, setParams] = useAddress();
  const [from, to] = [params.get('from') ?? '', params.get('to') ?? ''];
  const own = isDay(from) && isDay(to);
  const days = WINDOWS.find((d) => d === params.get('days')) ?? (own ? '' : '30');
  const range = own ? { from, to } : lastDays(Number(days), today);
  const [type, id] = (params.get('entity') ?? '').split(':');
  const scope: Scope = {
    ...range,
    ...(type ? { entity_type: type, entity_id: id } : {}),
    ...(params.get('model') ? { model: params.get('model') as string } : {}),
  };
  const by = (params.get('by') ?? 'model') as By;
  const table = params.get('view') === 'table';
  const totals = useUsage(scope);
  // Models without a price cost nothing: then the tokens say more.
  const measure = (params.get('show') ??
    (totals.data && micros(totals.data.totals.estimated_cost) === 0n && totals.data.totals.total_tokens > 0
      ? 'tokens'
      : 'cost')) as Measure;
  const past = useUsage(before(scope));
  const models = useUsage(scope, 'model');
  const entities = useUsage(scope, 'entity');
  const runs = useRunsOf(scope);
  const daily = useDaily(scope, (by === 'model' ? models : entities).data?.breakdown ?? [], by, measure, t('usage.rest'));
  const [asking, setAsking] = useState(false);
  const currency = totals.data?.currency ?? 'USD';
  const filtered = !!(type || scope.model);
  const top = (
    <Top crumbs={[{ label: t('nav.usage') }]} title={t('nav.usage')}>
      <Button
        look="ghost"
        icon={Download}
        disabled={!totals.data || daily.loading}
        onClick={() => saveFile(`usage-${scope.from}-${scope.to}.csv`, csv(daily, measure), 'text/csv')}
      >
        {t('usage.csv')}
      </Button>
      <Button look="ghost" icon={CodeIcon} onClick={() => setAsking(true)}>
        {t('usage.api')}
      </Button>
    </Top>
  );
  return (
    <>
      {top}
      <div className="page">
        <div className="us">
          <Filters
            scope={scope}
            days={days}
            set={setParams}
            entity={params.get('entity') ?? ''}
            currency={currency}
            updated={totals.dataUpdatedAt}
          />
          {totals.isError && !totals.data ? (
            <Failure error={totals.error} onRetry={() => void totals.refetch()} />
          ) : !totals.data ? (
            <>
              <div className="card">
                <SkeletonFigures />
              </div>
              <div className="card">
                <SkeletonRows rows={8} />
              </div>
            </>
          ) : totals.data.totals.run_count === 0 && !runs.data?.length ? (
            <Empty
              icon={Calendar}
              title={t('usage.empty')}
              text={t('usage.empty.text', { from: day(scope.from, dated(scope.from)), to: day(scope.to, dated(scope.to)) }).replace(
                '..',
                '.',
              )}
            >
              {filtered ? (
                <Button onClick={() => setParams({ entity: null, model: null })}>{t('clear.filters')}</Button>
              ) : (
                days !== '90' && (
                  <Button onClick={() => setParams({ days: '90', from: null, to: null })}>{t('usage.show', { n: 90 })}</Button>
                )
              )}
            </Empty>
          ) : (
            <>
              <Figures
                totals={totals.data.totals}
                past={past.data?.totals}
                currency={currency}
                runs={runs.data ?? []}
                span={daysBetween(scope.from, scope.to).length}
              />
              <div className="g2">
                <section className="card" aria-label={t(`usage.perday.${measure}`)}>
                  <div className="row between hd2 wrap">
                    <h2>{t(`usage.perday.${measure}`)}</h2>
                    <div className="row wrap">
                      <Segments
                        small
                        label={t('usage.measure')}
                        value={measure}
                        onChange={(v) => setParams({ show: v })}
                        options={[
                          { id: 'cost', label: t('trace.cost') },
                          { id: 'tokens', label: t('trace.tokens') },
                          { id: 'runs', label: t('agents.runs') },
                        ]}
                      />
                      <Segments
                        small
                        label={t('usage.by')}
                        value={by}
                        onChange={(v) => setParams({ by: v })}
                        options={[
                          { id: 'model', label: t('usage.bymodel') },
                          { id: 'entity', label: t('usage.byentity') },
                        ]}
                      />
                      <Button small look="ghost" aria-pressed={table} onClick={() => setParams({ view: table ? null : 'table' })}>
                        {t('usage.table')}
                      </Button>
                    </div>
                  </div>
                  {table ? (
                    <ChartTable daily={daily} measure={measure} />
                  ) : (
                    <Chart
                      daily={daily}
                      measure={measure}
                      currency={currency}
                      colours={by === 'model' ? COLOURS : SHADES}
                      named={by === 'entity'}
                    />
                  )}
                </section>
                <Models data={models} currency={currency} total={totals.data.totals.estimated_cost} />
              </div>
              <div className="g3">
                <Entities data={entities} scope={scope} runs={runs.data ?? []} />
                <DearRuns runs={runs.data ?? []} />
              </div>
            </>
          )}
        </div>
      </div>
      <ApiDialog open={asking} onClose={() => setAsking(false)} scope={scope} />
    </>
  );
}

function Filters({
  scope,
  days,
  set,
  entity,
  currency,
  updated,
}: {
  scope: Scope;
  days: string;
  set: (change: Record<string, string | null>) => void;
  entity: string;
  currency: string;
  updated: number;
}): ReactElement {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  const workflows = rows(useList<WorkflowListed>('/api/workflows', { limit: 100 }));
  const agents = rows(useList<Agent>('/api/agents', { limit: 100 }));
  const providers = useProviders().data?.data ?? [];
  return (
    <div className="row wrap" style={{ gap: 9 }}>
      <Segments
        label={t('traces.time')}
        value={days}
        onChange={(v) => set({ days: v, from: null, to: null })}
        options={WINDOWS.map((d) => ({ id: d as string, label: d === '1' ? t('traces.days', { n: 1 }) : t('days', { n: Number(d) }) }))}
      />
      <DateRange from={scope.from} to={scope.to} onChange={(range) => set({ ...range, days: null })} />
      <select className="in auto" aria-label={t('traces.of')} value={entity} onChange={(e) => set({ entity: e.target.value || null })}>
        <option value="">{t('usage.allentities')}</option>
        <optgroup label={t('nav.workflows')}>
          {workflows.map((w) => (
            <option key={w.id} value={`workflow:${w.id}`}>
              {w.name}
            </option>
          ))}
        </optgroup>
        <optgroup label={t('nav.agents')}>
          {agents.map((a) => (
            <option key={a.id} value={`agent:${a.id}`}>
              {a.name}
            </option>
          ))}
        </optgroup>
      </select>
      <select
        className="in auto"
        aria-label={t('key.model')}
        value={scope.model ?? ''}
        onChange={(e) => set({ model: e.target.value || null })}
      >
        <option value="">{t('usage.allmodels')}</option>
        {providers.map((p) => (
          <optgroup key={p.id} label={p.label}>
            {p.models.map((m) => (
              <option key={m.id} value={m.id}>
                {m.id}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      <span className="sp" />
      <span className="mut small hide-m">
        {t('usage.note', { currency })}
        {updated > 0 && ` · ${t('usage.updated', { ago: ago(new Date(updated).toISOString()) })}`}
      </span>
    </div>
  );
}

function Figures({
  totals,
  past,
  currency,
  runs,
  span,
}: {
  totals: {
    estimated_cost: string;
    total_tokens: number;
    prompt_tokens: number;
    cached_tokens: number;
    completion_tokens: number;
    run_count: number;
    unpriced: boolean;
  };
  past?: { estimated_cost: string; run_count: number };
  currency: string;
  runs: { status: string; working_ms: number | null; duration_ms: number | null }[];
  span: number;
}): ReactElement {
  const each = divideMoney(totals.estimated_cost, totals.run_count);
  const change = past ? delta(totals.estimated_cost, past.estimated_cost) : null;
  const eachChange = past && past.run_count ? delta(each, divideMoney(past.estimated_cost, past.run_count)) : null;
  const of = (test: (s: string) => boolean): number => runs.filter((r) => test(r.status)).length;
  const times = runs.flatMap((r) => r.working_ms ?? r.duration_ms ?? []);
  const cut = runs.length >= 500;
  const none = priceless(totals);
  const digits = totals.estimated_cost.startsWith('0.') ? 6 : 2;
  return (
    <div className="kpi">
      <div>
        <span className="eyebrow">{t('usage.cost')}</span>
        <b>{none ? '–' : money(totals.estimated_cost, currency, digits)}</b>
        {totals.unpriced ? <em>{t(none ? 'usage.unpriced' : 'trace.partlyunpriced')}</em> : <Change value={change} span={span} />}
      </div>
      <div>
        <span className="eyebrow">{t('trace.tokens')}</span>
        <b>{compact(totals.total_tokens)}</b>
        <em>
          {t('trace.split', { a: compact(totals.prompt_tokens), b: compact(totals.completion_tokens) })}
          {totals.cached_tokens > 0 && ` · ${t('usage.share', { n: percent(totals.cached_tokens / (totals.prompt_tokens || 1), 0) })}`}
        </em>
      </div>
      <div>
        <span className="eyebrow">{t('agents.runs')}</span>
        <b>{count(totals.run_count)}</b>
        <em>
          {[
            t('usage.completed', { n: of((s) => s === 'completed') }),
            t('usage.failed', { n: of((s) => s === 'failed') }),
            t('usage.paused', { n: of((s) => s.startsWith('awaiting')) }),
          ].join(' · ')}
          {cut && '+'}
        </em>
      </div>
      <div>
        <span className="eyebrow">{t('usage.perrun')}</span>
        <b>{none ? '–' : money(each, currency, 6)}</b>
        {none ? <em>{t('usage.unpriced')}</em> : <Change value={eachChange} span={span} />}
      </div>
      <div>
        <span className="eyebrow">{t('usage.median')}</span>
        <b>{duration(quantile(times, 0.5))}</b>
        <em>{t('usage.p95', { time: duration(quantile(times, 0.95)) })}</em>
      </div>
    </div>
  );
}

function Change({ value, span }: { value: number | null; span: number }): ReactElement {
  if (value === null) return <em>{t('usage.nobefore')}</em>;
  return (
    <em className={value > 0 ? 'up' : 'dn'}>
      <Icon as={ArrowUp} />
      {value > 0 ? '+' : ''}
      {percent(value)} {t('usage.versus', { n: span })}
    </em>
  );
}

function ApiDialog({ open, onClose, scope }: { open: boolean; onClose: () => void; scope: Scope }): ReactElement {
  const path = withQuery('/usage', { ...scope, group_by: 'model' });
  const own = `GET ${location.origin}${apiUrl(withQuery('/api/usage', { ...scope, group_by: 'model' }))}`;
  return (
    <Dialog open={open} onClose={onClose} title={t('usage.api')}>
      <p className="ink2">{t('usage.api.text')}</p>
      <pre className="code" tabIndex={0}>{`GET {export_prefix}${path}\nAccept: application/json | text/csv`}</pre>
      <p className="mut small">{t('usage.api.own')}</p>
      <pre className="code" tabIndex={0}>
        {own}
      </pre>
      <div className="foot">
        <Button
          onClick={() => {
            void copy(own);
          }}
        >
          {t('copy')}
        </Button>
      </div>
    </Dialog>
  );
}

export { symbol };

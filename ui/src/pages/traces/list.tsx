/** Owns the list of traces: of one workflow, or of everything. */
import { ListTree } from 'lucide-react';
import { useState, type KeyboardEvent, type ReactElement } from 'react';
import { Link, useLocation } from 'wouter';
import { get } from '../../api/client';
import { rows, useItem, useList, useProviders } from '../../api/queries';
import type { RunSummary, TraceAnswer, Workflow } from '@wfstudio/client';
import { plusDays, useToday } from '../../api/window';
import { t, tx } from '../../i18n';
import { ago, compact, dateTime, decimal, duration } from '../../i18n/figures';
import { Button, LinkButton } from '../../parts/button';
import { saveFile } from '../../parts/file';
import { EntityTile } from '../../parts/icons';
import { SearchField } from '../../parts/listing';
import { oneLine } from '../../parts/one-line';
import { meaning } from '../../parts/said';
import { Empty, Failure, FilteredEmpty, SkeletonRows } from '../../parts/states';
import { Status } from '../../parts/status';
import { toastError } from '../../parts/toast';
import { useAddress } from '../../shell/place';
import { Top } from '../../shell/top';
import { STATUSES } from './status-filter';

const WINDOWS: Record<string, number> = { '1': 1, '7': 7, '30': 30 };

function since(days: string | null, today: string | null): string | undefined {
  const n = WINDOWS[days ?? ''];
  return n && today ? plusDays(today, 1 - n) : undefined;
}

const WAITING = 'awaiting_input,awaiting_tool_approval';
const statusText = (status: string): string =>
  status === WAITING
    ? t('traces.waiting')
    : status
        .split(',')
        .map((s) => tx(`status.${s}`, s))
        .join(', ');

export default function Traces({ id }: { id: string }): ReactElement {
  const workflow = useItem<Workflow>('workflows', id || undefined);
  const [params, setParams] = useAddress();
  const [picked, setPicked] = useState<string[]>([]);
  const [, go] = useLocation();
  const status = params.get('status') ?? '';
  const q = params.get('q') ?? '';
  const days = params.get('days');
  const today = useToday();
  const minCost = params.get('cost') ?? '';
  const entity = params.get('agent')
    ? { entity_type: 'agent', entity_id: params.get('agent') }
    : id
      ? { entity_type: 'workflow', entity_id: id }
      : {};
  const model = params.get('model') ?? '';
  const version = params.get('version') ?? '';
  const list = useList<RunSummary>(
    '/api/runs',
    { ...entity, status, q, from: since(days, today), model, revision: version, min_cost: minCost },
    { poll: 4000, enabled: !WINDOWS[days ?? ''] || today !== null },
  );
  const data = rows(list);
  const filtered = !!(status || q || days || minCost || model || version);
  const clear = (): void => setParams({ status: null, q: null, days: null, cost: null, model: null, version: null });
  const toggle = (run: string): void => setPicked((before) => (before.includes(run) ? before.filter((x) => x !== run) : [...before, run]));
  const exportAll = async (): Promise<void> => {
    try {
      for (const run of picked)
        saveFile(`trace-${run}.json`, JSON.stringify(await get<TraceAnswer>(`/api/runs/${run}`, { include: 'graph,messages' }), null, 2));
    } catch (error) {
      toastError(error);
    }
  };
  const onKey = (event: KeyboardEvent<HTMLElement>): void => {
    const step = event.key === 'j' || event.key === 'ArrowDown' ? 1 : event.key === 'k' || event.key === 'ArrowUp' ? -1 : 0;
    if (!step || (event.target as HTMLElement).matches('input,select')) return;
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>('a.rowlink')];
    all[Math.max(0, all.indexOf(document.activeElement as HTMLElement) + step)]?.focus();
    event.preventDefault();
  };
  const name = workflow.data?.name ?? '…';
  const crumbs = id
    ? [{ label: t('nav.workflows'), to: '/workflows' }, { label: name, to: `/workflows/${id}/edit` }, { label: t('nav.traces') }]
    : [{ label: t('nav.traces') }];
  return (
    <>
      <Top crumbs={crumbs} title={id ? `${name} · ${t('nav.traces')}` : t('nav.traces')}>
        {picked.length > 0 && <Button onClick={() => void exportAll()}>{t('traces.export', { n: picked.length })}</Button>}
        {picked.length === 2 && <Button onClick={() => go(`/traces/compare?a=${picked[0]}&b=${picked[1]}`)}>{t('traces.compare')}</Button>}
      </Top>
      <div className="page">
        <div className="pad">
          <div className="tools-line">
            <SearchField value={q} onChange={(v) => setParams({ q: v })} placeholder={t('traces.search')} />
            <select className="in auto" aria-label={t('status')} value={status} onChange={(e) => setParams({ status: e.target.value })}>
              <option value="">{t('traces.anystatus')}</option>
              <option value={WAITING}>{t('traces.waiting')}</option>
              {STATUSES.map((s) => (
                <option key={s} value={s}>
                  {tx(`status.${s}`, s)}
                </option>
              ))}
              {status && status !== WAITING && !STATUSES.some((s) => s === status) && <option value={status}>{statusText(status)}</option>}
            </select>
            <select
              className="in auto"
              aria-label={t('traces.time')}
              value={days ?? ''}
              onChange={(e) => setParams({ days: e.target.value })}
            >
              <option value="">{t('traces.anytime')}</option>
              {Object.keys(WINDOWS).map((d) => (
                <option key={d} value={d}>
                  {t('traces.days', { n: Number(d) })}
                </option>
              ))}
            </select>
            <Models value={model} onChange={(v) => setParams({ model: v })} />
            {id && workflow.data && (
              <select
                className="in auto"
                aria-label={t('traces.version')}
                value={version}
                onChange={(e) => setParams({ version: e.target.value })}
              >
                <option value="">{t('traces.anyversion')}</option>
                {Array.from({ length: Math.min(100, workflow.data.revision) }, (_, n) => workflow.data.revision - n).map((n) => (
                  <option key={n} value={n}>
                    {t('version', { n })}
                  </option>
                ))}
              </select>
            )}
            <input
              key={minCost}
              className="in auto"
              style={{ width: 110 }}
              aria-label={t('traces.mincost')}
              placeholder={t('traces.mincost')}
              inputMode="decimal"
              defaultValue={minCost}
              onKeyDown={(e) => {
                if (e.key === 'Enter') e.currentTarget.blur();
              }}
              onBlur={(e) => {
                const next = /^\d+([.,]\d+)?$/.test(e.target.value) ? e.target.value.replace(',', '.') : '';
                if (next !== minCost) setParams({ cost: next || null });
              }}
            />
            {filtered && (
              <Button look="ghost" onClick={clear}>
                {t('clear.filters')}
              </Button>
            )}
          </div>
          {list.isPending ? (
            <div className="card">
              <SkeletonRows rows={8} />
            </div>
          ) : (list.isError && !list.data) || (workflow.isError && id) ? (
            <Failure
              error={workflow.error ?? list.error}
              id={id}
              onRetry={() => void list.refetch()}
              list={{ to: '/traces', label: t('nav.traces') }}
            />
          ) : data.length === 0 ? (
            filtered ? (
              <FilteredEmpty
                onClear={clear}
                text={[
                  status && statusText(status),
                  q && `“${q}”`,
                  days && t('traces.days', { n: Number(days) }),
                  model,
                  version && t('version', { n: Number(version) }),
                  minCost && `${t('traces.mincost')} ${minCost}`,
                ]
                  .filter(Boolean)
                  .join(' · ')}
              />
            ) : (
              <Empty icon={ListTree} title={t('traces.empty')} text={t('traces.empty.text')}>
                {id ? (
                  <LinkButton to={`/workflows/${id}/edit`}>{t('traces.open')}</LinkButton>
                ) : (
                  <LinkButton to="/workflows">{t('traces.workflows')}</LinkButton>
                )}
              </Empty>
            )
          ) : (
            <div className="card tablewrap" onKeyDown={onKey}>
              <table>
                <thead>
                  <tr>
                    <th scope="col" className="hide-s" style={{ width: 30 }}>
                      <span className="sr">{t('traces.pick')}</span>
                    </th>
                    <th scope="col">{t('traces.input')}</th>
                    <th scope="col">{t('status')}</th>
                    {!id && (
                      <th scope="col" className="hide-m">
                        {t('traces.of')}
                      </th>
                    )}
                    <th scope="col" className="num hide-s">
                      {t('trace.duration')}
                    </th>
                    <th scope="col" className="hide-s">
                      {t('trace.started')}
                    </th>
                    <th scope="col" className="num hide-s">
                      {t('trace.tokens')}
                    </th>
                    <th scope="col" className="num hide-s">
                      {t('trace.cost')}
                    </th>
                    <th scope="col" className="hide-l">
                      {t('traces.trigger')}
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {data.map((r) => (
                    <TraceRow
                      key={r.id}
                      run={r}
                      plain={!!id}
                      picked={picked.includes(r.id)}
                      onPick={() => toggle(r.id)}
                      onOpen={() => go(`/traces/${r.id}`)}
                    />
                  ))}
                </tbody>
              </table>
            </div>
          )}
          {list.hasNextPage && (
            <div>
              <Button onClick={() => void list.fetchNextPage()}>{t('load.more')}</Button>
            </div>
          )}
        </div>
      </div>
    </>
  );
}

/** The models that can be asked, and one that is named in the address. */
function Models({ value, onChange }: { value: string; onChange: (model: string) => void }): ReactElement {
  const providers = (useProviders().data?.data ?? []).filter((p) => p.models.length > 0);
  const known = providers.some((p) => p.models.some((m) => m.id === value));
  return (
    <select className="in auto" aria-label={t('key.model')} value={value} onChange={(e) => onChange(e.target.value)}>
      <option value="">{t('usage.allmodels')}</option>
      {value && !known && <option value={value}>{value}</option>}
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
  );
}

function TraceRow({
  run,
  plain,
  picked,
  onPick,
  onOpen,
}: {
  run: RunSummary;
  plain: boolean;
  picked: boolean;
  onPick: () => void;
  onOpen: () => void;
}): ReactElement {
  const label = oneLine(run.input_preview) || t('traces.noinput');
  return (
    <tr
      className="click"
      onClick={(e) => {
        if (!(e.target as HTMLElement).closest('a,button,input')) onOpen();
      }}
    >
      <td className="hide-s">
        <input
          type="checkbox"
          checked={picked}
          onChange={onPick}
          aria-label={t('traces.pick.one', { name: label })}
          style={{ width: 16, height: 16, display: 'block', accentColor: 'var(--accent)' }}
        />
      </td>
      <td className="said">
        <Link to={`/traces/${run.id}`} className="rowlink">
          <span className="trunc">{label}</span>
        </Link>
      </td>
      <td title={run.error ? `${meaning(run.error.code, run.error.code)}: ${run.error.message}` : undefined}>
        <Status status={run.status} bare />
      </td>
      {!plain && (
        <td className="hide-m" style={{ maxWidth: 'min(210px, 13vw)' }}>
          <span className="name2">
            <EntityTile type={run.entity_type} />
            <span className="trunc">{run.entity_name ?? t('traces.deleted')}</span>
          </span>
        </td>
      )}
      <td
        className="num hide-s"
        title={run.waiting_ms ? t('traces.split', { work: duration(run.working_ms), wait: duration(run.waiting_ms) }) : undefined}
      >
        {run.working_ms != null && run.waiting_ms ? (
          <>
            {duration(run.working_ms)} <span className="mut">+ {duration(run.waiting_ms)}</span>
          </>
        ) : (
          duration(run.duration_ms)
        )}
      </td>
      <td className="hide-s mut" title={dateTime(run.started_at ?? run.created_at)}>
        {ago(run.started_at ?? run.created_at)}
      </td>
      <td className="num hide-s">{run.total_tokens ? compact(run.total_tokens) : '–'}</td>
      <td className="num hide-s mono">
        {run.unpriced ? (
          <span className="mut" title={t('usage.unpriced')}>
            {t('usage.unpriced')}
          </span>
        ) : (
          decimal(run.estimated_cost)
        )}
      </td>
      <td className="hide-l mut">{tx(`mode.${run.mode}`, run.mode)}</td>
    </tr>
  );
}

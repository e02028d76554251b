/** Owns the tables of the usage page: models, entities, the dearest runs. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { Link } from 'wouter';
import { get } from '../../api/client';
import { useProviders } from '../../api/queries';
import type { RunSummary, Usage, UsageEntry } from '@wfstudio/client';
import { daysBetween } from '../../api/window';
import { t } from '../../i18n';
import { compact, count, decimal, divideMoney, micros, money, percent, priceless, share, shortId } from '../../i18n/figures';
import { EntityTile } from '../../parts/icons';
import { SkeletonRows } from '../../parts/states';
import { Sparkline } from '../../parts/sparkline';
import { COLOURS } from './chart';
import { dear, type Scope } from './data';

export function Models({ data, currency, total }: { data: UseQueryResult<Usage>; currency: string; total: string }): ReactElement {
  const list = dear(data.data?.breakdown ?? []);
  const labels = new Map(useProviders().data?.data.map((p) => [p.id, p.label]));
  // What costs nothing is weighed by its tokens.
  const free = micros(total) === 0n;
  const weight = (m: UsageEntry): bigint => (free ? BigInt(m.total_tokens) : micros(m.estimated_cost));
  const whole = free ? list.reduce((sum, m) => sum + weight(m), 0n) : micros(total);
  const most = list[0] ? weight(list[0]) : 0n;
  return (
    <section className="card md2" aria-label={t('settings.models')}>
      <div className="hd2">
        <h2>{t('settings.models')}</h2>
      </div>
      {data.isPending ? (
        <SkeletonRows rows={4} height={50} />
      ) : list.length === 0 ? (
        <p className="mut" style={{ padding: '0 14px 14px' }}>
          {t('usage.nocalls')}
        </p>
      ) : (
        list.slice(0, 6).map((m, n) => (
          <div key={`${m.provider}/${m.model}`} className="mr">
            <div className="row">
              <i style={{ background: COLOURS[Math.min(n, 4)] }} />
              <span className="mono trunc">{m.model}</span>
              <span className="mut small">{labels.get(m.provider ?? '') ?? m.provider}</span>
              <span className="sp" />
              <b>{priceless(m) ? t('usage.unpriced') : money(m.estimated_cost, currency)}</b>
            </div>
            <div className="mb">
              <i style={{ width: `${most ? Number((weight(m) * 1000n) / most) / 10 : 0}%`, background: COLOURS[Math.min(n, 4)] }} />
            </div>
            <div className="row between mut small">
              <span>
                {compact(m.total_tokens)} {t('tokens')}
              </span>
              <span>
                {priceless(m) ? (
                  <Link className="link" to="/settings">
                    {t('nav.settings')}
                  </Link>
                ) : (
                  share(weight(m), whole)
                )}
              </span>
            </div>
          </div>
        ))
      )}
    </section>
  );
}

export function Entities({ data, scope, runs }: { data: UseQueryResult<Usage>; scope: Scope; runs: RunSummary[] }): ReactElement {
  const [all, setAll] = useState(false);
  const list = dear(data.data?.breakdown ?? []);
  const shown = all ? list : list.slice(0, 6);
  return (
    <section className="card tablewrap" aria-label={t('usage.entities')}>
      <div className="row between hd2">
        <h2>{t('usage.entities')}</h2>
        {list.length > 6 && (
          <span className="mut small">
            {t('ask.of', { n: shown.length, m: list.length })} ·{' '}
            <button type="button" className="link" onClick={() => setAll(!all)}>
              {all ? t('usage.less') : t('usage.all')}
            </button>
          </span>
        )}
      </div>
      {data.isPending ? (
        <SkeletonRows />
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">{t('name')}</th>
              <th scope="col" className="hide-m">
                {t('usage.trend')}
              </th>
              <th scope="col" className="num">
                {t('agents.runs')}
              </th>
              <th scope="col" className="num hide-s">
                {t('trace.tokens')}
              </th>
              <th scope="col" className="num">
                {t('trace.cost')}
              </th>
              <th scope="col" className="num hide-s">
                {t('usage.perrun')}
              </th>
              <th scope="col" className="num hide-s">
                {t('status.failed')}
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((e) => (
              <EntityRow
                key={`${e.entity_type}${e.entity_id}`}
                entry={e}
                scope={scope}
                runs={runs.filter((r) => r.entity_id === e.entity_id)}
              />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function EntityRow({ entry: e, scope, runs }: { entry: UsageEntry; scope: Scope; runs: RunSummary[] }): ReactElement {
  const mine = { ...scope, entity_type: e.entity_type, entity_id: e.entity_id };
  const trend = useQuery({
    queryKey: ['/api/usage', mine, 'day'],
    queryFn: () => get<Usage>('/api/usage', { ...mine, group_by: 'day' }),
    staleTime: 60_000,
  });
  const byDay = new Map(trend.data?.breakdown.map((x) => [x.date, Number(micros(x.estimated_cost) || BigInt(x.total_tokens))]));
  const failed = runs.length ? runs.filter((r) => r.status === 'failed').length / runs.length : null;
  const to = e.entity_type === 'workflow' ? `/workflows/${e.entity_id}/traces` : `/traces?agent=${e.entity_id}`;
  return (
    <tr>
      <td style={{ maxWidth: 280 }}>
        <span className="name2">
          <Link to={to} className="rowlink" style={{ minWidth: 0 }}>
            <EntityTile type={e.entity_type ?? 'workflow'} />
            <span className="trunc">{e.entity_name ?? t('traces.deleted')}</span>
          </Link>
          <span className="mut small hide-s">{t(e.entity_type === 'agent' ? 'usage.agent' : 'usage.workflow')}</span>
        </span>
      </td>
      <td className="hide-m">
        <Sparkline values={daysBetween(scope.from, scope.to).map((d) => byDay.get(d) ?? 0)} label={t('usage.trend')} />
      </td>
      <td className="num">{count(e.run_count)}</td>
      <td className="num hide-s">{compact(e.total_tokens)}</td>
      <td className="num">
        {priceless(e) ? (
          <span className="mut">{t('usage.unpriced')}</span>
        ) : (
          <b style={{ fontWeight: 600 }}>{decimal(e.estimated_cost, micros(e.estimated_cost) < 1_000_000n ? 6 : 2)}</b>
        )}
      </td>
      <td className="num mono hide-s">{priceless(e) ? '–' : decimal(divideMoney(e.estimated_cost, e.run_count ?? 0))}</td>
      <td className="num hide-s" style={failed !== null && failed > 0.05 ? { color: 'var(--fail)' } : undefined}>
        {failed === null ? '–' : percent(failed)}
      </td>
    </tr>
  );
}

export function DearRuns({ runs }: { runs: RunSummary[] }): ReactElement {
  const list = dear(runs).slice(0, 6);
  return (
    <section className="card tablewrap" aria-label={t('usage.dear')}>
      <div className="hd2">
        <h2>{t('usage.dear')}</h2>
      </div>
      {list.length === 0 ? (
        <p className="mut" style={{ padding: '0 14px 14px' }}>
          {t('traces.empty')}
        </p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">{t('chat.run')}</th>
              <th scope="col" className="num">
                {t('trace.tokens')}
              </th>
              <th scope="col" className="num">
                {t('trace.cost')}
              </th>
            </tr>
          </thead>
          <tbody>
            {list.map((r) => (
              <tr key={r.id}>
                <td style={{ maxWidth: 240 }}>
                  <Link to={`/traces/${r.id}`} className="rowlink" style={{ fontWeight: 400 }}>
                    <span className="mono mut">{shortId(r.id).slice(-4)}</span>
                    <span className="trunc">{r.entity_name ?? t('traces.deleted')}</span>
                  </Link>
                </td>
                <td className="num">{compact(r.total_tokens)}</td>
                <td className="num mono">
                  {priceless(r) ? <span className="mut">{t('usage.unpriced')}</span> : decimal(r.estimated_cost)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

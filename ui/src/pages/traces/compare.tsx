/** Owns two traces side by side: aligned steps, deltas of time and cost. */
import type { ReactElement } from 'react';
import { Link, Redirect } from 'wouter';
import { useTrace } from '../../api/queries';
import type { Step } from '@wfstudio/client';
import { t } from '../../i18n';
import { decimal, duration, fromMicros, micros, money, priceless, shortId } from '../../i18n/figures';
import { NodeTile } from '../../parts/icons';
import { oneLine } from '../../parts/one-line';
import { Failure, SkeletonRows } from '../../parts/states';
import { Status } from '../../parts/status';
import { useAddress } from '../../shell/place';
import { Top } from '../../shell/top';
import { Code } from '../../parts/code';

const key = (s: Step): string => `${s.node_id}|${s.iteration_path ?? s.iteration ?? ''}|${(s.branch_path ?? []).join('/')}`;

export default function CompareTraces(): ReactElement {
  const [params] = useAddress();
  const [first, second] = [params.get('a'), params.get('b')];
  const a = useTrace(first ?? undefined);
  const b = useTrace(second ?? undefined);
  const error = (!a.data && a.error) || (!b.data && b.error);
  const ready = a.data && b.data;
  const top = <Top crumbs={[{ label: t('nav.traces'), to: '/traces' }, { label: t('traces.compare') }]} title={t('traces.compare')} />;
  if (!first || !second) return <Redirect to="/traces" replace />;
  if (error)
    return (
      <>
        {top}
        <div className="page">
          <Failure
            error={error}
            onRetry={() => {
              void a.refetch();
              void b.refetch();
            }}
            list={{ to: '/traces', label: t('nav.traces') }}
          />
        </div>
      </>
    );
  if (!ready)
    return (
      <>
        {top}
        <div className="page">
          <SkeletonRows />
        </div>
      </>
    );
  const left = new Map(a.data.steps.filter((s) => !s.superseded).map((s) => [key(s), s]));
  const right = new Map(b.data.steps.filter((s) => !s.superseded).map((s) => [key(s), s]));
  const keys = [...new Set([...left.keys(), ...right.keys()])];
  const delta = (x?: number | null, y?: number | null): string =>
    x == null || y == null ? '' : x === y ? '=' : `${y > x ? '+' : '−'}${duration(Math.abs(y - x))}`;
  const cost = (x?: string, y?: string): string => {
    if (!x || !y) return '';
    const d = micros(y) - micros(x);
    return d === 0n ? '=' : `${d > 0n ? '+' : ''}${decimal(fromMicros(d))}`;
  };
  return (
    <>
      {top}
      <div className="page">
        <div className="pad">
          <div className="grid2">
            {[a.data, b.data].map((x, n) => (
              <div className="card" key={n} style={{ padding: 14 }}>
                <div className="row">
                  <span className="pill">{'AB'[n]}</span>
                  <Link className="link" to={`/traces/${x.trace.id}`}>
                    {oneLine(x.trace.input_preview) || shortId(x.trace.id)}
                  </Link>
                  <span className="sp" />
                  <Status status={x.trace.status} />
                </div>
                <p className="mut small">
                  {duration(x.trace.working_ms ?? x.trace.duration_ms)} ·{' '}
                  {priceless(x.trace) ? t('usage.unpriced') : money(x.trace.estimated_cost, x.trace.currency)} ·{' '}
                  {t('steps', { n: x.steps.length })}
                </p>
              </div>
            ))}
          </div>
          <div className="card tablewrap" tabIndex={0} role="group" aria-label={t('traces.compare')}>
            <table>
              <thead>
                <tr>
                  <th scope="col">{t('traces.step')}</th>
                  <th scope="col" className="num">
                    {t('trace.duration')} A
                  </th>
                  <th scope="col" className="num">
                    {t('trace.duration')} B
                  </th>
                  <th scope="col" className="num">
                    Δ
                  </th>
                  <th scope="col" className="num">
                    {t('trace.cost')} A
                  </th>
                  <th scope="col" className="num">
                    {t('trace.cost')} B
                  </th>
                  <th scope="col" className="num">
                    Δ
                  </th>
                </tr>
              </thead>
              <tbody>
                {keys.map((k) => {
                  const x = left.get(k);
                  const y = right.get(k);
                  const s = (x ?? y) as Step;
                  return (
                    <tr key={k}>
                      <td>
                        <span className="name2">
                          <NodeTile type={s.node_type} />
                          {s.node_title ?? s.node_id}
                          {s.iteration !== null && <span className="pill">#{s.iteration}</span>}
                        </span>
                      </td>
                      <td className="num">{x ? duration(x.duration_ms) : '–'}</td>
                      <td className="num">{y ? duration(y.duration_ms) : '–'}</td>
                      <td className="num">{delta(x?.duration_ms, y?.duration_ms)}</td>
                      <td className="num mono">{x && !priceless(x) ? decimal(x.estimated_cost) : '–'}</td>
                      <td className="num mono">{y && !priceless(y) ? decimal(y.estimated_cost) : '–'}</td>
                      <td className="num mono">{priceless(x) || priceless(y) ? '' : cost(x?.estimated_cost, y?.estimated_cost)}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
          <div className="grid2">
            {[a.data, b.data].map(({ trace }, n) => (
              <section key={n} style={{ minWidth: 0 }}>
                <h2 style={{ marginBottom: 6 }}>
                  {t('run.output')} {'AB'[n]}
                </h2>
                {(trace.reply ?? trace.output) ? (
                  <Code value={trace.reply ?? trace.output} />
                ) : (
                  <p className="mut">{t('traces.noreply')}</p>
                )}
              </section>
            ))}
          </div>
        </div>
      </div>
    </>
  );
}

/** Owns stacked bars per day, drawn by hand, with a table of the same figures. */
import { useState, type KeyboardEvent, type ReactElement } from 'react';
import { t } from '../../i18n';
import { compact, day, decimal, symbol } from '../../i18n/figures';
import { costText, type Daily, type Measure, type Series } from './data';

export const COLOURS = ['var(--c1)', 'var(--c2)', 'var(--c3)', 'var(--c4)', 'var(--c5)'];
/** What is not a model bears no colour of one. */
export const SHADES = [90, 70, 52, 38, 26].map((share) => `color-mix(in srgb, var(--ink-2) ${share}%, var(--surface))`);
const H = 292;
const W = 880;

/** A round top for the axis, in units of the measure. */
export function niceTop(top: bigint): bigint {
  if (top <= 4n) return 4n;
  const power = 10n ** BigInt(top.toString().length - 1);
  for (const n of [1n, 2n, 4n, 6n, 8n, 10n]) if (n * power >= top) return n * power;
  return 10n * power;
}

export const figure = (value: bigint, measure: Measure, digits = 6): string =>
  measure === 'cost' ? decimal(costText(value), digits) : compact(Number(value));

const valueOf = (s: Series, n: number, measure: Measure): string => (s.unknown?.[n] ? '–' : figure(s.values[n] ?? 0n, measure));
/** The sum of a day; of parts that all have no price there is none. */
const totalOf = (daily: Daily, n: number, measure: Measure): string =>
  daily.series.every((s) => s.unknown?.[n])
    ? '–'
    : figure(
        daily.series.reduce((sum, s) => sum + (s.values[n] ?? 0n), 0n),
        measure,
      );

/** `named`: what the colours stand for is told beneath. */
export function Chart({
  daily,
  measure,
  currency,
  colours,
  named,
}: {
  daily: Daily;
  measure: Measure;
  currency: string;
  colours: string[];
  named: boolean;
}): ReactElement {
  const [at, setAt] = useState<number | null>(null);
  const totals = daily.days.map((_, n) => daily.series.reduce((sum, s) => sum + (s.values[n] ?? 0n), 0n));
  const top = niceTop(totals.reduce((a, b) => (b > a ? b : a), 0n));
  const slot = W / Math.max(1, daily.days.length);
  const y = (value: bigint): number => Number((value * BigInt(H * 100)) / top) / 100;
  const marks = [4n, 3n, 2n, 1n, 0n].map((n) => (top * n) / 4n);
  const every = Math.max(1, Math.ceil(daily.days.length / 7));
  const digits = [0, 2, 3, 4, 5].find((d) => marks.every((m) => m % 10n ** BigInt(6 - d) === 0n)) ?? 6;
  const onKey = (e: KeyboardEvent): void => {
    const step = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
    if (step) {
      e.preventDefault();
      setAt(Math.min(daily.days.length - 1, Math.max(0, (at ?? (step > 0 ? -1 : daily.days.length)) + step)));
    }
    if (e.key === 'Escape') setAt(null);
  };
  return (
    <>
      <div className="plot">
        <div className="yax" aria-hidden="true">
          {marks.map((m, n) => (
            <span key={n}>{measure === 'cost' ? `${symbol(currency)} ${decimal(costText(m), digits)}` : compact(Number(m))}</span>
          ))}
        </div>
        <div
          className="pl"
          tabIndex={0}
          role="img"
          aria-label={`${t(`usage.perday.${measure}`)}. ${at !== null ? `${day(daily.days[at] ?? '')}: ${totalOf(daily, at, measure)}` : t('usage.chart.how')}`}
          onKeyDown={onKey}
          onBlur={() => setAt(null)}
          onMouseLeave={() => setAt(null)}
        >
          <svg viewBox={`0 0 ${W} ${H}`} preserveAspectRatio="none" aria-hidden="true">
            {marks.map((_, n) => (
              <line key={n} x1="0" x2={W} y1={(H * n) / 4} y2={(H * n) / 4} stroke="var(--line)" vectorEffect="non-scaling-stroke" />
            ))}
            {daily.days.map((d, n) => {
              let floor = H;
              return (
                <g key={d} onMouseEnter={() => setAt(n)}>
                  <rect x={n * slot} y={0} width={slot} height={H} fill={at === n ? 'var(--hover)' : 'transparent'} />
                  {daily.series.map((s, k) => {
                    const h = y(s.values[n] ?? 0n);
                    if (h <= 0) return null;
                    floor -= h;
                    return (
                      <rect
                        key={s.id}
                        x={n * slot + slot * 0.12}
                        y={floor + (h > 2 ? 1 : 0)}
                        width={slot * 0.76}
                        height={Math.max(0.6, h - (h > 2 ? 1 : 0))}
                        rx="1.5"
                        fill={colours[k % colours.length]}
                      />
                    );
                  })}
                </g>
              );
            })}
          </svg>
          <div className="xax" aria-hidden="true">
            {daily.days.map((d, n) =>
              n % every === 0 ? (
                <span key={d} style={{ left: `${((n + 0.5) / daily.days.length) * 100}%` }}>
                  {day(d)}
                </span>
              ) : null,
            )}
          </div>
          {at !== null && (
            <div
              className="utip"
              style={
                at > daily.days.length * 0.6
                  ? { right: `${100 - (at / daily.days.length) * 100 + 2}%` }
                  : { left: `${((at + 1) / daily.days.length) * 100 + 2}%` }
              }
              aria-hidden="true"
            >
              <b>{day(daily.days[at] ?? '', { weekday: 'short', day: 'numeric', month: 'short' })}</b>
              {daily.series.map((s, k) => [
                <span key={s.id}>
                  <i style={{ background: colours[k % colours.length] }} />
                  {s.name}
                </span>,
                <em key={`${s.id}v`}>{s.unknown?.[at] ? t('usage.unpriced') : figure(s.values[at] ?? 0n, measure)}</em>,
              ])}
              <span className="tt">{t('usage.total')}</span>
              <em className="tt">{totalOf(daily, at, measure)}</em>
            </div>
          )}
        </div>
      </div>
      {named && (
        <ul className="ukey">
          {daily.series.map((s, k) => (
            <li key={s.id}>
              <i style={{ background: colours[k % colours.length] }} />
              <span className="trunc">{s.name}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

export function ChartTable({ daily, measure }: { daily: Daily; measure: Measure }): ReactElement {
  return (
    <div className="tablewrap daily" style={{ maxHeight: 340, overflow: 'auto' }} tabIndex={0} role="group" aria-label={t('usage.table')}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('usage.day')}</th>
            {daily.series.map((s) => (
              <th scope="col" key={s.id} className="num">
                {s.name}
              </th>
            ))}
            <th scope="col" className="num">
              {t('usage.total')}
            </th>
          </tr>
        </thead>
        <tbody>
          {daily.days.map((d, n) => (
            <tr key={d}>
              <th scope="row" style={{ fontWeight: 500 }}>
                {day(d, { day: 'numeric', month: 'short', year: 'numeric' })}
              </th>
              {daily.series.map((s) => (
                <td key={s.id} className="num mono">
                  {valueOf(s, n, measure)}
                </td>
              ))}
              <td className="num mono">{totalOf(daily, n, measure)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

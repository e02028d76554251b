/** Owns the figures of the usage page: windows, series per day, all money as decimal text. */
import { useQueries, useQuery, type UseQueryResult } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { RunSummary, Usage, UsageEntry } from '@wfstudio/client';
import type { List } from '../../api/pages';
import { daysBetween, plusDays } from '../../api/window';
import { t } from '../../i18n';
import { fromMicros, micros, priceless, shortId } from '../../i18n/figures';

export interface Scope {
  from: string;
  to: string;
  entity_type?: string;
  entity_id?: string;
  model?: string;
}
export type Measure = 'cost' | 'tokens' | 'runs';
export type By = 'model' | 'entity';

const ask = (scope: Scope, group_by?: string): Promise<Usage> => get<Usage>('/api/usage', { ...scope, group_by });
export const useUsage = (scope: Scope, group?: string): UseQueryResult<Usage> =>
  useQuery({
    queryKey: ['/api/usage', scope, group ?? ''],
    queryFn: () => ask(scope, group),
    staleTime: 30_000,
    placeholderData: (before) => before,
  });

export function before(scope: Scope): Scope {
  const days = daysBetween(scope.from, scope.to).length;
  return { ...scope, from: plusDays(scope.from, -days), to: plusDays(scope.from, -1) };
}

export const nameOf = (entry: UsageEntry, by: By): string =>
  by === 'model' ? (entry.model ?? '–') : (entry.entity_name ?? `${t('traces.deleted')} ${shortId(entry.entity_id).slice(-4)}`);
export const idOf = (entry: UsageEntry, by: By): string =>
  by === 'model' ? `${entry.provider ?? ''}/${entry.model ?? ''}` : `${entry.entity_type ?? ''}/${entry.entity_id ?? ''}`;

export interface Series {
  id: string;
  name: string;
  values: bigint[];
  unknown?: boolean[];
}
export interface Daily {
  days: string[];
  series: Series[];
  loading: boolean;
}

const PARTS = 4;
const value = (entry: UsageEntry, measure: Measure): bigint =>
  measure === 'cost' ? micros(entry.estimated_cost) : BigInt(measure === 'tokens' ? entry.total_tokens : (entry.run_count ?? 0));

/** The dearest first; what costs the same by its tokens. */
export const dear = <T extends { estimated_cost: string; total_tokens: number }>(list: T[]): T[] =>
  [...list].sort((a, b) => {
    const more = micros(b.estimated_cost) - micros(a.estimated_cost);
    return more > 0n ? 1 : more < 0n ? -1 : b.total_tokens - a.total_tokens;
  });

/** One request per shown part and one for the whole; the rest is the difference. */
export function useDaily(scope: Scope, entries: UsageEntry[], by: By, measure: Measure, otherName: string): Daily {
  // Models keep the order, and so the colours, of their list.
  const order = dear(entries);
  const parts = (by === 'model' ? order : order.sort((a, b) => Number(value(b, measure) - value(a, measure)))).slice(0, PARTS);
  const scopes = parts.map((e) =>
    by === 'model' ? { ...scope, model: e.model } : { ...scope, entity_type: e.entity_type, entity_id: e.entity_id },
  );
  const results = useQueries({
    queries: [scope, ...scopes].map((s) => ({ queryKey: ['/api/usage', s, 'day'], queryFn: () => ask(s, 'day'), staleTime: 60_000 })),
  });
  const days = daysBetween(scope.from, scope.to);
  const loading = results.some((r) => !r.data);
  const line = (answer: Usage | undefined, entry?: UsageEntry): Pick<Series, 'values' | 'unknown'> => {
    const byDay = new Map(answer?.breakdown.map((e) => [e.date, e]));
    return {
      values: days.map((day) => {
        const e = byDay.get(day);
        return e ? value(e, measure) : 0n;
      }),
      unknown: days.map((day) => measure === 'cost' && (priceless(entry) || priceless(byDay.get(day)))),
    };
  };
  const whole = line(results[0]?.data);
  const series = parts.map((e, n): Series => ({ id: idOf(e, by), name: nameOf(e, by), ...line(results[n + 1]?.data, e) }));
  const rest = whole.values.map((v, n) => {
    const left = v - series.reduce((sum, s) => sum + (s.values[n] ?? 0n), 0n);
    return left > 0n ? left : 0n;
  });
  if (rest.some((v) => v > 0n) && measure !== 'runs') series.push({ id: 'rest', name: otherName, values: rest });
  if (series.length === 0 || measure === 'runs')
    return {
      days,
      series: measure === 'runs' && by === 'entity' ? series : [{ id: 'all', name: otherName, ...whole }],
      loading,
    };
  return { days, series, loading };
}

export function useRunsOf(scope: Scope): UseQueryResult<RunSummary[]> {
  return useQuery({
    queryKey: ['/api/runs', 'usage', scope],
    staleTime: 60_000,
    queryFn: async () => {
      const all: RunSummary[] = [];
      let cursor: string | null = null;
      do {
        const page: List<RunSummary> = await get('/api/runs', {
          from: scope.from,
          to: scope.to,
          entity_type: scope.entity_type,
          entity_id: scope.entity_id,
          limit: 100,
          cursor,
        });
        all.push(...page.data);
        cursor = page.next_cursor;
      } while (cursor && all.length < 500);
      return all;
    },
  });
}

export function quantile(values: number[], q: number): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? null;
}

/** Change against the window before, in tenths of a percent. */
export function delta(now: string, then: string): number | null {
  const a = micros(now);
  const b = micros(then);
  return b === 0n ? null : Number(((a - b) * 1000n) / b) / 1000;
}

export const costText = (value: bigint): string => fromMicros(value);

const quote = (text: string): string =>
  /[",\n]/.test(text) || /^[=+\-@]/.test(text) ? `"${(/^[=+\-@]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"` : text;

export function csv(daily: Daily, measure: Measure): string {
  const head = ['date', ...daily.series.map((s) => s.name)].map(quote).join(',');
  const body = daily.days.map((day, n) =>
    [
      day,
      ...daily.series.map((s) => (s.unknown?.[n] ? '' : measure === 'cost' ? fromMicros(s.values[n] ?? 0n) : String(s.values[n] ?? 0n))),
    ].join(','),
  );
  return [head, ...body].join('\r\n') + '\r\n';
}

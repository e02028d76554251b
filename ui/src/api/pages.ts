/** Owns a list that is read page by page while its beginning changes. */
import type { InfiniteData } from '@tanstack/react-query';

export interface List<T> {
  data: T[];
  next_cursor: string | null;
}

export type Pages<T> = InfiniteData<List<T>, string | null>;
type Dated = { id?: string; created_at?: string; status?: string };

export const unsettled = (row: unknown): boolean => /^(queued|running|pending|processing)$/.test((row as Dated).status ?? '');

/** The first page anew: what it does not hold and is no older than its last entry is gone, the rest stays below it. */
export function withNewest<T>(known: Pages<T>, newest: List<T>): Pages<T> {
  const [first, ...others] = known.pages;
  const last = newest.data.at(-1) as Dated | undefined;
  if (!first || !newest.next_cursor || !last?.created_at) return { pages: [newest], pageParams: known.pageParams.slice(0, 1) };
  const ids = new Set(newest.data.map((row) => (row as Dated).id));
  const below = (rows: T[]): T[] =>
    rows.filter((row) => !ids.has((row as Dated).id) && ((row as Dated).created_at ?? '') <= (last.created_at ?? ''));
  return {
    ...known,
    pages: [
      { data: [...newest.data, ...below(first.data)], next_cursor: first.next_cursor ?? newest.next_cursor },
      ...others.map((page) => ({ ...page, data: below(page.data) })),
    ],
  };
}

/** Owns what is fetched and kept: one hook per kind of thing. */
import { QueryClient, useInfiniteQuery, useQuery, type UseInfiniteQueryResult, type UseQueryResult } from '@tanstack/react-query';
import { unsettled, withNewest, type Pages, type List } from './pages';
import { wholeTrace } from './whole';
import { get, studio } from './client';
import { useConnection } from './connection';
import {
  isProblem,
  type Query,
  type RunCounts,
  type GraphSchema,
  type Providers,
  type RegistryTools,
  type Settings,
  type TraceAnswer,
} from '@wfstudio/client';

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (fails, error) => fails < 2 && isProblem(error) && (error.status === 0 || error.status === 503 || error.status === 502),
      refetchOnWindowFocus: true,
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

// What failed while the line or the session was gone is asked again.
useConnection.subscribe((now, before) => {
  if ((before.offline && !now.offline) || (before.signedOut && !now.signedOut))
    void queries.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' });
});

export type Kind = 'workflows' | 'agents' | 'tools' | 'mcp-servers' | 'knowledge-bases';

export function useList<T>(
  path: string,
  query: Query = {},
  options: { poll?: number; enabled?: boolean } = {},
): UseInfiniteQueryResult<{ pages: List<T>[] }> {
  const queryKey = [path, query];
  const list = useInfiniteQuery({
    queryKey,
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) => get<List<T>>(path, { ...query, cursor: pageParam }, signal),
    getNextPageParam: (last) => last.next_cursor,
    enabled: options.enabled,
    placeholderData: (before) => before,
  });
  // Only what is newest is asked for again and again; the pages below it stay.
  useQuery({
    queryKey: [path, query, 'newest'],
    queryFn: async ({ signal }) => {
      const newest = await get<List<T>>(path, query, signal);
      const known = queries.getQueryData<Pages<T>>(queryKey);
      const made = known && withNewest(known, newest);
      queries.setQueryData(queryKey, made);
      if (made?.pages.some((page) => page.data.some((row) => unsettled(row) && !newest.data.includes(row)))) void list.refetch();
      return newest.next_cursor;
    },
    enabled: !!options.poll && list.isSuccess,
    refetchInterval: options.poll,
    initialData: null as string | null,
  });
  return list;
}

export const rows = <T>(result: { data?: { pages: List<T>[] } }): T[] => result.data?.pages.flatMap((page) => page.data) ?? [];

export function useItem<T>(kind: string, id: string | undefined): UseQueryResult<T> {
  return useQuery({ queryKey: [`/api/${kind}`, id], queryFn: ({ signal }) => get<T>(`/api/${kind}/${id}`, {}, signal), enabled: !!id });
}

export function useTrace(
  id: string | undefined,
  query: Query = {},
  poll?: (answer: TraceAnswer | undefined) => number | false,
): UseQueryResult<TraceAnswer> {
  return useQuery({
    queryKey: ['/api/runs', id, query],
    queryFn: async ({ signal }) => {
      const answer = await get<TraceAnswer>(`/api/runs/${id}`, query, signal);
      return query.payloads === 'none' ? wholeTrace(answer) : answer;
    },
    enabled: !!id,
    structuralSharing: false,
    refetchInterval: poll ? (q) => poll(q.state.data) : false,
    placeholderData: (before) => before,
  });
}

const forever = { staleTime: Number.POSITIVE_INFINITY };
export const useGraphSchema = (): UseQueryResult<GraphSchema> =>
  useQuery({ queryKey: ['/api/graph/schema'], queryFn: () => studio.call('GET /api/graph/schema'), ...forever });
export const useProviders = (): UseQueryResult<Providers> =>
  useQuery({ queryKey: ['/api/providers'], queryFn: () => studio.call('GET /api/providers'), staleTime: 60_000 });
export const useSettings = (): UseQueryResult<Settings> =>
  useQuery({ queryKey: ['/api/settings'], queryFn: () => studio.call('GET /api/settings'), staleTime: 60_000 });
export const useRegistry = (): UseQueryResult<RegistryTools> =>
  useQuery({ queryKey: ['/api/registry/tools'], queryFn: () => studio.call('GET /api/registry/tools'), staleTime: 30_000 });
export const useCounts = (): UseQueryResult<RunCounts> =>
  useQuery({ queryKey: ['/api/runs/counts'], queryFn: () => studio.call('GET /api/runs/counts'), refetchInterval: 15_000 });

/** Marks a kind stale after a write. */
export const refresh = (...paths: string[]): void => {
  for (const path of paths) void queries.invalidateQueries({ queryKey: [path] });
};

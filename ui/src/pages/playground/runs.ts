/** Owns the runs of the session in view. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { RunSummary } from '@wfstudio/client';
import type { List } from '../../api/pages';
import { useChat } from './session';

export function useThreadRuns(agent: string): UseQueryResult<RunSummary[]> {
  const thread = useChat((s) => s.thread);
  const busy = useChat((s) => s.busy);
  const oldest = useChat((s) => s.turns.find((x) => x.trace)?.trace);
  const path = `/agents/${agent}/chat/threads`;
  return useQuery({
    queryKey: [path, thread, 'runs', busy, oldest],
    enabled: !!thread,
    placeholderData: (before) => (thread ? before : undefined),
    queryFn: () => runsBackTo(`${path}/${thread}/runs`, oldest),
  });
}

/** Newest first, as far back as the oldest answer in view. */
async function runsBackTo(path: string, oldest?: string | null): Promise<RunSummary[]> {
  const runs: RunSummary[] = [];
  let cursor: string | null = null;
  do {
    const page: List<RunSummary> = await get(path, { limit: 100, cursor });
    runs.push(...page.data);
    cursor = page.next_cursor;
  } while (cursor && oldest && !runs.some((r) => r.id === oldest));
  return runs;
}

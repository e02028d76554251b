/** Owns the runs of the session in view. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { get } from '../../api/client';
import type { List, RunSummary } from '../../api/types';
import { useChat } from './turns';

export function useThreadRuns(agent: string): UseQueryResult<List<RunSummary>> {
  const thread = useChat((s) => s.thread);
  const busy = useChat((s) => s.busy);
  return useQuery({
    queryKey: [`/agents/${agent}/chat/threads`, thread, 'runs', busy], enabled: !!thread, placeholderData: (before) => (thread ? before : undefined),
    queryFn: () => get<List<RunSummary>>(`/agents/${agent}/chat/threads/${thread}/runs`, { limit: 20 }),
  });
}

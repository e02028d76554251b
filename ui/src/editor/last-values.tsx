/** Owns the values that the fields of a node met when it ran last. */
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { get } from '../api/client';
import { useTrace } from '../api/queries';
import type { GraphNode, RunSummary, Step } from '@wfstudio/client';
import type { List } from '../api/pages';
import { keysOf } from '../graph/order';
import { t } from '../i18n';
import { useRun } from '../run/store';
import { useEditor } from './store';

/** The node's step in the run in view, else in the workflow's newest run; asked for when a node is looked at, never with the graph. */
export function useLastStep(node: string): Step | null {
  const workflow = useEditor((s) => s.workflow?.id);
  const shown = useRun((s) => s.view.traceId);
  const seen = useRun((s) => s.view.latest[node]);
  const state = useRun((s) => s.view.steps[seen ?? '']?.state);
  const newest = useQuery({
    queryKey: ['/api/runs', 'newest', workflow],
    enabled: !shown && !!workflow,
    staleTime: 15_000,
    queryFn: async () =>
      (await get<List<RunSummary>>('/api/runs', { entity_type: 'workflow', entity_id: workflow, limit: 1 })).data[0]?.id ?? null,
  });
  const run = shown ?? newest.data ?? undefined;
  const steps = useTrace(shown ? undefined : run, { payloads: 'none' }).data?.steps;
  const step = shown ? seen : steps?.findLast((s) => s.node_id === node && !s.superseded)?.id;
  const whole = useQuery({
    queryKey: ['/api/runs', run, 'steps', step, state],
    queryFn: () => get<Step>(`/api/runs/${run}/steps/${step}`),
    enabled: !!run && !!step,
  });
  return whole.data?.node_id === node ? whole.data : null;
}

const MOST = 600;

function brief(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length > MOST ? `${text.slice(0, MOST)}…` : text;
}

export function LastValues({ node, field, step }: { node: GraphNode; field: string; step: Step }): ReactElement | null {
  const { reads, writes } = keysOf(node, field);
  const values = [
    ...reads.map((key) => [key, step.state_snapshot?.[key]] as const),
    ...(writes ? [[writes, step.output?.[writes]] as const] : []),
  ].filter(([, value]) => value !== undefined && value !== null);
  if (values.length === 0) return null;
  return (
    <dl className="last">
      {values.map(([key, value]) => (
        <div key={key} title={brief(value)}>
          <dt>
            <span className="mono">{key}</span>, {t('last.run')}:{' '}
          </dt>
          <dd className="mono">{brief(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

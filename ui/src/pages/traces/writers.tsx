/** Owns telling which step wrote each key of the state that a step began with. */
import { useMemo, type ReactElement } from 'react';
import { useTrace } from '../../api/queries';
import type { Step, TraceAnswer } from '@wfstudio/client';
import { t } from '../../i18n';
import { writersOf } from '../../run/writers';

export function Writers({ answer, step }: { answer: TraceAnswer; step: Step }): ReactElement | null {
  const workflow = answer.trace.entity_type === 'workflow';
  const graph = useTrace(workflow && step.state_snapshot ? answer.trace.id : undefined, { payloads: 'none', include: 'graph' }).data?.trace
    .graph;
  const writers = useMemo(() => (graph && step.state_snapshot ? writersOf(answer.steps, graph, step) : []), [answer, graph, step]);
  if (writers.length === 0) return null;
  return (
    <section>
      <h2>{t('trace.writers')}</h2>
      <dl className="dl">
        {writers.map(({ key, by }) => (
          <div key={key} style={{ display: 'contents' }}>
            <dt className="mono">{key}</dt>
            <dd>{by ? (by.node_title ?? by.node_id) : t('trace.writers.start')}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Owns the list of what is wrong with the graph, and going to it. */
import { CircleAlert, CircleCheck, TriangleAlert, WandSparkles } from 'lucide-react';
import { useReactFlow } from '@xyflow/react';
import type { ReactElement } from 'react';
import type { Issue, Providers } from '@wfstudio/client';
import { findNode, titleOf } from '../graph/document';
import { t } from '../i18n';
import { Button } from '../parts/button';
import { Icon } from '../parts/icons';
import { fixFor } from './check';
import { centre } from './fit';
import { panel, usePanels } from './panel';
import { act, select, tell, useEditor } from './store';

export function useGoTo(): (issue: Issue) => void {
  const flow = useReactFlow();
  return (issue) => {
    const { graph } = useEditor.getState();
    const edge = graph.edges.find((e) => e.id === issue.edge_id);
    const id = issue.node_id ?? edge?.source;
    const node = id ? findNode(graph, id) : undefined;
    if (!node) return;
    panel({ side: 'inspector' });
    select(issue.edge_id && !issue.node_id ? [] : [node.id], issue.edge_id ? [issue.edge_id] : []);
    tell({ mode: 'design', focusField: issue.field ? { node: node.id, field: issue.field, at: Date.now() } : null });
    centre(flow, node.id);
  };
}

export function Problems({ providers }: { providers?: Providers }): ReactElement {
  const { issues, graph, readOnly } = useEditor();
  const locked = usePanels((s) => s.locked);
  const goTo = useGoTo();
  if (issues.length === 0)
    return (
      <p className="mut row" style={{ padding: 16 }}>
        <Icon as={CircleCheck} />
        {t('problems.none')}
      </p>
    );
  const sorted = [...issues].sort((a, b) => (a.severity === b.severity ? 0 : a.severity === 'error' ? -1 : 1));
  return (
    <ul className="scroll problems" aria-label={t('tab.problems')}>
      {sorted.map((issue, n) => {
        const node = issue.node_id ? findNode(graph, issue.node_id) : undefined;
        const fix = readOnly || locked ? null : fixFor(issue, graph, providers);
        return (
          <li key={`${issue.code}${issue.node_id}${issue.edge_id}${n}`} className="row">
            <button type="button" className="prob" onClick={() => goTo(issue)}>
              <span className={issue.severity === 'error' ? 'failc' : 'waitc'}>
                <Icon as={issue.severity === 'error' ? CircleAlert : TriangleAlert} />
              </span>
              <span>{issue.message}</span>
              {node && <span className="pill">{titleOf(node)}</span>}
              <span className="mono mut hide-m">{issue.code}</span>
            </button>
            {fix && (
              <Button
                small
                icon={WandSparkles}
                onClick={() => {
                  tell({ mode: 'design' });
                  for (const command of fix.commands) act(command, { group: `fix-${issue.code}-${issue.node_id ?? ''}` });
                }}
              >
                {fix.label}
              </Button>
            )}
          </li>
        );
      })}
    </ul>
  );
}

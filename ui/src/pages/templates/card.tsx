/** Owns one template in the browser. */
import { useQuery, type UseQueryResult } from '@tanstack/react-query';
import { useEffect, useRef, useState, type ReactElement, type RefObject } from 'react';
import { get } from '../../api/client';
import type { Template, TemplateListed } from '@wfstudio/client';
import { tidy } from '../../graph/document';
import { t, tx } from '../../i18n';
import { EntityTile } from '../../parts/icons';
import { Miniature } from '../../parts/miniature';

export const useTemplate = (kind: string, id: string, enabled = true): UseQueryResult<Template> =>
  useQuery({
    queryKey: ['/api/templates', kind, id],
    queryFn: ({ signal }) => get<Template>(`/api/templates/${kind}/${encodeURIComponent(id)}`, {}, signal),
    enabled,
    staleTime: 30_000,
  });

/** True once the element was near the view: a folder may hold hundreds of graphs. */
function useNear(ref: RefObject<HTMLElement | null>): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const observer = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && setNear(true), { rootMargin: '200px' });
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return near;
}

export function TemplateCard({ one, onOpen }: { one: TemplateListed; onOpen: () => void }): ReactElement {
  const box = useRef<HTMLElement>(null);
  const near = useNear(box);
  const isWorkflow = one.type === 'workflow';
  const graph = useTemplate(one.type, one.id, isWorkflow && near).data?.graph;
  return (
    <article ref={box} className="card startcard tplcard">
      {isWorkflow &&
        (graph ? (
          <Miniature graph={tidy(graph)} label={t('start.graph', { name: one.name, n: graph.nodes.length })} />
        ) : (
          <span className="mini" aria-hidden="true" />
        ))}
      <h3>
        {!isWorkflow && <EntityTile type="agent" />}
        <button type="button" onClick={onOpen}>
          {one.name}
        </button>
      </h3>
      <p className="ink2">{one.description}</p>
      <p className="row wrap facts">
        {one.complexity && <span className="pill">{tx(`complexity.${one.complexity}`, one.complexity)}</span>}
        {one.category && <span className="mut small">{tx(`category.${one.category}`, one.category)}</span>}
        {isWorkflow && one.agents.length > 0 && <span className="mut small">{t('templates.agents', { n: one.agents.length })}</span>}
        {one.source === 'host' && <span className="mut small">{t('templates.host')}</span>}
      </p>
    </article>
  );
}

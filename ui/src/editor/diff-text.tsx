/** Owns telling what differs between two graphs. */
import type { ReactElement } from 'react';
import type { Graph } from '@wfstudio/client';
import { graphDiff } from '../graph/diff';
import { findNode, titleOf } from '../graph/document';
import { t } from '../i18n';

export function DiffText({ before, after }: { before: Graph; after: Graph }): ReactElement {
  const d = graphDiff(before, after);
  const name = (graph: Graph, id: string): string => {
    const n = findNode(graph, id);
    return n ? titleOf(n) : id;
  };
  const none = !d.added.length && !d.removed.length && !d.changed.length && !d.edgesAdded && !d.edgesRemoved;
  return (
    <div className="diff">
      {none && (
        <div>
          <span />
          <span className="k">{t('diff.none')}</span>
        </div>
      )}
      {d.added.map((id) => (
        <div className="a" key={id}>
          <span>+</span>
          <span>{name(after, id)}</span>
        </div>
      ))}
      {d.removed.map((id) => (
        <div className="d" key={id}>
          <span>−</span>
          <span>{name(before, id)}</span>
        </div>
      ))}
      {d.changed.map((id) => (
        <div className="c" key={id}>
          <span>~</span>
          <span>{name(after, id)}</span>
        </div>
      ))}
      {(d.edgesAdded > 0 || d.edgesRemoved > 0) && (
        <div>
          <span />
          <span className="k">{t('diff.edges', { a: d.edgesAdded, b: d.edgesRemoved })}</span>
        </div>
      )}
    </div>
  );
}

/** Owns the whole graph as text beside the canvas; text that does not fit leaves the graph alone. */
import { X } from 'lucide-react';
import { useEffect, useRef, useState, type ReactElement } from 'react';
import type { Graph } from '@wfstudio/client';
import { t } from '../i18n';
import { Button } from '../parts/button';
import { textOf } from '../parts/toast';
import type { CodeBox } from './codemirror';
import { panel } from './panel';
import { act, useEditable, useEditor } from './store';

const shown = (graph: Graph): string =>
  JSON.stringify({ version: graph.version, nodes: graph.nodes, edges: graph.edges, annotations: graph.annotations }, null, 2);

export function wrongGraph(value: unknown): string | null {
  const graph = value as Partial<Graph> | null;
  if (!graph || typeof graph !== 'object' || Array.isArray(graph)) return t('json.object');
  if (!Array.isArray(graph.nodes) || !Array.isArray(graph.edges)) return t('json.lists');
  const ids = new Set<string>();
  for (const [n, node] of graph.nodes.entries()) {
    if (!node || typeof node.id !== 'string' || typeof node.type !== 'string') return t('json.node', { n });
    if (ids.has(node.id)) return t('json.twice', { id: node.id });
    if (typeof node.position?.x !== 'number' || typeof node.position?.y !== 'number') return t('json.position', { id: node.id });
    ids.add(node.id);
  }
  for (const edge of graph.edges) if (!ids.has(edge?.source) || !ids.has(edge?.target)) return t('json.ends', { id: edge?.id ?? '?' });
  return null;
}

export default function JsonView(): ReactElement {
  const host = useRef<HTMLDivElement>(null);
  const box = useRef<CodeBox | null>(null);
  const mine = useRef<Graph | null>(null);
  /** Text that is no graph yet: it stays when the box is made anew. */
  const kept = useRef<string | null>(null);
  const [wrong, setWrong] = useState<string | null>(null);
  const graph = useEditor((s) => s.graph);
  const readOnly = !useEditable();
  useEffect(() => {
    let live = true;
    void import('./codemirror')
      .then(({ codeBox }) => {
        if (!live || !host.current) return;
        box.current = codeBox(host.current, kept.current ?? shown(useEditor.getState().graph), {
          label: t('editor.json'),
          readOnly,
          onChange: (text) => {
            kept.current = text;
            try {
              const value = JSON.parse(text) as Graph;
              const reason = wrongGraph(value);
              setWrong(reason);
              if (reason) return;
              kept.current = null;
              act(
                { kind: 'replace', graph: { ...useEditor.getState().graph, ...value, annotations: value.annotations ?? [] } },
                { group: 'json' },
              );
              mine.current = useEditor.getState().graph;
            } catch (e) {
              setWrong((e as Error).message);
            }
          },
        });
      })
      .catch((error: unknown) => live && setWrong(textOf(error)));
    return () => {
      live = false;
      box.current?.destroy();
      box.current = null;
    };
  }, [readOnly]);
  useEffect(() => {
    if (mine.current !== graph) {
      box.current?.set(shown(graph));
      kept.current = null;
      setWrong(null);
    }
  }, [graph]);
  return (
    <aside className="insp json" aria-label={t('editor.json')}>
      <div className="ih">
        <h2>{t('editor.json')}</h2>
        <span className="sp" />
        <Button look="ghost" small icon={X} label={t('close')} onClick={() => panel({ side: 'inspector' })} />
      </div>
      <div ref={host} className="codehost" onKeyDown={(e) => e.stopPropagation()} />
      {wrong && (
        <div className="note-box fail" role="status" style={{ margin: 10 }}>
          {t('json.kept')} {wrong}
        </div>
      )}
    </aside>
  );
}

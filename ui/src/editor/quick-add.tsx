/** Owns quick add: search a type, Enter, done; only what fits the open handle. */
import { useEffect, useRef, type ReactElement } from 'react';
import type { GraphSchema, Providers } from '@wfstudio/client';
import { t } from '../i18n';
import { Combo } from '../parts/combo';
import { NodeTile } from '../parts/icons';
import { addCommand, freeHandle, landing, makeNode, makePlaced, TYPE_GROUPS, typeLabel } from './make';
import { closeQuickAdd, useQuickAdd } from './quick-add-state';
import { act, useEditor } from './store';

export function QuickAddPanel({ schema, providers }: { schema: GraphSchema; providers?: Providers }): ReactElement | null {
  const open = useQuickAdd((s) => s.open);
  const graph = useEditor((s) => s.graph);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (event: PointerEvent): void => {
      if (!box.current?.contains(event.target as Node)) closeQuickAdd();
    };
    window.addEventListener('pointerdown', outside, true);
    return () => window.removeEventListener('pointerdown', outside, true);
  }, [open]);
  if (!open) return null;
  const fits = (type: string): boolean => {
    if (type === 'start') return !graph.nodes.some((n) => n.type === 'start') && !open.from && !open.edge;
    const node = makeNode(graph, type, open.at, providers);
    if (open.edge)
      return !['stop', 'note', 'fork'].includes(type) && freeHandle(schema, { ...graph, nodes: [...graph.nodes, node] }, node) !== null;
    return open.from ? landing(schema, graph, open.from, node) !== null : true;
  };
  const types = TYPE_GROUPS.flatMap((g) => g.types).filter(fits);
  const add = (type: string): void => {
    const node = makePlaced(graph, type, open.at, providers);
    if (open.edge)
      act(
        {
          kind: 'insert',
          node,
          edge: open.edge,
          handle: freeHandle(schema, { ...graph, nodes: [...graph.nodes, node] }, node) ?? 'default',
        },
        { select: [node.id] },
      );
    else act(addCommand(schema, graph, node, open.from ?? null), { select: [node.id] });
    closeQuickAdd();
    document.getElementById('canvas')?.focus();
  };
  const left = Math.min(open.x, window.innerWidth - 250);
  const top = Math.min(open.y, window.innerHeight - 340);
  return (
    <div
      className="quickadd menu"
      style={{ left, top }}
      ref={box}
      onKeyDown={(e) => {
        e.stopPropagation();
        if (e.key === 'Escape') {
          closeQuickAdd();
          document.getElementById('canvas')?.focus();
        }
      }}
    >
      <Combo
        options={types.map((type) => ({ id: type, label: typeLabel(type), icon: <NodeTile type={type} /> }))}
        label={t('editor.add')}
        placeholder={t('editor.add')}
        none={t('editor.add.none')}
        onPick={(o) => add(o.id)}
      />
    </div>
  );
}

/** Owns quick add: search a type, Enter, done; only what fits the open handle. */
import * as Ariakit from '@ariakit/react';
import { Search } from 'lucide-react';
import { useEffect, useRef, useState, type ReactElement } from 'react';
import type { GraphSchema, Providers } from '../api/types';
import { t } from '../i18n';
import { Icon, NodeTile } from '../parts/icons';
import { addCommand, freeHandle, landing, makeNode, TYPE_GROUPS, typeLabel } from './make';
import { closeQuickAdd, useQuickAdd } from './quick-add-state';
import { act, useEditor } from './store';

export function QuickAddPanel({ schema, providers }: { schema: GraphSchema; providers?: Providers }): ReactElement | null {
  const open = useQuickAdd((s) => s.open);
  const graph = useEditor((s) => s.graph);
  const [value, setValue] = useState('');
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    setValue('');
    if (!open) return;
    const outside = (event: PointerEvent): void => { if (!box.current?.contains(event.target as Node)) closeQuickAdd(); };
    window.addEventListener('pointerdown', outside, true);
    return () => window.removeEventListener('pointerdown', outside, true);
  }, [open]);
  if (!open) return null;
  const fits = (type: string): boolean => {
    if (type === 'start') return !graph.nodes.some((n) => n.type === 'start') && !open.from && !open.edge;
    const node = makeNode(graph, type, open.at, providers);
    if (open.edge) return !['stop', 'note', 'fork'].includes(type) && freeHandle(schema, { ...graph, nodes: [...graph.nodes, node] }, node) !== null;
    return open.from ? landing(schema, graph, open.from, node) !== null : true;
  };
  const types = TYPE_GROUPS.flatMap((g) => g.types).filter((type) => fits(type) && typeLabel(type).toLocaleLowerCase().includes(value.trim().toLocaleLowerCase()));
  const add = (type: string): void => {
    const node = makeNode(graph, type, open.at, providers);
    if (open.edge) act({ kind: 'insert', node, edge: open.edge, handle: freeHandle(schema, { ...graph, nodes: [...graph.nodes, node] }, node) ?? 'default' }, { select: [node.id] });
    else act(addCommand(schema, graph, node, open.from ?? null), { select: [node.id] });
    closeQuickAdd();
    document.getElementById('canvas')?.focus();
  };
  const left = Math.min(open.x, window.innerWidth - 250);
  const top = Math.min(open.y, window.innerHeight - 340);
  return (
    <div className="quickadd menu" style={{ left, top }} ref={box} onKeyDown={(e) => { e.stopPropagation(); if (e.key === 'Escape') { closeQuickAdd(); document.getElementById('canvas')?.focus(); } }}>
      <Ariakit.ComboboxProvider open includesBaseElement={false} setValue={setValue} focusLoop>
        <div className="field"><Icon as={Search} /><Ariakit.Combobox autoFocus autoSelect="always" placeholder={t('editor.add')} aria-label={t('editor.add')} /></div>
        <Ariakit.ComboboxList alwaysVisible className="list" aria-label={t('editor.add')}>
          {types.map((type) => (
            <Ariakit.ComboboxItem key={type} className="mi" value={typeLabel(type)} setValueOnClick={false} hideOnClick={false} focusOnHover onClick={() => add(type)}><NodeTile type={type} />{typeLabel(type)}</Ariakit.ComboboxItem>
          ))}
          {types.length === 0 && <div className="mut small" style={{ padding: 8 }}>{t('editor.add.none')}</div>}
        </Ariakit.ComboboxList>
      </Ariakit.ComboboxProvider>
    </div>
  );
}

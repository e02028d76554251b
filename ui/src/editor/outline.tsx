/** Owns the graph as a tree in run order: the same editing without a canvas. */
import { ArrowRight, Ellipsis, Plus, Trash2 } from 'lucide-react';
import { useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import type { GraphNode, GraphSchema, Providers } from '@wfstudio/client';
import { refusal, sourceHandles, type End } from '../graph/connect';
import { freshEdgeId, titleOf } from '../graph/document';
import { outline } from '../graph/order';
import { t, tx } from '../i18n';
import { Button } from '../parts/button';
import { Dialog } from '../parts/dialog';
import { MenuButton } from '../parts/menu';
import { ChoiceField } from '../parts/form';
import { NodeTile } from '../parts/icons';
import { Status } from '../parts/status';
import { useRun } from '../run/store';
import { statusOf } from '../run/view';
import { addCommand, landing, makePlaced, TYPE_GROUPS, typeLabel } from './make';
import { describe } from './keyboard';
import { panel } from './panel';
import { act, select, useEditable, useEditor } from './store';

export default function Outline({ schema, providers }: { schema: GraphSchema; providers?: Providers }): ReactElement {
  const { graph, selection, mode } = useEditor();
  const view = useRun((s) => s.view);
  const rows = useMemo(() => outline(graph), [graph]);
  const [connecting, setConnecting] = useState<GraphNode | null>(null);
  const [adding, setAdding] = useState<GraphNode | null | undefined>(undefined);
  const list = useRef<HTMLUListElement>(null);
  const off = !useEditable();
  const onKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (!step) return;
    const all = [...(list.current?.querySelectorAll<HTMLElement>('.orow') ?? [])];
    all[all.indexOf(document.activeElement as HTMLElement) + step]?.focus();
    event.preventDefault();
  };
  return (
    <div className="outline">
      <ul ref={list} aria-label={t('editor.outline')} onKeyDown={onKey}>
        {rows.map((row, n) => {
          const step = mode === 'run' ? view.steps[view.latest[row.node.id] ?? ''] : undefined;
          return (
            <li key={`${row.node.id}${n}`} style={{ paddingLeft: row.depth * 16 }} className="row">
              <button
                type="button"
                className={`orow${selection.includes(row.node.id) && !row.again ? ' on' : ''}`}
                aria-current={selection.includes(row.node.id) ? 'true' : undefined}
                onClick={() => {
                  select([row.node.id]);
                  if (matchMedia('(max-width: 639px)').matches) panel({ side: 'inspector' });
                }}
              >
                {row.via && <span className="pill">{tx(`handle.${row.via}`, row.via)}</span>}
                {row.again ? (
                  <span className="mut">→ {titleOf(row.node)}</span>
                ) : (
                  <>
                    <NodeTile type={row.node.type} />
                    <span className="trunc">{titleOf(row.node)}</span>
                    <span className="sr">{describe(graph, row.node.id, rows).slice(titleOf(row.node).length)}</span>
                  </>
                )}
              </button>
              {step && !row.again && (
                <span className="row">
                  <Status bare status={statusOf(step.state)} />
                </span>
              )}
              {!row.again && !off && (
                <MenuButton
                  button={<Button look="ghost" small icon={Ellipsis} label={`${t('more')}: ${titleOf(row.node)}`} />}
                  entries={[
                    { label: t('outline.after'), icon: Plus, onSelect: () => setAdding(row.node) },
                    { label: t('outline.connect'), icon: ArrowRight, onSelect: () => setConnecting(row.node) },
                    null,
                    {
                      label: t('delete'),
                      icon: Trash2,
                      danger: true,
                      onSelect: () => act({ kind: 'remove', nodes: [row.node.id], edges: [] }),
                    },
                  ]}
                />
              )}
            </li>
          );
        })}
      </ul>
      {!off && (
        <div>
          <Button small icon={Plus} onClick={() => setAdding(null)}>
            {t('outline.add')}
          </Button>
        </div>
      )}
      {connecting && <ConnectDialog node={connecting} schema={schema} onClose={() => setConnecting(null)} />}
      {adding !== undefined && <AddDialog after={adding} schema={schema} providers={providers} onClose={() => setAdding(undefined)} />}
    </div>
  );
}

function HandleChoice({
  node,
  schema,
  value,
  onChange,
}: {
  node: GraphNode;
  schema: GraphSchema;
  value: string;
  onChange: (v: string) => void;
}): ReactElement {
  const graph = useEditor((s) => s.graph);
  return (
    <ChoiceField
      label={t('outline.handle')}
      value={value}
      onChange={onChange}
      choices={sourceHandles(node, graph, schema).map((h) => ({ value: h, label: tx(`handle.${h}`, h) }))}
    />
  );
}

function ConnectDialog({ node, schema, onClose }: { node: GraphNode; schema: GraphSchema; onClose: () => void }): ReactElement {
  const graph = useEditor((s) => s.graph);
  const [handle, setHandle] = useState(sourceHandles(node, graph, schema)[0] ?? 'default');
  const from: End = { node: node.id, handle };
  const targets = graph.nodes.flatMap((n) => {
    const h = landing(schema, graph, from, n);
    return h && refusal(schema, graph, from, { node: n.id, handle: h }) === null
      ? [{ value: `${n.id}\n${h}`, label: h === 'tools' ? `${titleOf(n)} · tools` : titleOf(n) }]
      : [];
  });
  const [to, setTo] = useState('');
  const connect = (): void => {
    const [target, targetHandle] = to.split('\n');
    if (target && targetHandle)
      act({ kind: 'connect', edge: { id: freshEdgeId(graph), source: node.id, sourceHandle: handle, target, targetHandle } });
    onClose();
  };
  return (
    <Dialog open onClose={onClose} title={t('outline.connect.title', { name: titleOf(node) })}>
      <HandleChoice node={node} schema={schema} value={handle} onChange={setHandle} />
      <ChoiceField label={t('outline.target')} value={to} onChange={setTo} choices={[{ value: '', label: '–' }, ...targets]} />
      <div className="foot">
        <Button onClick={onClose}>{t('cancel')}</Button>
        <Button look="pri" disabled={!to} onClick={connect}>
          {t('outline.connect.do')}
        </Button>
      </div>
    </Dialog>
  );
}

function AddDialog({
  after,
  schema,
  providers,
  onClose,
}: {
  after: GraphNode | null;
  schema: GraphSchema;
  providers?: Providers;
  onClose: () => void;
}): ReactElement {
  const graph = useEditor((s) => s.graph);
  const [handle, setHandle] = useState(after ? (sourceHandles(after, graph, schema)[0] ?? 'default') : 'default');
  const add = (type: string): void => {
    const at = after ? { x: after.position.x + 300, y: after.position.y } : { x: 60, y: 60 };
    const node = makePlaced(graph, type, at, providers);
    const edge = after
      ? graph.edges.find((e) => e.source === after.id && e.sourceHandle === handle && e.targetHandle !== 'tools')
      : undefined;
    const trial = { ...graph, nodes: [...graph.nodes, node] };
    const out = sourceHandles(node, trial, schema)[0];
    if (edge && out && type !== 'note') act({ kind: 'insert', node, edge: edge.id, handle: out }, { select: [node.id] });
    else act(addCommand(schema, graph, node, after ? { node: after.id, handle } : null), { select: [node.id] });
    onClose();
  };
  const has = graph.nodes.some((n) => n.type === 'start');
  return (
    <Dialog open onClose={onClose} title={after ? t('outline.after.title', { name: titleOf(after) }) : t('outline.add')}>
      {after && <HandleChoice node={after} schema={schema} value={handle} onChange={setHandle} />}
      <div className="typegrid">
        {TYPE_GROUPS.flatMap((g) => g.types)
          .filter((x) => x !== 'start' || !has)
          .map((type) => (
            <button key={type} type="button" className="mi" onClick={() => add(type)}>
              <NodeTile type={type} />
              {typeLabel(type)}
            </button>
          ))}
      </div>
    </Dialog>
  );
}

/** Owns the canvas: what React Flow shows and what its gestures mean as commands. */
import { Background, BackgroundVariant, MiniMap, ReactFlow, SelectionMode, useReactFlow, type Connection, type EdgeChange, type FinalConnectionState, type Node, type NodeChange } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { useCallback, useEffect, useMemo, useRef, useState, type DragEvent, type ReactElement } from 'react';
import type { GraphSchema, Providers } from '../api/types';
import { refusal } from '../graph/connect';
import { freshEdgeId, isBinding } from '../graph/document';
import { t } from '../i18n';
import { useRun } from '../run/store';
import { StudioEdge } from './edge';
import { fitAll } from './fit';
import { FlowNodes, flowEdges } from './flow';
import { useCanvasKeys } from './keyboard';
import { Lanes } from './lanes';
import { landing, makeNode } from './make';
import { Card, type CardData } from './node';
import { NoteNode } from './note';
import { DRAG } from './palette';
import { openQuickAdd } from './quick-add-state';
import { act, select, useEditor } from './store';
import { CanvasControls, Legend } from './controls';

const nodeTypes = { card: Card, note: NoteNode };
const edgeTypes = { studio: StudioEdge };
const NONE: Record<string, { x: number; y: number }> = {};

export function Canvas({ schema, providers, minimap, onMinimap }: { schema: GraphSchema; providers?: Providers; minimap: boolean; onMinimap: () => void }): ReactElement {
  const { graph, selection, edgeSelection, mode, readOnly } = useEditor();
  const run = useRun((s) => (mode === 'run' ? s.view : null));
  const editable = mode === 'design' && readOnly === null;
  const flow = useReactFlow();
  const [moved, setMoved] = useState(NONE);
  const [why, setWhy] = useState<string | null>(null);
  const cache = useRef(new FlowNodes());
  const chosen = useMemo(() => new Set(selection), [selection]);
  const nodes = useMemo(() => cache.current.build(graph, schema, run, chosen, moved, editable), [graph, schema, run, chosen, moved, editable]);
  const edges = useMemo(() => flowEdges(graph, run, new Set(edgeSelection), editable), [graph, run, edgeSelection, editable]);
  const sizes = useMemo(() => new Map(nodes.map((n) => [n.id, { width: n.width ?? 200, height: n.height ?? 60 }])), [nodes]);
  const keys = useCanvasKeys(schema, providers, flow, { onMinimap });

  useEffect(() => setMoved(NONE), [graph]);
  useEffect(() => {
    const frame = requestAnimationFrame(() => fitAll(flow, false));
    return () => cancelAnimationFrame(frame);
  }, [flow]);

  const onNodesChange = useCallback((changes: NodeChange<Node<CardData>>[]) => {
    const spots: typeof NONE = {};
    let picked: Set<string> | null = null;
    for (const change of changes) {
      if (change.type === 'position' && change.position && change.dragging !== undefined) spots[change.id] = change.position;
      if (change.type === 'select') {
        picked ??= new Set(useEditor.getState().selection);
        if (change.selected) picked.add(change.id);
        else picked.delete(change.id);
      }
    }
    if (Object.keys(spots).length) setMoved((before) => ({ ...before, ...spots }));
    if (picked) select([...picked], useEditor.getState().edgeSelection);
  }, []);

  const onEdgesChange = useCallback((changes: EdgeChange[]) => {
    const picked = new Set(useEditor.getState().edgeSelection);
    for (const change of changes) if (change.type === 'select') { if (change.selected) picked.add(change.id); else picked.delete(change.id); }
    select(useEditor.getState().selection, [...picked]);
  }, []);

  const onDragStop = useCallback((_e: unknown, node: Node, all: Node[]) => {
    const positions = Object.fromEntries(all.map((n) => [n.id, { x: Math.round(n.position.x), y: Math.round(n.position.y) }]));
    act({ kind: 'move', positions });
    setMoved(NONE);
    if (all.length === 1) splice(schema, node.id, flow.getIntersectingNodes(node).length === 0);
  }, [schema, flow]);

  const valid = useCallback((c: Connection | { source: string; target: string; sourceHandle?: string | null; targetHandle?: string | null }) => {
    const reason = refusal(schema, useEditor.getState().graph, { node: c.source, handle: c.sourceHandle ?? 'default' }, { node: c.target, handle: c.targetHandle ?? 'default' });
    setWhy(reason ? t(`refuse.${reason}`) : null);
    return reason === null;
  }, [schema]);

  const onConnect = useCallback((c: Connection) => {
    act({ kind: 'connect', edge: { id: freshEdgeId(useEditor.getState().graph), source: c.source, target: c.target, sourceHandle: c.sourceHandle ?? 'default', targetHandle: c.targetHandle ?? 'default' } });
  }, []);

  const onConnectEnd = useCallback((event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
    setWhy(null);
    if (state.isValid || !state.fromNode || state.fromHandle?.type !== 'source' || state.toHandle) return;
    const point = 'changedTouches' in event ? event.changedTouches[0] : event;
    if (!point) return;
    const from = { node: state.fromNode.id, handle: state.fromHandle.id ?? 'default' };
    const over = state.toNode && useEditor.getState().graph.nodes.find((n) => n.id === state.toNode?.id);
    const handle = over ? landing(schema, useEditor.getState().graph, from, over) : null;
    if (over && handle) onConnect({ source: from.node, sourceHandle: from.handle, target: over.id, targetHandle: handle });
    else if (!over) openQuickAdd({ x: point.clientX, y: point.clientY, at: flow.screenToFlowPosition({ x: point.clientX, y: point.clientY }), from });
  }, [schema, flow, onConnect]);

  const onDrop = (event: DragEvent): void => {
    const type = event.dataTransfer.getData(DRAG);
    if (!type || !editable) return;
    event.preventDefault();
    const node = makeNode(graph, type, flow.screenToFlowPosition({ x: event.clientX - 40, y: event.clientY - 20 }), providers);
    act({ kind: 'add', node }, { select: [node.id] });
  };

  return (
    <div id="canvas" className="cv" role="application" aria-label={t('editor.canvas')} aria-describedby="canvas-how" tabIndex={0} onKeyDown={keys} onDrop={onDrop} onDragOver={(e) => { if (e.dataTransfer.types.includes(DRAG)) { e.preventDefault(); e.dataTransfer.dropEffect = 'copy'; } }}
      onDoubleClick={(e) => { if (editable && (e.target as HTMLElement).classList.contains('react-flow__pane')) openQuickAdd({ x: e.clientX, y: e.clientY, at: flow.screenToFlowPosition({ x: e.clientX, y: e.clientY }) }); }}>
      <p id="canvas-how" className="sr">{t('editor.canvas.how')}</p>
      <ReactFlow
        nodes={nodes} edges={edges} nodeTypes={nodeTypes} edgeTypes={edgeTypes} onNodesChange={onNodesChange} onEdgesChange={onEdgesChange} onNodeDragStop={onDragStop} onSelectionDragStop={(e, all) => all[0] && onDragStop(e, all[0], all)}
        onConnect={onConnect} onConnectEnd={onConnectEnd} isValidConnection={valid} nodesConnectable={editable} nodesDraggable={editable} elementsSelectable
        onlyRenderVisibleElements nodesFocusable={false} edgesFocusable={false} disableKeyboardA11y deleteKeyCode={null} selectionKeyCode="Shift" multiSelectionKeyCode={['Shift', 'Meta', 'Control']} panActivationKeyCode="Space"
        selectionMode={SelectionMode.Partial} snapToGrid snapGrid={[10, 10]} minZoom={0.08} maxZoom={2} zoomOnDoubleClick={false} proOptions={{ hideAttribution: true }} connectionRadius={28}
        onPaneClick={() => document.getElementById('canvas')?.focus({ preventScroll: true })} onNodeClick={() => document.getElementById('canvas')?.focus({ preventScroll: true })}
      >
        <Background variant={BackgroundVariant.Dots} gap={20} size={1.4} color="var(--grid)" />
        <Lanes schema={schema} moved={moved} heights={sizes} />
        {minimap && <MiniMap pannable zoomable className="mm" nodeBorderRadius={8} nodeColor={(n) => miniColor(n.id)} maskColor="color-mix(in srgb, var(--sunken) 60%, transparent)" ariaLabel={t('editor.minimap')} />}
      </ReactFlow>
      <CanvasControls minimap={minimap} onMinimap={onMinimap} />
      {mode === 'run' && <Legend />}
      {why && <div className="refusal" role="status">{why}</div>}
    </div>
  );
}

function miniColor(id: string): string {
  if (useEditor.getState().mode !== 'run') return 'var(--line-2)';
  const { view } = useRun.getState();
  const state = view.steps[view.latest[id] ?? '']?.state;
  return state === 'waiting' ? 'var(--wait-solid)' : state === 'running' || state === 'streaming' ? 'var(--run)' : state === 'failed' ? 'var(--fail)' : 'var(--line-2)';
}

/** A node without edges that was dropped on an edge is put into it. */
function splice(schema: GraphSchema, id: string, alone: boolean): void {
  const { graph } = useEditor.getState();
  const node = graph.nodes.find((n) => n.id === id);
  if (!node || !alone || graph.edges.some((e) => e.source === id || e.target === id)) return;
  const spot = { x: node.position.x + 80, y: node.position.y + 22 };
  const edge = graph.edges.find((e) => {
    const a = graph.nodes.find((n) => n.id === e.source)?.position;
    const b = graph.nodes.find((n) => n.id === e.target)?.position;
    return a && b && !isBinding(e) && spot.x > a.x + 90 && spot.x < b.x + 20 && spot.y > Math.min(a.y, b.y) - 10 && spot.y < Math.max(a.y, b.y) + 60;
  });
  if (!edge || landing(schema, graph, { node: edge.source, handle: edge.sourceHandle }, node) === null) return;
  act({ kind: 'remove', nodes: [], edges: [edge.id] }, { group: `splice-${id}` });
  act({ kind: 'connect', edge: { ...edge, id: freshEdgeId(graph), target: id, targetHandle: 'default' } }, { group: `splice-${id}` });
  const handle = node.type === 'condition' ? 'true' : node.type === 'loop' ? 'continue' : 'default';
  act({ kind: 'connect', edge: { id: freshEdgeId(useEditor.getState().graph), source: id, sourceHandle: handle, target: edge.target, targetHandle: edge.targetHandle } }, { group: `splice-${id}` });
}

/** Owns what gestures on the canvas mean as commands. */
import {
  useReactFlow,
  useStoreApi,
  type Connection,
  type Edge,
  type EdgeChange,
  type FinalConnectionState,
  type Node,
  type NodeChange,
  type OnConnectStart,
} from '@xyflow/react';
import { useEffect, useMemo, useRef, useState, type MouseEvent as ReactMouse, type PointerEvent } from 'react';
import type { GraphSchema } from '@wfstudio/client';
import { refusal } from '../graph/connect';
import { crowded, FAR } from '../graph/crowd';
import { freshEdgeId, isBinding } from '../graph/document';
import { guidesFor, type Guide } from '../graph/guides';
import { nodeAt, routeAt, within, type Scene } from '../graph/scene';
import { t } from '../i18n';
import { selectDownstream } from './actions';
import type { Moved } from './flow';
import { touchView } from './follow';
import { landing } from './make';
import type { CardData } from './node';
import { openQuickAdd } from './quick-add-state';
import { act, select, useEditor } from './store';

const NONE: Moved = {};
type Point = { x: number; y: number };
const handleOf = (handle?: string | null): string => handle ?? 'default';
const focusCanvas = (): void => document.getElementById('canvas')?.focus({ preventScroll: true });

export function useGestures(schema: GraphSchema, scene: Scene, editable: boolean) {
  const flow = useReactFlow();
  const store = useStoreApi();
  const [moved, setMoved] = useState(NONE);
  const [why, setWhy] = useState<string | null>(null);
  const [guides, setGuides] = useState<Guide[]>([]);
  const [hover, setHover] = useState<string | null>(null);
  const [held, setHeld] = useState<string | null>(null);
  const at = useRef(scene);
  at.current = scene;
  const marquee = useRef<{ x: number; y: number; width: number; height: number } | null>(null);
  useEffect(() => setMoved(NONE), [scene]);
  useEffect(
    () =>
      store.subscribe((s) => {
        if (s.userSelectionRect) marquee.current = s.userSelectionRect;
      }),
    [store],
  );

  const on = useMemo(() => {
    const now = useEditor.getState;
    const shift = (node: Node, all: Node[]): Moved => {
      const spots: Moved = Object.fromEntries(all.map((n) => [n.id, n.position]));
      const from = at.current.byId.get(node.id);
      const { selection } = now();
      if (from && selection.length > all.length && selection.includes(node.id)) {
        for (const id of selection) {
          const other = at.current.byId.get(id);
          if (other && !spots[id]) spots[id] = { x: other.left + node.position.x - from.left, y: other.top + node.position.y - from.top };
        }
      }
      return spots;
    };
    const onConnect = (c: Connection): boolean =>
      act({
        kind: 'connect',
        edge: {
          id: freshEdgeId(now().graph),
          source: c.source,
          target: c.target,
          sourceHandle: handleOf(c.sourceHandle),
          targetHandle: handleOf(c.targetHandle),
        },
      });
    return {
      onNodesChange: (changes: NodeChange<Node<CardData>>[]): void => {
        const spots: Moved = {};
        let picked: Set<string> | null = null;
        for (const change of changes) {
          if (change.type === 'position' && change.position && change.dragging !== undefined) spots[change.id] = change.position;
          if (change.type === 'select') {
            picked ??= new Set(now().selection);
            if (change.selected) picked.add(change.id);
            else picked.delete(change.id);
          }
        }
        if (Object.keys(spots).length) setMoved((before) => ({ ...before, ...spots }));
        if (!picked) return;
        const { nodeLookup, multiSelectionActive } = store.getState();
        if (!multiSelectionActive && crowded(at.current)) for (const id of picked) if (!nodeLookup.has(id)) picked.delete(id);
        select([...picked], now().edgeSelection);
      },
      onEdgesChange: (changes: EdgeChange[]): void => {
        const picked = new Set(now().edgeSelection);
        for (const change of changes)
          if (change.type === 'select') {
            if (change.selected) picked.add(change.id);
            else picked.delete(change.id);
          }
        select(now().selection, [...picked]);
      },
      onNodeDragStart: (_e: unknown, node: Node): void => setHeld(node.id),
      onNodeDrag: (_e: unknown, node: Node, all: Node[]): void => {
        if (now().selection.length > all.length) setMoved(shift(node, all));
        setGuides(all.length === 1 ? guidesFor(at.current, node.id, node.position) : []);
      },
      onNodeDragStop: (_e: unknown, node: Node, all: Node[]): void => {
        const positions = Object.fromEntries(
          Object.entries(shift(node, all)).map(([id, p]) => [id, { x: Math.round(p.x), y: Math.round(p.y) }]),
        );
        act({ kind: 'move', positions });
        setMoved(NONE);
        setGuides([]);
        setHeld(null);
        if (all.length === 1) splice(schema, at.current, node);
      },
      onSelectionEnd: (): void => {
        const rect = marquee.current;
        if (!rect || !crowded(at.current)) return;
        const {
          transform: [x, y, zoom],
        } = store.getState();
        select(
          within(at.current, {
            left: (rect.x - x) / zoom,
            top: (rect.y - y) / zoom,
            right: (rect.x + rect.width - x) / zoom,
            bottom: (rect.y + rect.height - y) / zoom,
          }).map((n) => n.id),
        );
      },
      onNodeClick: (event: ReactMouse, node: Node): void => {
        focusCanvas();
        if (event.altKey) selectDownstream(node.id);
      },
      onNodeDoubleClick: (_e: ReactMouse, node: Node): void => {
        const n = at.current.byId.get(node.id);
        if (n && flow.getZoom() < FAR) void flow.setCenter((n.left + n.right) / 2, (n.top + n.bottom) / 2, { zoom: 1 });
      },
      onPaneClick: (event: ReactMouse): void => {
        focusCanvas();
        const point = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
        const zoom = flow.getZoom();
        if (!crowded(at.current)) return select([]);
        const node = zoom < FAR ? nodeAt(at.current, point, 3 / zoom) : null;
        const route = node ? null : routeAt(at.current, point, 8 / zoom);
        select(node ? [node.id] : [], route ? [route.id] : []);
      },
      onConnectStart: ((_e, { nodeId }) => setHeld(nodeId)) as OnConnectStart,
      onConnect,
      onConnectEnd: (event: MouseEvent | TouchEvent, state: FinalConnectionState): void => {
        setWhy(null);
        setHeld(null);
        if (state.isValid || !state.fromNode || state.fromHandle?.type !== 'source' || state.toHandle) return;
        const point = 'changedTouches' in event ? event.changedTouches[0] : event;
        if (!point) return;
        const from = { node: state.fromNode.id, handle: handleOf(state.fromHandle.id) };
        const spot = flow.screenToFlowPosition({ x: point.clientX, y: point.clientY });
        const over = nodeAt(at.current, spot)?.source;
        const handle = over ? landing(schema, now().graph, from, over) : null;
        if (over && handle) onConnect({ source: from.node, sourceHandle: from.handle, target: over.id, targetHandle: handle });
        else if (!over) openQuickAdd({ x: point.clientX, y: point.clientY, at: spot, from });
      },
      onReconnect: (edge: Edge, c: Connection): boolean =>
        act({
          kind: 'reconnect',
          edge: edge.id,
          to: { source: c.source, target: c.target, sourceHandle: handleOf(c.sourceHandle), targetHandle: handleOf(c.targetHandle) },
        }),
      onReconnectEnd: (): void => {
        setWhy(null);
        setHeld(null);
      },
      onMoveStart: (event: MouseEvent | TouchEvent | null): void => {
        if (event) touchView();
      },
      onMoveEnd: (event: MouseEvent | TouchEvent | null): void => {
        if (event) touchView();
      },
      isValidConnection: (c: Connection | Edge): boolean => {
        const reason = refusal(
          schema,
          now().graph,
          { node: c.source, handle: handleOf(c.sourceHandle) },
          { node: c.target, handle: handleOf(c.targetHandle) },
        );
        setWhy(reason ? t(`refuse.${reason}`) : null);
        return reason === null;
      },
    };
  }, [schema, flow, store]);

  const onPointerMove = (event: PointerEvent): void => {
    if (!crowded(scene) || flow.getZoom() >= FAR || (event.buttons !== 0 && !held)) return;
    const over = nodeAt(scene, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }), 3 / flow.getZoom())?.id ?? null;
    if (over !== hover) setHover(over);
  };
  const onDoubleClick = (event: ReactMouse): void => {
    if (!editable || !(event.target as HTMLElement).classList.contains('react-flow__pane')) return;
    const spot: Point = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    if (!nodeAt(scene, spot)) openQuickAdd({ x: event.clientX, y: event.clientY, at: spot });
  };
  return { moved, why, guides, hover, held, on, onPointerMove, onDoubleClick };
}

/** A node without edges that was dropped on an edge is put into it. */
function splice(schema: GraphSchema, scene: Scene, dropped: Node): void {
  const { graph } = useEditor.getState();
  const node = graph.nodes.find((n) => n.id === dropped.id);
  if (!node || graph.edges.some((e) => e.source === node.id || e.target === node.id)) return;
  const size = scene.byId.get(node.id)?.box ?? { width: 200, height: 60 };
  const middle = { x: node.position.x + size.width / 2, y: node.position.y + size.height / 2 };
  const over = scene.nodes.some(
    (n) => n.id !== node.id && n.box.shape !== 'note' && middle.x > n.left && middle.x < n.right && middle.y > n.top && middle.y < n.bottom,
  );
  const edge = over
    ? undefined
    : routeAt({ ...scene, routes: scene.routes.filter((r) => !isBinding(r.edge)) }, middle, Math.max(24, size.height / 2))?.edge;
  if (!edge || landing(schema, graph, { node: edge.source, handle: edge.sourceHandle }, node) === null) return;
  const handle = node.type === 'condition' ? 'true' : node.type === 'loop' ? 'continue' : 'default';
  act({ kind: 'splice', node: node.id, edge: edge.id, handle }, { group: `splice-${node.id}` });
}

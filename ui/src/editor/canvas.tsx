/** Owns the canvas: what is mounted in React Flow, what is drawn beneath it, and what floats above. */
import { Background, BackgroundVariant, ReactFlow, SelectionMode, useKeyPress, useReactFlow, useStore } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { useEffect, useEffectEvent, useMemo, useRef, useState, type DragEvent, type ReactElement } from 'react';
import type { GraphSchema, Providers } from '@wfstudio/client';
import { FAR } from '../graph/crowd';
import { around, sceneOf } from '../graph/scene';
import { t } from '../i18n';
import { stepAt } from '../run/breaks';
import { useRun } from '../run/store';
import { CanvasControls, Legend } from './controls';
import { Crowd } from './crowd';
import { StudioEdge } from './edge';
import { fitAll, keepInView, reveal } from './fit';
import { edgeLooks, faceOf, flowEdges, FlowNodes } from './flow';
import { useFollow } from './follow';
import { useGestures } from './gestures';
import { useGlide } from './glide';
import { Guides } from './guides';
import { useCanvasKeys } from './keyboard';
import { laneBoxes, Lanes } from './lanes';
import { makePlaced } from './make';
import { SmallMap } from './minimap';
import { useMounted } from './mounted';
import { Card } from './node';
import { NoteNode } from './note';
import { DRAG } from './palette';
import { show } from './shown';
import { act, useEditable, useEditor } from './store';

const nodeTypes = { card: Card, note: NoteNode };
const edgeTypes = { studio: StudioEdge };
const MULTI = ['Shift', 'Meta', 'Control'];
const SNAP: [number, number] = [10, 10];
const PRO = { hideAttribution: true };
/** Larger selections are drawn, not mounted. */
const HANDFUL = 120;

export function Canvas({
  schema,
  providers,
  minimap,
  onMinimap,
  beside,
}: {
  schema: GraphSchema;
  providers?: Providers;
  minimap: boolean;
  onMinimap: () => void;
  beside?: boolean;
}): ReactElement {
  const graph = useEditor((s) => s.graph);
  const selection = useEditor((s) => s.selection);
  const edgeSelection = useEditor((s) => s.edgeSelection);
  const highlight = useEditor((s) => s.highlight);
  const mode = useEditor((s) => s.mode);
  const run = useRun((s) => (mode === 'run' ? s.view : null));
  const editable = useEditable();
  const flow = useReactFlow();
  const faces = useMemo(() => graph.nodes.map((n) => faceOf(n, run)).join(), [graph, run]);
  const scene = useMemo(() => {
    const list = faces.split(',');
    const of = new Map(graph.nodes.map((n, at) => [n.id, list[at] as ReturnType<typeof faceOf>]));
    return sceneOf(graph, schema, (node) => of.get(node.id) ?? faceOf(node, null));
  }, [graph, schema, faces]);
  const { moved: dragged, why, guides, hover, held, on, onPointerMove, onDoubleClick } = useGestures(schema, scene, editable);
  const moved = useGlide((s) => s.moved) ?? dragged;
  const [fitted, setFitted] = useState(false);
  const chosen = useMemo(() => new Set(selection), [selection]);
  const chosenEdges = useMemo(() => new Set(edgeSelection), [edgeSelection]);
  const keep = useMemo(() => {
    const ends =
      edgeSelection.length <= HANDFUL ? graph.edges.filter((e) => chosenEdges.has(e.id)).flatMap((e) => [e.source, e.target]) : [];
    return [hover, held, ...(selection.length <= HANDFUL ? selection : []), ...ends].filter((id): id is string => !!id);
  }, [hover, held, selection, edgeSelection, chosenEdges, graph]);
  const mounted = useMounted(scene, keep, fitted);
  const panning = useKeyPress('Space');
  const far = useStore((s) => s.transform[2] < FAR);
  const cache = useRef(new FlowNodes());
  const nodes = useMemo(() => cache.current.build(scene, mounted, chosen, moved, editable), [scene, mounted, chosen, moved, editable]);
  const looks = useMemo(() => edgeLooks(graph, run), [graph, run]);
  const edges = useMemo(
    () => flowEdges(graph, scene, looks, mounted, chosenEdges, editable),
    [graph, scene, looks, mounted, chosenEdges, editable],
  );
  const lanes = useMemo(() => laneBoxes(graph, scene, moved), [graph, scene, moved]);
  const whole = useMemo(() => around([scene.bounds, ...lanes]), [scene, lanes]);
  show(scene, schema, whole);
  const beyond = useStore(
    ({ transform: [x, y, zoom], width, height }) =>
      whole.left * zoom + x < 0 || whole.top * zoom + y < 0 || whole.right * zoom + x > width || whole.bottom * zoom + y > height,
  );
  const lit = useMemo(() => new Set(highlight), [highlight]);
  const states = useMemo(
    () =>
      run
        ? (id: string) => {
            const step = stepAt(run, id);
            return step?.nodeType === 'fork' && step.state === 'waiting' ? undefined : step?.state;
          }
        : null,
    [run],
  );
  const keys = useCanvasKeys(schema, providers, flow, { onMinimap });
  useFollow();

  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      fitAll(flow, false);
      setFitted(true);
    });
    return () => cancelAnimationFrame(frame);
  }, [flow]);

  // Not under the hand that drags a node or a frame.
  const busy = useStore((s) => s.userSelectionActive) || held !== null;
  const size = useStore((s) => `${s.width} ${s.height}`);
  const one = selection.length === 1 ? selection[0] : undefined;
  const keepSeen = useEffectEvent(() => {
    if (!busy) keepInView(flow);
  });
  useEffect(() => keepSeen(), [flow, size, beside]);
  useEffect(() => {
    if (!busy && one) reveal(flow, one);
  }, [flow, one, busy]);

  const onDrop = (event: DragEvent): void => {
    const type = event.dataTransfer.getData(DRAG);
    if (!type || !editable) return;
    event.preventDefault();
    const node = makePlaced(graph, type, flow.screenToFlowPosition({ x: event.clientX - 40, y: event.clientY - 20 }), providers);
    act({ kind: 'add', node }, { select: [node.id] });
  };

  return (
    <div
      id="canvas"
      className={panning ? 'cv panning' : 'cv'}
      role="application"
      aria-label={t('editor.canvas')}
      aria-describedby="canvas-how"
      tabIndex={0}
      onKeyDown={keys}
      onPointerMove={onPointerMove}
      onDoubleClick={onDoubleClick}
      onDrop={onDrop}
      onDragOver={(e) => {
        if (e.dataTransfer.types.includes(DRAG)) {
          e.preventDefault();
          e.dataTransfer.dropEffect = 'copy';
        }
      }}
    >
      <p id="canvas-how" className="sr">
        {t('editor.canvas.how')}
      </p>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        edgeTypes={edgeTypes}
        nodesConnectable={editable}
        nodesDraggable={editable}
        edgesReconnectable={editable}
        elementsSelectable
        {...on}
        onSelectionDragStop={(e, all) => all[0] && on.onNodeDragStop(e, all[0], all)}
        onlyRenderVisibleElements
        nodesFocusable={false}
        edgesFocusable={false}
        disableKeyboardA11y
        deleteKeyCode={null}
        selectionKeyCode="Shift"
        multiSelectionKeyCode={MULTI}
        panActivationKeyCode="Space"
        selectionMode={SelectionMode.Partial}
        snapToGrid
        snapGrid={SNAP}
        minZoom={0.08}
        maxZoom={2}
        zoomOnDoubleClick={false}
        proOptions={PRO}
        connectionRadius={28}
      >
        {!far && <Background variant={BackgroundVariant.Dots} gap={20} size={1.4} color="var(--grid)" />}
        {mounted && (
          <Crowd
            scene={scene}
            lanes={lanes}
            looks={looks}
            mounted={mounted}
            selection={chosen}
            edgeSelection={chosenEdges}
            highlight={lit}
            moved={moved}
            states={states}
          />
        )}
        {!mounted && <Lanes boxes={lanes} />}
        {guides.length > 0 && <Guides guides={guides} />}
      </ReactFlow>
      {minimap && fitted && beyond && <SmallMap scene={scene} moved={moved} states={states} />}
      <CanvasControls minimap={minimap} onMinimap={onMinimap} running={mode === 'run'} />
      {mode === 'run' && <Legend />}
      {why && (
        <div className="refusal" role="status">
          {why}
        </div>
      )}
    </div>
  );
}

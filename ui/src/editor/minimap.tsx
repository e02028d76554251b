/** Owns the small map: every node once, the part in view as a frame that can be dragged. */
import { useReactFlow, useStoreApi } from '@xyflow/react';
import { useEffect, useMemo, useRef, type PointerEvent, type ReactElement, type WheelEvent } from 'react';
import { around, type Rect, type Scene } from '../graph/scene';
import { t } from '../i18n';
import { useTheme } from '../shell/theme';
import { calm } from './controls';
import type { Moved } from './flow';
import { readColours, type Picture } from './paint';

const WIDTH = 176;
const HEIGHT = 104;

export function SmallMap({ scene, moved, states }: { scene: Scene; moved: Moved; states: Picture['states'] }): ReactElement {
  const flow = useReactFlow();
  const store = useStoreApi();
  const theme = useTheme((s) => s.shown);
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const at = useMemo(() => placing(scene.bounds), [scene.bounds]);
  useEffect(() => {
    const ctx = canvas.current?.getContext('2d');
    if (!ctx) return;
    const colours = readColours();
    ctx.setTransform(2, 0, 0, 2, 0, 0);
    ctx.clearRect(0, 0, WIDTH, HEIGHT);
    for (const n of scene.nodes) {
      const state = states?.(n.id);
      const spot = moved[n.id] ?? { x: n.left, y: n.top };
      ctx.fillStyle =
        colours[
          state === 'waiting' ? 'wait-solid' : state === 'running' || state === 'streaming' ? 'run' : state === 'failed' ? 'fail' : 'line-2'
        ];
      ctx.fillRect(at.x(spot.x), at.y(spot.y), Math.max(1, n.box.width * at.scale), Math.max(1, n.box.height * at.scale));
    }
  }, [scene, moved, states, at, theme]);
  useEffect(() => {
    const place = (): void => {
      const {
        transform: [x, y, zoom],
        width,
        height,
      } = store.getState();
      const box = frame.current;
      if (!box) return;
      const left = Math.max(1, at.x(-x / zoom));
      const top = Math.max(1, at.y(-y / zoom));
      box.style.transform = `translate(${left}px, ${top}px)`;
      box.style.width = `${Math.max(4, Math.min(WIDTH - 1, at.x((width - x) / zoom)) - left)}px`;
      box.style.height = `${Math.max(4, Math.min(HEIGHT - 1, at.y((height - y) / zoom)) - top)}px`;
    };
    place();
    return store.subscribe((now, before) => {
      if (now.transform !== before.transform || now.width !== before.width) place();
    });
  }, [store, at]);
  const go = (event: PointerEvent<HTMLElement>, animate: boolean): void => {
    const box = event.currentTarget.getBoundingClientRect();
    void flow.setCenter(at.fromX(event.clientX - box.left), at.fromY(event.clientY - box.top), {
      zoom: flow.getZoom(),
      duration: animate ? calm() : 0,
    });
  };
  const onWheel = (event: WheelEvent): void => void flow.zoomTo(flow.getZoom() * (event.deltaY > 0 ? 0.9 : 1.1));
  return (
    <div
      className="mm"
      role="img"
      aria-label={t('editor.minimap')}
      onWheel={onWheel}
      onPointerDown={(e) => {
        e.currentTarget.setPointerCapture(e.pointerId);
        go(e, true);
      }}
      onPointerMove={(e) => {
        if (e.buttons) go(e, false);
      }}
    >
      <canvas ref={canvas} width={WIDTH * 2} height={HEIGHT * 2} aria-hidden="true" />
      <div className="mmview" ref={frame} />
    </div>
  );
}

function placing(bounds: Rect): {
  scale: number;
  x: (v: number) => number;
  y: (v: number) => number;
  fromX: (v: number) => number;
  fromY: (v: number) => number;
} {
  const all = around([bounds, { left: bounds.left, top: bounds.top, right: bounds.left + 400, bottom: bounds.top + 240 }]);
  const scale = Math.min((WIDTH - 16) / (all.right - all.left), (HEIGHT - 16) / (all.bottom - all.top));
  const left = (WIDTH - (all.right - all.left) * scale) / 2 - all.left * scale;
  const top = (HEIGHT - (all.bottom - all.top) * scale) / 2 - all.top * scale;
  return {
    scale,
    x: (v) => v * scale + left,
    y: (v) => v * scale + top,
    fromX: (v) => (v - left) / scale,
    fromY: (v) => (v - top) / scale,
  };
}

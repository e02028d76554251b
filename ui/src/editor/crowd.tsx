/** Owns the drawn layer under a crowded graph: redrawn with the view, in the same frame. */
import { useStoreApi } from '@xyflow/react';
import { useEffect, useRef, type ReactElement } from 'react';
import { useTheme } from '../shell/theme';
import { paint, readColours, type Colours, type Picture } from './paint';

export function Crowd(picture: Picture): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null);
  const store = useStoreApi();
  const theme = useTheme((s) => s.shown);
  const latest = useRef<Picture>(picture);
  const colours = useRef<Colours | null>(null);
  const draw = useRef<() => void>(() => undefined);
  draw.current = () => {
    const element = canvas.current;
    const ctx = element?.getContext('2d');
    const {
      transform: [x, y, zoom],
      width,
      height,
    } = store.getState();
    if (!element || !ctx || width === 0) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
    }
    colours.current ??= readColours();
    const blank = paint(ctx, latest.current, { x, y, zoom, width, height, ratio }, colours.current) === 0;
    if (blank !== element.hidden) element.hidden = blank;
  };
  useEffect(
    () =>
      store.subscribe((now, before) => {
        if (now.transform !== before.transform || now.width !== before.width || now.height !== before.height) draw.current();
      }),
    [store],
  );
  useEffect(() => {
    colours.current = null;
  }, [theme]);
  useEffect(() => {
    latest.current = picture;
    draw.current();
  });
  return <canvas ref={canvas} className="crowd" aria-hidden="true" />;
}

/** Owns the small picture of the whole trace, with a brush that chooses a part. */
import { useRef, useState, type PointerEvent, type ReactElement } from 'react';
import { t } from '../../i18n';
import type { TraceRows } from '../../run/trace-rows';

const MOST = 400;

export function Overview({
  made,
  zoom,
  onZoom,
}: {
  made: TraceRows;
  zoom: [number, number] | null;
  onZoom: (zoom: [number, number] | null) => void;
}): ReactElement {
  const box = useRef<SVGSVGElement>(null);
  const [drag, setDrag] = useState<number | null>(null);
  const span = Math.max(1, made.end - made.start);
  const every = Math.max(1, Math.ceil(made.rows.length / MOST));
  const rows = made.rows.filter((_, n) => n % every === 0);
  const step = 27 / Math.max(1, rows.length);
  const at = (e: PointerEvent): number => {
    const r = box.current?.getBoundingClientRect();
    return r ? Math.min(1, Math.max(0, (e.clientX - r.left) / r.width)) : 0;
  };
  const x = (time: number): number => ((time - made.start) / span) * 400;
  return (
    <svg
      ref={box}
      viewBox="0 0 400 34"
      preserveAspectRatio="none"
      role="img"
      aria-label={t('trace.overview')}
      className="ovsvg"
      onPointerDown={(e) => {
        e.currentTarget.setPointerCapture(e.pointerId);
        setDrag(at(e));
      }}
      onPointerMove={(e) => {
        if (drag === null) return;
        const now = at(e);
        if (Math.abs(now - drag) > 0.01) onZoom([made.start + Math.min(drag, now) * span, made.start + Math.max(drag, now) * span]);
      }}
      onPointerUp={(e) => {
        if (drag !== null && Math.abs(at(e) - drag) < 0.01) onZoom(null);
        setDrag(null);
      }}
    >
      {rows.map((r, n) => (
        <rect
          key={r.id}
          x={x(r.start)}
          y={3.5 + n * step}
          width={Math.max(1.5, x(r.end ?? made.end) - x(r.start))}
          height={Math.max(0.6, Math.min(1.5, step * 0.75))}
          fill={
            r.state === 'wait' || r.waits.length
              ? 'var(--wait-solid)'
              : r.state === 'fail'
                ? 'var(--fail)'
                : r.state === 'run'
                  ? 'var(--run)'
                  : 'var(--ink-3)'
          }
        />
      ))}
      {zoom && (
        <rect
          x={x(zoom[0])}
          y={0}
          width={Math.max(2, x(zoom[1]) - x(zoom[0]))}
          height={34}
          fill="var(--accent)"
          fillOpacity="0.14"
          stroke="var(--accent)"
          strokeWidth="1"
        />
      )}
      <rect x=".5" y=".5" width="399" height="33" rx="3" fill="none" stroke="var(--line-2)" />
    </svg>
  );
}

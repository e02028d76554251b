/** Owns the small line in a table cell. */
import type { ReactElement } from 'react';

export function Sparkline({
  values,
  label,
  width = 84,
  height = 16,
}: {
  values: number[];
  label: string;
  width?: number;
  height?: number;
}): ReactElement {
  const top = Math.max(1, ...values);
  const step = values.length > 1 ? width / (values.length - 1) : width;
  const points = values.map((v, n) => `${(n * step).toFixed(1)},${(height - 2 - (v / top) * (height - 4)).toFixed(1)}`).join(' ');
  return (
    <svg width={width} height={height} role="img" aria-label={label} viewBox={`0 0 ${width} ${height}`} style={{ display: 'block' }}>
      <polyline points={points} fill="none" stroke="var(--ink-2)" strokeWidth="1.4" strokeLinejoin="round" />
    </svg>
  );
}

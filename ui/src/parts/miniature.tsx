/** Owns a graph drawn small: its nodes as blocks in the colour of their family, its edges as lines. */
import type { ReactElement } from 'react';
import type { Graph } from '@wfstudio/client';
import { NODE_LOOK } from './icons';

const W = 112;
const H = 44;

interface Sizes {
  width: number;
  height: number;
  /** Room between columns, and between rows. */
  across: number;
  down: number;
}

/** Columns by order from left to right, rows by height: even however wide the graph was drawn. */
export function placed(graph: Graph, { width, height, across, down }: Sizes): Map<string, { x: number; y: number; type: string }> {
  const columns = [...new Set(graph.nodes.map((n) => Math.round(n.position.x / 60)))].sort((a, b) => a - b);
  const top = Math.min(...graph.nodes.map((n) => n.position.y));
  const tall = Math.max(1, ...graph.nodes.map((n) => n.position.y - top));
  const rows = new Set(graph.nodes.map((n) => Math.round(n.position.y / 90))).size;
  return new Map(
    graph.nodes.map((n) => [
      n.id,
      {
        x: columns.indexOf(Math.round(n.position.x / 60)) * (width + across),
        y: ((n.position.y - top) / tall) * (rows - 1) * (height + down),
        type: n.type,
      },
    ]),
  );
}

export function Miniature({ graph, label }: { graph: Graph; label: string }): ReactElement {
  const at = placed(graph, { width: W, height: H, across: 46, down: 12 });
  const all = [...at.values()];
  const right = Math.max(...all.map((n) => n.x)) + W;
  const bottom = Math.max(...all.map((n) => n.y)) + H;
  return (
    <svg className="mini" role="img" aria-label={label} viewBox={`-6 -6 ${right + 12} ${bottom + 12}`} preserveAspectRatio="xMidYMid meet">
      {graph.edges.map((e) => {
        const a = at.get(e.source);
        const b = at.get(e.target);
        if (!a || !b) return null;
        const [x1, y1, x2, y2] = [a.x + W, a.y + H / 2, b.x, b.y + H / 2];
        const half = Math.max(20, (x2 - x1) / 2);
        return (
          <path
            key={e.id}
            d={`M${x1} ${y1}C${x1 + half} ${y1} ${x2 - half} ${y2} ${x2} ${y2}`}
            className={e.sourceHandle === 'rejected' ? 'rej' : undefined}
          />
        );
      })}
      {all.map((n, k) => (
        <g key={k} className={NODE_LOOK[n.type]?.family ?? 'flow'}>
          <rect x={n.x} y={n.y} width={W} height={H} rx="11" />
          <rect className="tl" x={n.x + 9} y={n.y + 9} width={H - 18} height={H - 18} rx="7" />
          <line x1={n.x + H + 2} x2={n.x + W - 14} y1={n.y + H / 2} y2={n.y + H / 2} />
        </g>
      ))}
    </svg>
  );
}

/** Owns a graph drawn small: its nodes as blocks in the colour of their family, its edges as lines. */
import type { ReactElement } from 'react';
import type { Graph } from '../api/types';
import { NODE_LOOK } from './icons';

const WIDTHS: Record<string, number> = { start: 96, stop: 96, fork: 96, join: 96 };
const H = 56;

export function Miniature({ graph, label }: { graph: Graph; label: string }): ReactElement {
  const wide = (type: string): number => WIDTHS[type] ?? 190;
  const right = Math.max(...graph.nodes.map((n) => n.position.x + wide(n.type)));
  const left = Math.min(...graph.nodes.map((n) => n.position.x));
  const top = Math.min(...graph.nodes.map((n) => n.position.y));
  const bottom = Math.max(...graph.nodes.map((n) => n.position.y + H));
  const at = new Map(graph.nodes.map((n) => [n.id, n]));
  return (
    <svg className="mini" role="img" aria-label={label} viewBox={`${left - 12} ${top - 12} ${right - left + 24} ${bottom - top + 24}`} preserveAspectRatio="xMidYMid meet">
      {graph.edges.map((e) => {
        const a = at.get(e.source);
        const b = at.get(e.target);
        if (!a || !b) return null;
        const x1 = a.position.x + wide(a.type);
        const y1 = a.position.y + H / 2;
        const x2 = b.position.x;
        const y2 = b.position.y + H / 2;
        const half = Math.max(30, (x2 - x1) / 2);
        return <path key={e.id} d={`M${x1} ${y1}C${x1 + half} ${y1} ${x2 - half} ${y2} ${x2} ${y2}`} className={e.sourceHandle === 'rejected' ? 'rej' : undefined} />;
      })}
      {graph.nodes.map((n) => (
        <g key={n.id} className={NODE_LOOK[n.type]?.family ?? 'flow'}>
          <rect x={n.position.x} y={n.position.y} width={wide(n.type)} height={H} rx="14" />
          <rect className="tl" x={n.position.x + 13} y={n.position.y + 13} width={H - 26} height={H - 26} rx="8" />
          <line x1={n.position.x + H} x2={n.position.x + wide(n.type) - 16} y1={n.position.y + H / 2} y2={n.position.y + H / 2} />
        </g>
      ))}
    </svg>
  );
}

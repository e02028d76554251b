/** Owns a graph drawn to be read: titles, types, the names of ways out; wider than its frame it is scrolled. */
import type { ReactElement } from 'react';
import type { Graph } from '@wfstudio/client';
import { isBinding, titleOf } from '../../graph/document';
import { tx } from '../../i18n';
import { NODE_LOOK } from '../../parts/icons';
import { placed } from '../../parts/miniature';

const W = 148;
const H = 46;
const LETTERS = 19;
/** No smaller than can be read; from there on it is scrolled. */
const SMALLEST = 0.75;

const short = (text: string): string => (text.length > LETTERS ? `${text.slice(0, LETTERS - 1).trimEnd()}…` : text);

export function GraphPicture({ graph, label }: { graph: Graph; label: string }): ReactElement {
  const at = placed(graph, { width: W, height: H, across: 46, down: 22 });
  const all = [...at.values()];
  const right = Math.max(0, ...all.map((n) => n.x)) + W;
  const bottom = Math.max(0, ...all.map((n) => n.y)) + H;
  const backwards = graph.edges.some((e) => (at.get(e.target)?.x ?? 0) < (at.get(e.source)?.x ?? 0));
  const [width, height] = [right + 24, bottom + 24 + (backwards ? 44 : 0)];
  return (
    <div className="picture" tabIndex={0} role="group" aria-label={label}>
      <svg
        style={{ width: '100%', minWidth: Math.round(width * SMALLEST), maxWidth: width }}
        viewBox={`-12 -12 ${width} ${height}`}
        aria-hidden="true"
      >
        {graph.edges.map((e) => {
          const a = at.get(e.source);
          const b = at.get(e.target);
          if (!a || !b) return null;
          const [x1, y1, x2, y2] = [a.x + W, a.y + H / 2, b.x, b.y + H / 2];
          const half = Math.max(24, (x2 - x1) / 2);
          const below = Math.max(y1, y2) + H;
          const line =
            x2 < x1
              ? `M${a.x + W / 2} ${a.y + H}C${a.x + W / 2} ${below + 26} ${b.x + W / 2} ${below + 26} ${b.x + W / 2} ${b.y + H}`
              : `M${x1} ${y1}C${x1 + half} ${y1} ${x2 - half} ${y2} ${x2} ${y2}`;
          const named = e.sourceHandle !== 'default' && !isBinding(e) && e.sourceHandle !== 'toolset';
          return (
            <g key={e.id}>
              <path d={line} className={e.sourceHandle === 'rejected' ? 'rej' : isBinding(e) ? 'tool' : undefined} />
              {named && x2 >= x1 && (
                <text className="way" x={x1 + 5} y={y1 + (y2 < y1 ? -6 : 13)}>
                  {tx(`handle.${e.sourceHandle}`, e.sourceHandle)}
                </text>
              )}
            </g>
          );
        })}
        {graph.nodes.map((node) => {
          const n = at.get(node.id);
          const look = NODE_LOOK[node.type];
          if (!n) return null;
          const Shape = look?.icon;
          return (
            <g key={node.id} className={look?.family ?? 'flow'} transform={`translate(${n.x} ${n.y})`}>
              <title>{titleOf(node)}</title>
              <rect width={W} height={H} rx="10" />
              <rect className="tl" x="9" y="11" width="24" height="24" rx="7" />
              {Shape && <Shape className="ic" x={14} y={16} width={14} height={14} aria-hidden="true" />}
              <text x="40" y="20">
                {short(titleOf(node))}
              </text>
              <text className="ty" x="40" y="35">
                {tx(`type.${node.type}`, node.type)}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** Owns the frames around the branches of a fork. */
import { ViewportPortal } from '@xyflow/react';
import { useMemo, type ReactElement } from 'react';
import type { GraphSchema } from '../api/types';
import { allNodes } from '../graph/document';
import { measure } from '../graph/measure';
import { lanes } from '../graph/order';
import { t } from '../i18n';
import { Status } from '../parts/status';
import { useRun } from '../run/store';
import { useEditor } from './store';

const PAD = { x: 22, top: 40, bottom: 22 };

export function Lanes({ schema, moved, heights }: { schema?: GraphSchema; moved: Record<string, { x: number; y: number }>; heights: Map<string, { width: number; height: number }> }): ReactElement {
  const graph = useEditor((s) => s.graph);
  const overlay = useEditor((s) => s.mode === 'run');
  const states = useRun((s) => s.view.branches);
  const boxes = useMemo(() => {
    const byId = new Map(allNodes(graph).map((n) => [n.id, n]));
    return lanes(graph).flatMap((lane) => {
      const spots = lane.nodes.flatMap((id) => {
        const node = byId.get(id);
        if (!node) return [];
        const size = heights.get(id) ?? measure(node, graph, schema, 'plain');
        const at = moved[id] ?? node.position;
        return [{ l: at.x, t: at.y, r: at.x + size.width, b: at.y + size.height }];
      });
      if (spots.length === 0) return [];
      const l = Math.min(...spots.map((s) => s.l)) - PAD.x;
      const top = Math.min(...spots.map((s) => s.t)) - PAD.top;
      const r = Math.max(...spots.map((s) => s.r)) + PAD.x;
      const b = Math.max(...spots.map((s) => s.b)) + PAD.bottom;
      return [{ key: `${lane.fork}:${lane.branch}`, name: lane.branch, left: l, top, width: r - l, height: b - top }];
    });
  }, [graph, schema, moved, heights]);
  return (
    <ViewportPortal>
      {boxes.map((box) => {
        const state = overlay ? states[box.key] : undefined;
        return (
          <div key={box.key} className="lane" style={{ left: box.left, top: box.top, width: box.width, height: box.height }}>
            <b>{t('ask.branch', { name: box.name })}</b>
            {state && state !== 'completed' && <Status status={state} />}
          </div>
        );
      })}
    </ViewportPortal>
  );
}

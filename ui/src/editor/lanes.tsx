/** Owns the frames around the branches of a fork. */
import { ViewportPortal } from '@xyflow/react';
import type { ReactElement } from 'react';
import type { Graph } from '@wfstudio/client';
import { lanes } from '../graph/order';
import { around, type Rect, type Scene } from '../graph/scene';
import { t } from '../i18n';
import { Status } from '../parts/status';
import { useRun } from '../run/store';
import { useEditor } from './store';
import type { Moved } from './flow';

const PAD = { x: 22, top: 40, bottom: 22 };

export interface LaneBox extends Rect {
  key: string;
  name: string;
}

export function laneBoxes(graph: Graph, scene: Scene, moved: Moved): LaneBox[] {
  return lanes(graph).flatMap((lane) => {
    const spots = lane.nodes.flatMap((id) => {
      const n = scene.byId.get(id);
      if (!n) return [];
      const { x, y } = moved[id] ?? n.source.position;
      return [{ left: x, top: y, right: x + n.box.width, bottom: y + n.box.height }];
    });
    if (spots.length === 0) return [];
    const r = around(spots);
    return [
      {
        key: `${lane.fork}:${lane.branch}`,
        name: t('ask.branch', { name: lane.branch }),
        left: r.left - PAD.x,
        top: r.top - PAD.top,
        right: r.right + PAD.x,
        bottom: r.bottom + PAD.bottom,
      },
    ];
  });
}

export function Lanes({ boxes }: { boxes: LaneBox[] }): ReactElement {
  const overlay = useEditor((s) => s.mode === 'run');
  const states = useRun((s) => s.view.branches);
  return (
    <ViewportPortal>
      {boxes.map((box) => {
        const state = overlay ? states[box.key] : undefined;
        return (
          <div
            key={box.key}
            className="lane"
            style={{ left: box.left, top: box.top, width: box.right - box.left, height: box.bottom - box.top }}
          >
            <b>{box.name}</b>
            {state && state !== 'completed' && <Status status={state} />}
          </div>
        );
      })}
    </ViewportPortal>
  );
}

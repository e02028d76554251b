/** Owns the lines that show what a dragged node is in line with. */
import { ViewportPortal } from '@xyflow/react';
import type { ReactElement } from 'react';
import type { Guide } from '../graph/guides';

export function Guides({ guides }: { guides: Guide[] }): ReactElement {
  return (
    <ViewportPortal>
      {guides.map((g) => (
        <div
          key={g.key}
          className="guide"
          style={{ left: g.left, top: g.top, width: Math.max(1, g.right - g.left), height: Math.max(1, g.bottom - g.top) }}
        />
      ))}
    </ViewportPortal>
  );
}

/** Owns how an edge is drawn, and the plus that puts a node into it. */
import { BaseEdge, EdgeLabelRenderer, getSmoothStepPath, type EdgeProps } from '@xyflow/react';
import { Plus } from 'lucide-react';
import { memo, type ReactElement } from 'react';
import { t } from '../i18n';
import { reachOf, turnFits } from '../graph/scene';
import { Icon } from '../parts/icons';
import { openQuickAdd } from './quick-add-state';

export const StudioEdge = memo(function StudioEdge(props: EdgeProps): ReactElement {
  const { id, sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition, data, selected } = props;
  const turn = data?.turn as number | undefined;
  const [path, x, y] = getSmoothStepPath({
    sourceX,
    sourceY,
    targetX,
    targetY,
    sourcePosition,
    targetPosition,
    borderRadius: 10,
    offset: reachOf(sourceX, targetX),
    centerX: turn !== undefined && turnFits(sourceX, targetX, turn) ? turn : undefined,
  });
  return (
    <>
      <BaseEdge id={id} path={path} interactionWidth={18} className={`e ${String(data?.look ?? '')}${selected ? ' sel' : ''}`} />
      {selected && data?.editable === true && (
        <EdgeLabelRenderer>
          <button
            type="button"
            className="edgeplus nodrag nopan"
            style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}
            aria-label={t('editor.insert')}
            onClick={(e) => openQuickAdd({ x: e.clientX, y: e.clientY, at: { x, y }, edge: id })}
          >
            <Icon as={Plus} size={14} />
          </button>
        </EdgeLabelRenderer>
      )}
    </>
  );
});

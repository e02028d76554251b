/** Owns sticky notes: Markdown, five tints, resizable. */
import { NodeResizer, type NodeProps } from '@xyflow/react';
import { memo, useState, type ReactElement } from 'react';
import { t } from '../i18n';
import { Markdown } from '../parts/markdown';
import type { CardData } from './node';
import { act, useEditable } from './store';

export const TINTS = ['sand', 'sage', 'sky', 'rose', 'paper'] as const;

export const NoteNode = memo(function NoteNode({ data, selected }: NodeProps & { data: CardData }): ReactElement {
  const { node } = data;
  const [editing, setEditing] = useState(false);
  const readOnly = !useEditable();
  const text = String(node.data.text ?? '');
  return (
    <div
      className={`note tint-${String(node.data.tint ?? 'sand')}${selected ? ' sel' : ''}`}
      onDoubleClick={(e) => {
        e.stopPropagation();
        if (!readOnly) setEditing(true);
      }}
    >
      {selected && !readOnly && (
        <NodeResizer
          minWidth={120}
          minHeight={52}
          onResizeEnd={(_e, size) =>
            act({ kind: 'data', id: node.id, data: { width: Math.round(size.width), height: Math.round(size.height) } })
          }
        />
      )}
      {(editing || (!text && selected)) && !readOnly ? (
        <textarea
          className="nodrag nowheel"
          aria-label={t('type.note')}
          autoFocus
          defaultValue={text}
          onFocus={() => setEditing(true)}
          onChange={(e) => act({ kind: 'data', id: node.id, data: { text: e.target.value } }, { group: `data-${node.id}-text` })}
          onBlur={() => setEditing(false)}
          onKeyDown={(e) => {
            e.stopPropagation();
            if (e.key === 'Escape') e.currentTarget.blur();
          }}
        />
      ) : (
        <Markdown text={text || t('note.empty')} />
      )}
    </div>
  );
});

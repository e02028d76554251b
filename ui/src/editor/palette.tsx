/** Owns the list of node types beside the canvas: drag one, or press Enter on it. */
import { PanelLeftClose, Search } from 'lucide-react';
import type { ReactElement } from 'react';
import type { Providers } from '@wfstudio/client';
import { t, type Key } from '../i18n';
import { Button } from '../parts/button';
import { Icon, NodeTile } from '../parts/icons';
import { TYPE_GROUPS, typeLabel } from './make';
import { useEditable, useEditor } from './store';

export const DRAG = 'application/x-studio-node';

export function NodePalette({
  onAdd,
  onSearch,
  onClose,
}: {
  onAdd: (type: string) => void;
  onSearch: () => void;
  onClose: () => void;
  providers?: Providers;
}): ReactElement {
  const hasStart = useEditor((s) => s.graph.nodes.some((n) => n.type === 'start'));
  const readOnly = !useEditable();
  return (
    <aside className="pal" aria-label={t('editor.palette')}>
      <div className="row" style={{ gap: 2 }}>
        <button type="button" className="field" onClick={onSearch} disabled={readOnly} style={{ flex: 1 }}>
          <Icon as={Search} />
          <span>{t('editor.add')}</span>
          <span className="sp" />
          <kbd>/</kbd>
        </button>
        <Button look="ghost" small icon={PanelLeftClose} label={t('editor.palette.close')} onClick={onClose} />
      </div>
      {TYPE_GROUPS.map((group) => (
        <div key={group.label}>
          <div className="eyebrow pg">{t(group.label as Key)}</div>
          {group.types.map((type) => {
            const off = readOnly || (type === 'start' && hasStart);
            return (
              <button
                key={type}
                type="button"
                className={`pi${off ? ' off' : ''}`}
                disabled={off}
                draggable={!off}
                onClick={() => onAdd(type)}
                onDragStart={(e) => {
                  e.dataTransfer.setData(DRAG, type);
                  e.dataTransfer.effectAllowed = 'copy';
                }}
              >
                <NodeTile type={type} />
                {typeLabel(type)}
              </button>
            );
          })}
        </div>
      ))}
    </aside>
  );
}

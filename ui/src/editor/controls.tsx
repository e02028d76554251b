/** Owns the small floating things on the canvas: zoom, fit, lock, follow, legend. */
import { useReactFlow, useStore } from '@xyflow/react';
import { Crosshair, Lock, LockOpen, Map as MapIcon, Maximize, Minus, Plus } from 'lucide-react';
import type { ReactElement } from 'react';
import { t } from '../i18n';
import { percent } from '../i18n/figures';
import { Button } from '../parts/button';
import { fitAll } from './fit';
import { panel, usePanels } from './panel';

export const calm = (): number => (matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 160);

export function CanvasControls({
  minimap,
  onMinimap,
  running,
}: {
  minimap: boolean;
  onMinimap: () => void;
  running: boolean;
}): ReactElement {
  const flow = useReactFlow();
  const zoom = useStore((s) => Math.round(s.transform[2] * 100) / 100);
  const { follow, locked } = usePanels();
  return (
    <div className="ctl" role="group" aria-label={t('editor.view')}>
      <Button look="ghost" small icon={Minus} label={t('editor.zoom.out')} onClick={() => void flow.zoomOut({ duration: calm() })} />
      <button
        type="button"
        className="btn ghost sm mono"
        aria-label={`${percent(zoom, 0)}, ${t('editor.zoom.reset')}`}
        onClick={() => void flow.zoomTo(1, { duration: calm() })}
      >
        {percent(zoom, 0)}
      </button>
      <Button look="ghost" small icon={Plus} label={t('editor.zoom.in')} onClick={() => void flow.zoomIn({ duration: calm() })} />
      <Button look="ghost" small icon={Maximize} label={t('editor.fit')} onClick={() => fitAll(flow)} />
      <Button look="ghost" small icon={MapIcon} label={t('editor.minimap')} aria-pressed={minimap} onClick={onMinimap} />
      {running ? (
        <Button
          look="ghost"
          small
          icon={Crosshair}
          label={t('editor.follow')}
          aria-pressed={follow}
          onClick={() => panel({ follow: !follow })}
        />
      ) : (
        <Button
          look="ghost"
          small
          icon={locked ? Lock : LockOpen}
          label={t('editor.lock')}
          aria-pressed={locked}
          onClick={() => panel({ locked: !locked })}
        />
      )}
    </div>
  );
}

export function Legend(): ReactElement {
  return (
    <div className="legend hide-m" aria-hidden="true">
      <span>
        <i className="lg d" />
        {t('legend.ran')}
      </span>
      <span>
        <i className="lg" />
        {t('legend.notyet')}
      </span>
      <span>
        <i className="lg t" />
        {t('legend.tools')}
      </span>
    </div>
  );
}

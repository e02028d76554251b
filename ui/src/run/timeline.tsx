/** Owns the timeline of the dock: live rows on a growing axis. */
import { useEffect, useMemo, useRef, useState, type ReactElement } from 'react';
import { t } from '../i18n';
import { NodeTile } from '../parts/icons';
import { useWidth } from '../shell/place';
import { Bar } from './bars';
import { liveRows, markOf, ticks } from './rows';
import { useRun } from './store';

export function Timeline({
  chosen,
  start,
  startLabel,
  onChoose,
}: {
  chosen: string | null;
  start: string;
  startLabel: string;
  onChoose: (nodeId: string) => void;
}): ReactElement {
  const view = useRun((s) => s.view);
  const live = view.end === null && view.status !== 'idle';
  const [now, setNow] = useState(Date.now());
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => setNow(Date.now()), 250);
    return () => clearInterval(timer);
  }, [live]);
  const narrow = useWidth() === 'narrow';
  const rows = useMemo(() => liveRows(view, startLabel), [view, startLabel]);
  if (rows.length === 0)
    return (
      <p className="mut" style={{ padding: 16 }}>
        {t('timeline.empty')}
      </p>
    );
  const end = view.end ?? Math.max(now, ...rows.map((r) => r.end ?? r.start));
  const span = Math.max(view.end ? 10 : 400, (end - view.start) * 1.3);
  return (
    <div className="tl scroll" ref={box} tabIndex={0} role="group" aria-label={t('tab.timeline')}>
      <div className="ax" aria-hidden="true">
        {ticks(span, 640)
          .filter((ms) => ms / span < 0.94)
          .map((ms) => (
            <span key={ms} style={{ left: `${(ms / span) * 100}%` }}>
              {markOf(ms)}
            </span>
          ))}
      </div>
      {rows.map((row) => {
        const node = view.steps[row.id]?.nodeId ?? start;
        return (
          <button
            type="button"
            key={row.id}
            className={`tr${row.depth ? ' ind' : ''}${chosen === node ? ' on' : ''}`}
            onClick={() => onChoose(node)}
          >
            <span className="tn">
              <NodeTile type={row.type} />
              <span className="trunc">{row.label}</span>
              {row.pills.map((p) => (
                <span key={p} className="pill">
                  {p}
                </span>
              ))}
            </span>
            <span className="tb">
              <Bar row={row} start={view.start} span={span} now={now} beside={narrow ? 55 : undefined} />
            </span>
          </button>
        );
      })}
      {live && (
        <div
          className="ph"
          aria-hidden="true"
          style={{ left: `calc(180px + (100% - 194px) * ${Math.min(1, (now - view.start) / span)})` }}
        />
      )}
    </div>
  );
}

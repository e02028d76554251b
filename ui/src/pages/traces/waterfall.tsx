/** Owns the waterfall: a virtual treegrid of steps and spans on one time axis. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { ChevronDown, ChevronRight, Search } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import { t } from '../../i18n';
import { count, decimal, duration } from '../../i18n/figures';
import { Icon, NodeTile } from '../../parts/icons';
import { Segments } from '../../parts/tabs';
import { Bar } from '../../run/bars';
import { ticks, type Row, type TraceRows } from '../../run/rows';

interface Props { made: TraceRows; chosen: string | null; zoom: [number, number] | null; onZoom: (z: [number, number] | null) => void; onChoose: (id: string) => void; live: boolean }

export function Waterfall({ made, chosen, zoom, onZoom, onChoose, live }: Props): ReactElement {
  const [q, setQ] = useState('');
  const [spans, setSpans] = useState<'steps' | 'spans'>('spans');
  const [folded, setFolded] = useState<Set<string>>(() => new Set());
  const [now, setNow] = useState(made.end);
  const box = useRef<HTMLDivElement>(null);
  const [axis, setAxis] = useState(320);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setAxis(Math.max(110, (entry?.contentRect.width ?? 700) - 440)));
    if (box.current) watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    if (!live) { setNow(made.end); return; }
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [live, made.end]);
  const rows = useMemo(() => {
    const wanted = q.trim().toLocaleLowerCase();
    return made.rows.filter((r) => (spans === 'spans' ? !r.parent || !folded.has(r.parent) : !r.parent) && (!wanted || r.label.toLocaleLowerCase().includes(wanted) || r.pills.some((p) => p.toLocaleLowerCase().includes(wanted))));
  }, [made, q, spans, folded]);
  const start = zoom?.[0] ?? made.start;
  const span = Math.max(1, (zoom ? zoom[1] - zoom[0] : (live ? Math.max(now, made.end) : made.end) - made.start) * (zoom ? 1 : 1.02));
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => 32, overscan: 12, getItemKey: (n) => rows[n]?.id ?? n });
  const at = rows.findIndex((r) => r.id === chosen);
  const fold = useCallback((id: string, on?: boolean) => setFolded((before) => { const next = new Set(before); if (on ?? !next.has(id)) next.add(id); else next.delete(id); return next; }), []);
  const onKey = (event: KeyboardEvent): void => {
    const row = rows[at];
    const step = event.key === 'ArrowDown' || event.key === 'j' ? 1 : event.key === 'ArrowUp' || event.key === 'k' ? -1 : 0;
    if (step) { const next = rows[Math.min(rows.length - 1, Math.max(0, at + step))]; if (next) { onChoose(next.id); virtual.scrollToIndex(rows.indexOf(next)); } event.preventDefault(); }
    else if (row && event.key === 'ArrowLeft') { if (row.parent) onChoose(row.parent); else fold(row.id, true); event.preventDefault(); }
    else if (row && event.key === 'ArrowRight') { fold(row.id, false); event.preventDefault(); }
    else if (row && event.key.toLowerCase() === 'z') { onZoom(zoom ? null : [row.start, row.end ?? now]); event.preventDefault(); }
    else if (event.key === 'Home' || event.key === 'End') { const next = rows[event.key === 'Home' ? 0 : rows.length - 1]; if (next) { onChoose(next.id); virtual.scrollToIndex(rows.indexOf(next)); } event.preventDefault(); }
  };
  return (
    <>
      <div className="wr hdr">
        <div className="row" style={{ paddingLeft: 12 }}><span className="field" style={{ height: 26, flex: '0 1 190px' }}><Icon as={Search} /><input type="search" aria-label={t('trace.filter')} placeholder={t('trace.filter')} value={q} onChange={(e) => setQ(e.target.value)} /></span>
          <Segments small label={t('trace.rows')} value={spans} onChange={setSpans} options={[{ id: 'steps', label: t('trace.steps') }, { id: 'spans', label: t('trace.spanstab') }]} /></div>
        <div className="num hide-s">{t('trace.tokens')}</div><div className="num hide-s">{t('trace.cost')}</div>
        <div className="wb ax" aria-hidden="true">{ticks(span, axis).filter((ms) => ms / span < 0.97).map((ms) => <span key={ms} style={{ left: `${(ms / span) * 100}%` }}>{ms === 0 ? '0' : duration(ms)}</span>)}</div>
      </div>
      <div className="wbody" ref={box} role="treegrid" aria-label={t('tab.timeline')} aria-rowcount={rows.length} aria-colcount={4} tabIndex={0} onKeyDown={onKey} aria-activedescendant={at >= 0 ? `w-${rows[at]?.id}` : undefined}>
        {rows.length === 0 && <div role="row"><p className="mut" role="gridcell" style={{ padding: 16 }}>{made.rows.length ? t('palette.none') : t('timeline.empty')}</p></div>}
        <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: 'relative' }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index] as Row;
            return <Line key={item.key} row={row} index={item.index} top={item.start} on={row.id === chosen} folded={folded.has(row.id)} fold={spans === 'spans' ? fold : null} onChoose={onChoose} start={start} span={span} now={now} />;
          })}
        </div>
      </div>
      <div className="wfoot mut">
        <span><i className="lk" />{t('trace.working')}</span><span><i className="lk hatch" />{t('timeline.waiting')}</span><span><i className="lk h2" />{t('trace.checkpointreused')}</span><span><i className="lk t2" />{t('trace.cutlegend')}</span>
        <span className="sp" /><span className="hide-l" aria-hidden="true"><kbd>↑</kbd> <kbd>↓</kbd> {t('trace.key.step')} &nbsp; <kbd>←</kbd> <kbd>→</kbd> {t('trace.key.fold')} &nbsp; <kbd>Z</kbd> {t('trace.key.zoom')}</span>
      </div>
    </>
  );
}

function Line({ row, index, top, on, folded, fold, onChoose, start, span, now }: { row: Row; index: number; top: number; on: boolean; folded: boolean; fold: ((id: string) => void) | null; onChoose: (id: string) => void; start: number; span: number; now: number }): ReactElement {
  const parent = row.children > 0 && fold !== null;
  return (
    <div id={`w-${row.id}`} role="row" aria-rowindex={index + 1} aria-level={row.depth + 1} aria-selected={on} aria-expanded={parent ? !folded : undefined} className={`wr${row.parent ? ' sub' : ''}${on ? ' on' : ''}`} style={{ position: 'absolute', left: 0, right: 0, top }} onClick={() => onChoose(row.id)}>
      <div className="wn" role="gridcell" style={{ paddingLeft: 10 + Math.min(row.depth, 8) * 18 }}>
        {parent ? <button type="button" className="tw" tabIndex={-1} aria-label={folded ? t('trace.unfold') : t('trace.fold')} onClick={(e) => { e.stopPropagation(); fold(row.id); }}><Icon as={folded ? ChevronRight : ChevronDown} /></button> : <span className="tw" />}
        <NodeTile type={row.type} /><span className="nm">{row.label}</span>{row.pills.map((p) => <span key={p} className="pill">{p}</span>)}
      </div>
      <div className="num mono hide-s" role="gridcell">{row.tokens ? count(row.tokens) : ''}</div>
      <div className="num mono hide-s" role="gridcell">{row.cost ? decimal(row.cost) : ''}</div>
      <div className="wb" role="gridcell"><Bar row={row} start={start} span={span} now={now} /></div>
    </div>
  );
}

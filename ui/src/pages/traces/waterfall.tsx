/** Owns the waterfall: a treegrid of steps and spans on one time axis, of which only the rows in view are drawn. */
import { ChevronDown, ChevronRight, Search } from 'lucide-react';
import { memo, useCallback, useEffect, useEffectEvent, useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import { t } from '../../i18n';
import { count, decimal } from '../../i18n/figures';
import { Icon, NodeTile } from '../../parts/icons';
import { useRowsInView } from '../../parts/rows-in-view';
import { Segments } from '../../parts/tabs';
import { Bar } from '../../run/bars';
import { markOf, ticks, type Row } from '../../run/rows';
import { rowsShown, type TraceRows } from '../../run/trace-rows';

interface Props {
  made: TraceRows;
  chosen: string | null;
  zoom: [number, number] | null;
  onZoom: (z: [number, number] | null) => void;
  onChoose: (id: string) => void;
  live: boolean;
}

const HEIGHT = 32;
/** What the mark of an axis takes. */
const LABEL = 44;
/** An axis this wide goes on after the run, so that figures stand beside bars that reach its end. */
const WIDE = 200;
const FIGURE = 66;
/** More iterations than these begin folded. */
const MANY = 12;

function foldedAtFirst(rows: Row[]): Set<string> {
  const groups = rows.filter((r) => r.kind === 'group');
  return new Set(groups.length > MANY ? groups.map((r) => r.id) : []);
}

export function Waterfall({ made, chosen, zoom, onZoom, onChoose, live }: Props): ReactElement {
  const [q, setQ] = useState('');
  const [spans, setSpans] = useState<'steps' | 'spans'>('spans');
  const [folded, setFolded] = useState(() => foldedAtFirst(made.rows));
  const now = useNow(live, made.end);
  const rows = useMemo(() => rowsShown(made.rows, { spans: spans === 'spans', folded, q }), [made, q, spans, folded]);
  const { box, first, last, width, scrollTo } = useRowsInView(rows.length, HEIGHT);
  const header = useRef<HTMLDivElement>(null);
  const axis = header.current?.clientWidth || Math.max(110, width - 440);
  const beside = axis >= WIDE ? 100 - (100 * FIGURE) / axis : undefined;
  const start = zoom?.[0] ?? made.start;
  const span = Math.max(
    1,
    (zoom ? zoom[1] - zoom[0] : (live ? Math.max(now, made.end) : made.end) - made.start) * (zoom ? 1 : beside ? 100 / beside : 1.02),
  );
  const at = useMemo(() => rows.findIndex((r) => r.id === chosen), [rows, chosen]);
  const fold = useCallback(
    (id: string, on?: boolean) =>
      setFolded((before) => {
        const next = new Set(before);
        if (on ?? !next.has(id)) next.add(id);
        else next.delete(id);
        return next;
      }),
    [],
  );
  const bringIn = useEffectEvent(() => {
    if (at >= 0) scrollTo(at);
  });
  useEffect(() => bringIn(), [chosen]);
  const onKey = (event: KeyboardEvent): void => {
    const row = rows[at];
    const go = (index: number): void => {
      const next = rows[Math.min(rows.length - 1, Math.max(0, index))];
      if (next) {
        onChoose(next.id);
        scrollTo(index);
      }
      event.preventDefault();
    };
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 320) / HEIGHT) - 1);
    if (event.key === 'ArrowDown' || event.key === 'j') go(at + 1);
    else if (event.key === 'ArrowUp' || event.key === 'k') go(at - 1);
    else if (event.key === 'PageDown') go(at + page);
    else if (event.key === 'PageUp') go(at - page);
    else if (event.key === 'Home') go(0);
    else if (event.key === 'End') go(rows.length - 1);
    else if (row && event.key === 'ArrowLeft') {
      if (row.children > 0 && !folded.has(row.id)) fold(row.id, true);
      else if (row.parent) onChoose(row.parent);
      event.preventDefault();
    } else if (row && event.key === 'ArrowRight') {
      fold(row.id, false);
      event.preventDefault();
    } else if (row && event.key.toLowerCase() === 'z') {
      onZoom(zoom ? null : [row.start, row.end ?? now]);
      event.preventDefault();
    }
  };
  return (
    <>
      <div className="wr hdr">
        <div className="row" style={{ paddingLeft: 12 }}>
          <span className="field" style={{ height: 26, flex: '0 1 190px' }}>
            <Icon as={Search} />
            <input
              type="search"
              aria-label={t('trace.filter')}
              placeholder={t('trace.filter')}
              value={q}
              onChange={(e) => setQ(e.target.value)}
            />
          </span>
          <Segments
            small
            label={t('trace.rows')}
            value={spans}
            onChange={setSpans}
            options={[
              { id: 'steps', label: t('trace.steps') },
              { id: 'spans', label: t('trace.spanstab') },
            ]}
          />
        </div>
        <div className="num hide-s">{t('trace.tokens')}</div>
        <div className="num hide-s">{t('trace.cost')}</div>
        <div className="wb ax" ref={header} aria-hidden="true">
          {ticks(span, axis)
            .filter((ms) => ms / span < 0.94)
            .map((ms) => (
              <span key={ms} style={axis * (1 - ms / span) < LABEL ? { right: 0 } : { left: `${(ms / span) * 100}%` }}>
                {markOf(ms)}
              </span>
            ))}
        </div>
      </div>
      <div
        className="wbody"
        ref={box}
        role="treegrid"
        aria-label={t('tab.timeline')}
        aria-rowcount={rows.length}
        aria-colcount={4}
        tabIndex={0}
        onKeyDown={onKey}
        aria-activedescendant={at >= first && at < last ? `w-${rows[at]?.id}` : undefined}
      >
        {rows.length === 0 && (
          <div role="row">
            <p className="mut" role="gridcell" style={{ padding: 16 }}>
              {made.rows.length ? t('palette.none') : t('timeline.empty')}
            </p>
          </div>
        )}
        <div role="rowgroup" style={{ height: rows.length * HEIGHT, position: 'relative' }}>
          {rows.slice(first, last).map((row, n) => (
            <Line
              key={row.id}
              row={row}
              index={first + n}
              on={row.id === chosen}
              folded={folded.has(row.id)}
              fold={spans === 'spans' || row.kind === 'group' || row.type === 'fork' ? fold : null}
              onChoose={onChoose}
              start={start}
              span={span}
              beside={beside}
              now={row.end === null ? now : 0}
            />
          ))}
        </div>
      </div>
      <div className="wfoot mut">
        <span>
          <i className="lk" />
          {t('trace.working')}
        </span>
        <span>
          <i className="lk hatch" />
          {t('timeline.waiting')}
        </span>
        <span>
          <i className="lk h2" />
          {t('trace.checkpointreused')}
        </span>
        <span>
          <i className="lk t2" />
          {t('trace.cutlegend')}
        </span>
        <span className="sp" />
        <span className="hide-l" aria-hidden="true">
          <kbd>↑</kbd> <kbd>↓</kbd> {t('trace.key.step')} &nbsp; <kbd>←</kbd> <kbd>→</kbd> {t('trace.key.fold')} &nbsp; <kbd>Z</kbd>{' '}
          {t('trace.key.zoom')}
        </span>
      </div>
    </>
  );
}

function useNow(live: boolean, end: number): number {
  const [now, setNow] = useState(end);
  useEffect(() => {
    if (!live) {
      setNow(end);
      return;
    }
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [live, end]);
  return now;
}

interface LineProps {
  row: Row;
  index: number;
  on: boolean;
  folded: boolean;
  fold: ((id: string) => void) | null;
  onChoose: (id: string) => void;
  start: number;
  span: number;
  beside?: number;
  now: number;
}

const Line = memo(function Line({ row, index, on, folded, fold, onChoose, start, span, beside, now }: LineProps): ReactElement {
  const parent = row.children > 0 && fold !== null;
  const sub = row.kind === 'span' || row.kind === 'wait';
  return (
    <div
      id={`w-${row.id}`}
      role="row"
      aria-rowindex={index + 1}
      aria-level={row.depth + 1}
      aria-selected={on}
      aria-expanded={parent ? !folded : undefined}
      className={`wr${sub ? ' sub' : ''}${on ? ' on' : ''}${row.old ? ' old' : ''}`}
      style={{ position: 'absolute', left: 0, right: 0, top: index * HEIGHT }}
      onClick={() => onChoose(row.id)}
    >
      <div className="wn" role="gridcell" style={{ paddingLeft: 10 + Math.min(row.depth, 8) * 18 }}>
        {parent ? (
          <button
            type="button"
            className="tw"
            tabIndex={-1}
            aria-label={folded ? t('trace.unfold') : t('trace.fold')}
            onClick={(e) => {
              e.stopPropagation();
              fold(row.id);
            }}
          >
            <Icon as={folded ? ChevronRight : ChevronDown} />
          </button>
        ) : (
          <span className="tw" />
        )}
        <NodeTile type={row.type} />
        <span className="nm">{row.label}</span>
        {row.pills.map((p) => (
          <span key={p} className="pill">
            {p}
          </span>
        ))}
      </div>
      <div className="num mono hide-s" role="gridcell">
        {row.tokens ? count(row.tokens) : ''}
      </div>
      <div className="num mono hide-s" role="gridcell">
        {row.cost ? decimal(row.cost) : ''}
      </div>
      <div className="wb" role="gridcell">
        <Bar row={row} start={start} span={span} beside={beside} now={now || (row.end ?? start)} />
      </div>
    </div>
  );
});

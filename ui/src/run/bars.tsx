/** Owns the bar of one row on a time axis; the dock and the trace draw the same. */
import { memo, type ReactElement } from 'react';
import { duration } from '../i18n/figures';
import type { Row } from './rows';

interface Props {
  row: Row;
  start: number;
  span: number;
  now: number;
  beside?: number;
}

export const Bar = memo(function Bar({ row, start, span, now, beside = 78 }: Props): ReactElement {
  const end = row.end ?? now;
  const at = (time: number): number => Math.min(100, Math.max(0, ((time - start) / span) * 100));
  const from = at(row.start);
  const to = Math.max(from, at(end));
  const side =
    to <= beside + 0.1
      ? { left: `calc(${to}% + 8px)` }
      : from > 16
        ? { right: `calc(${100 - from}% + 8px)` }
        : { right: `calc(${100 - to}% + 6px)` };
  const text = row.text ?? duration(row.ms !== null && row.waits.length === 0 ? row.ms : end - row.start);
  return (
    <>
      {pieces(row, end).map((p, n) => (
        <i
          key={n}
          className={
            p.wait
              ? 'hatch w'
              : row.state === 'run'
                ? 'r'
                : row.state === 'fail'
                  ? 'f'
                  : row.state === 'reused'
                    ? 'hit'
                    : row.state === 'cut'
                      ? 't'
                      : row.state === 'skipped'
                        ? 'sk'
                        : 'd'
          }
          style={{ left: `${at(p.from)}%`, width: `${Math.max(0, at(p.to) - at(p.from))}%` }}
        />
      ))}
      <em className={to > beside + 0.1 && from <= 16 ? 'inside' : undefined} style={side}>
        {text}
      </em>
    </>
  );
});

function pieces(row: Row, end: number): { from: number; to: number; wait: boolean }[] {
  const out: { from: number; to: number; wait: boolean }[] = [];
  let at = row.start;
  for (const w of row.waits) {
    if (w.from > at) out.push({ from: at, to: w.from, wait: false });
    out.push({ from: w.from, to: w.to ?? end, wait: true });
    at = w.to ?? end;
  }
  if (at < end || out.length === 0) out.push({ from: at, to: end, wait: false });
  return out;
}

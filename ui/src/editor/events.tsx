/** Owns the raw events of a run: filtered, copied; told again where a run was opened and not watched. */
import { useEffect, useState, type ReactElement } from 'react';
import { follow, tailPath } from '@wfstudio/client';
import { studio } from '../api/client';
import { t } from '../i18n';
import { duration } from '../i18n/figures';
import { Button } from '../parts/button';
import { Code } from '../parts/code';
import { SearchField } from '../parts/listing';
import { copy } from '../parts/copy';
import { byFrame } from '../run/frames';
import { useRun } from '../run/store';
import { KEPT_EVENTS } from '../run/view';

export default function Events(): ReactElement {
  const live = useRun((s) => s.view.events);
  const id = useRun((s) => s.view.traceId);
  const [told, setTold] = useState<typeof live>([]);
  const none = live.length === 0;
  // A run that was opened, not watched, is told again.
  useEffect(() => {
    if (!none || !id) return undefined;
    const stop = new AbortController();
    setTold([]);
    const frames = byFrame<(typeof live)[number]>((batch) => {
      if (!stop.signal.aborted) setTold((before) => [...before, ...batch].slice(-KEPT_EVENTS));
    });
    void follow(studio, {
      path: tailPath(id),
      traceId: id,
      signal: stop.signal,
      onEvent: (event) => {
        if (event.name !== 'token' && event.name !== 'reasoning') frames.add({ ...event, at: Number.NaN });
      },
    });
    return () => stop.abort();
  }, [id, none]);
  const events = none ? told : live;
  const start = useRun((s) => s.view.start);
  const [q, setQ] = useState('');
  const shown = events.filter((e) => !q || e.name.includes(q) || JSON.stringify(e.data).includes(q)).slice(-300);
  return (
    <div className="scroll events" tabIndex={0} role="group" aria-label={t('tab.events')}>
      <div className="row" style={{ padding: '8px 12px' }}>
        <SearchField value={q} onChange={setQ} label={t('events.filter')} placeholder={t('events.filter')} />
        <Button
          small
          onClick={() => {
            void copy(shown.map((e) => `id: ${e.id ?? ''}\nevent: ${e.name}\ndata: ${JSON.stringify(e.data)}\n`).join('\n'));
          }}
        >
          {t('copy')}
        </Button>
      </div>
      {events.length === 0 && (
        <p className="mut" style={{ padding: '0 12px' }}>
          {t('timeline.empty')}
        </p>
      )}
      {shown.map((e, n) => (
        <details key={n} className="ev">
          <summary>
            <span className="mono mut">{e.id}</span>
            <span className="mono">{e.name}</span>
            <span className="mono mut trunc">{String(e.data.node_id ?? e.data.branch_id ?? '')}</span>
            <span className="sp" />
            <span className="mut small">{Number.isNaN(e.at) ? '' : duration(e.at - start)}</span>
          </summary>
          <Code value={e.data} maxHeight={180} />
        </details>
      ))}
    </div>
  );
}

/** Owns the list of sessions. */
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { Ellipsis, Trash2 } from 'lucide-react';
import { useState, type ReactElement } from 'react';
import { refresh, rows, useList } from '../../api/queries';
import type { RunSummary, Thread } from '@wfstudio/client';
import type { List } from '../../api/pages';
import { t } from '../../i18n';
import { ago } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { DeleteDialog, SearchField } from '../../parts/listing';
import { MenuButton } from '../../parts/menu';
import { oneLine } from '../../parts/one-line';
import { Failure } from '../../parts/states';

interface Props {
  agent: string;
  threads: UseInfiniteQueryResult<{ pages: List<Thread>[] }>;
  current: string | null;
  onOpen: (id: string | null) => void;
  q: string;
  onSearch: (q: string) => void;
}

export function Sessions({ agent, threads, current, onOpen, q, onSearch }: Props): ReactElement {
  const list = rows(threads);
  const [gone, setGone] = useState<Thread | null>(null);
  const runs = useList<RunSummary>('/api/runs', { entity_type: 'agent', entity_id: agent, limit: 100 }, { enabled: list.length > 0 });
  // The latest run of each session; what was said in it names a session in which nothing is stored yet.
  const latest = new Map([...rows(runs)].reverse().map((r) => [r.thread_id ?? '', r]));
  return (
    <>
      <SearchField value={q} onChange={onSearch} placeholder={t('chat.search')} />
      {threads.isError && !threads.data ? <Failure error={threads.error} onRetry={() => void threads.refetch()} /> : null}
      <ul className="scroll tl2">
        {list.map((x) => (
          <li key={x.id}>
            <button
              type="button"
              className={`ti${x.id === current ? ' on' : ''}`}
              aria-current={x.id === current ? 'true' : undefined}
              onClick={() => onOpen(x.id)}
            >
              <b>{oneLine(x.preview ?? (latest.get(x.id)?.input_preview || x.label))}</b>
              <span className="mut">
                {t('runs', { n: x.run_count })} · {ago(x.updated_at)}
                {x.open_pause ? (
                  <>
                    {' '}
                    · <u className="w">{t('chat.waiting')}</u>
                  </>
                ) : latest.get(x.id)?.status === 'failed' ? (
                  <>
                    {' '}
                    · <u className="f">{t('chat.failed')}</u>
                  </>
                ) : null}
              </span>
            </button>
            <MenuButton
              button={<Button look="ghost" small icon={Ellipsis} label={`${t('more')}: ${oneLine(x.label)}`} />}
              entries={[{ label: t('delete'), icon: Trash2, danger: true, onSelect: () => setGone(x) }]}
            />
          </li>
        ))}
        {threads.isSuccess && list.length === 0 && (
          <li className="mut small" style={{ padding: 10 }}>
            {q ? t('filtered.empty') : t('chat.nosessions')}
          </li>
        )}
        {threads.hasNextPage && (
          <li>
            <Button small look="ghost" onClick={() => void threads.fetchNextPage()}>
              {t('load.more')}
            </Button>
          </li>
        )}
      </ul>
      {gone && (
        <DeleteDialog
          path="/api/threads"
          row={{ id: gone.id, name: oneLine(gone.label) }}
          onClose={() => setGone(null)}
          onDone={() => {
            refresh(`/agents/${agent}/chat/threads`);
            if (gone.id === current) onOpen(null);
          }}
        />
      )}
    </>
  );
}

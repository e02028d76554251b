/** Owns the list of sessions. */
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { rows } from '../../api/queries';
import type { List, Thread } from '../../api/types';
import { t } from '../../i18n';
import { ago } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { SearchField } from '../../parts/listing';
import { Failure } from '../../parts/states';

interface Props { threads: UseInfiniteQueryResult<{ pages: List<Thread>[] }>; current: string | null; onOpen: (id: string) => void; q: string; onSearch: (q: string) => void }

export function Sessions({ threads, current, onOpen, q, onSearch }: Props): ReactElement {
  const list = rows(threads);
  return (
    <>
      <SearchField value={q} onChange={onSearch} placeholder={t('chat.search')} />
      {threads.isError && !threads.data ? <Failure error={threads.error} onRetry={() => void threads.refetch()} /> : null}
      <ul className="scroll tl2">
        {list.map((x) => (
          <li key={x.id}><button type="button" className={`ti${x.id === current ? ' on' : ''}`} aria-current={x.id === current ? 'true' : undefined} onClick={() => onOpen(x.id)}>
            <b>{x.label}</b><span className="mut">{t('runs', { n: x.run_count })} · {ago(x.updated_at)}{x.open_pause && <> · <u className="w">{t('chat.waiting')}</u></>}</span>
          </button></li>
        ))}
        {threads.isSuccess && list.length === 0 && <li className="mut small" style={{ padding: 10 }}>{q ? t('filtered.empty') : t('chat.nosessions')}</li>}
        {threads.hasNextPage && <li><Button small look="ghost" onClick={() => void threads.fetchNextPage()}>{t('load.more')}</Button></li>}
      </ul>
    </>
  );
}

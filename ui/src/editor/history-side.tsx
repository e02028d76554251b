/** Owns the versions of a workflow: what changed in each, and going back to one. */
import { useQuery } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useEffect, useState, type ReactElement } from 'react';
import { get } from '../api/client';
import type { RevisionSummary, Workflow } from '@wfstudio/client';
import { graphDiff } from '../graph/diff';
import { tidy } from '../graph/document';
import { t } from '../i18n';
import { ago, dateTime } from '../i18n/figures';
import { Button } from '../parts/button';
import { Dialog } from '../parts/dialog';
import { Failure, SkeletonRows } from '../parts/states';
import { toast, toastError } from '../parts/toast';
import { DiffText } from './diff-text';
import { replaceGraph, tell, useEditor } from './store';

export default function HistorySide(): ReactElement {
  const { workflow, hasDraft, graph, session, readOnly } = useEditor();
  const id = workflow?.id ?? '';
  const list = useQuery({
    queryKey: ['/api/workflows', id, 'revisions', workflow?.revision],
    queryFn: () => get<{ data: RevisionSummary[] }>(`/api/workflows/${id}/revisions`),
    enabled: !!id,
  });
  const [chosen, setChosen] = useState<number | null>(null);
  const old = useQuery({
    queryKey: ['/api/workflows', id, 'revisions', 'one', chosen],
    queryFn: () => get<Workflow>(`/api/workflows/${id}/revisions/${chosen}`),
    enabled: chosen !== null,
  });
  const before = chosen === null ? (hasDraft ? workflow?.graph : undefined) : old.data?.graph;
  useEffect(() => {
    const d = before ? graphDiff(tidy(before), graph) : null;
    tell({ highlight: d ? [...d.added, ...d.changed] : [] });
    return () => tell({ highlight: [] });
  }, [before, graph]);
  const [discarding, setDiscarding] = useState(false);
  const [restoring, setRestoring] = useState(false);
  const restore = async (): Promise<void> => {
    setRestoring(true);
    try {
      await session?.restore(chosen ?? 0);
      toast(t('history.restored', { n: chosen ?? 0 }));
    } catch (error) {
      toastError(error);
    } finally {
      setRestoring(false);
    }
  };
  return (
    <aside className="insp" id="inspector" aria-label={t('mode.history')}>
      <div className="ih">
        <h2>{t('mode.history')}</h2>
        <span className="sp" />
        <Button look="ghost" small icon={X} label={t('close')} onClick={() => tell({ mode: 'design' })} />
      </div>
      <div className="ib" style={{ gap: 14 }}>
        {list.isPending ? (
          <SkeletonRows rows={4} />
        ) : list.isError && !list.data ? (
          <Failure error={list.error} onRetry={() => void list.refetch()} />
        ) : (
          <ul className="versions">
            {hasDraft && (
              <li>
                <button type="button" className={chosen === null ? 'on' : ''} onClick={() => setChosen(null)}>
                  <b>{t('history.draft')}</b>
                  <span className="mut small">{t('history.based', { n: useEditor.getState().basedOn })}</span>
                </button>
              </li>
            )}
            {list.data.data.map((r) => (
              <li key={r.revision}>
                <button type="button" className={chosen === r.revision ? 'on' : ''} onClick={() => setChosen(r.revision)}>
                  <b>{t('version', { n: r.revision })}</b>
                  <span className="mut small" title={dateTime(r.created_at)}>
                    {ago(r.created_at)} · {t('nodes', { n: r.node_count })}
                    {r.user_id ? ` · ${r.user_id}` : ''}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        )}
        {chosen !== null && old.isError && !old.data && <Failure error={old.error} onRetry={() => void old.refetch()} />}
        {chosen !== null && old.data && (
          <>
            <DiffText before={tidy(old.data.graph)} after={graph} />
            <div className="row wrap">
              <Button reason={readOnly && t('editor.readonly')} onClick={() => replaceGraph(old.data.graph)}>
                {t('history.load')}
              </Button>
              <Button disabled={restoring} reason={readOnly && t('editor.readonly')} onClick={() => void restore()}>
                {t('history.restore')}
              </Button>
            </div>
          </>
        )}
        {hasDraft && workflow && chosen === null && (
          <>
            <DiffText before={workflow.graph} after={graph} />
            <div>
              <Button look="dng" reason={readOnly && t('editor.readonly')} onClick={() => setDiscarding(true)}>
                {t('history.discard')}
              </Button>
            </div>
          </>
        )}
      </div>
      <Dialog open={discarding} onClose={() => setDiscarding(false)} title={t('history.discard')}>
        <p className="ink2">{t('history.discard.text', { n: workflow?.revision ?? 0 })}</p>
        <div className="foot">
          <Button onClick={() => setDiscarding(false)}>{t('cancel')}</Button>
          <Button
            look="dng"
            onClick={() => {
              setDiscarding(false);
              void session?.discard().catch(toastError);
            }}
          >
            {t('history.discard')}
          </Button>
        </div>
      </Dialog>
    </aside>
  );
}

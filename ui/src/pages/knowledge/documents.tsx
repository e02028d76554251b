/** Owns the documents of a base: adding, watching them being read, removing. */
import { FileText, Plus, RefreshCw, Trash2, Upload } from 'lucide-react';
import { useEffect, useRef, useState, type ReactElement } from 'react';
import { add as addFile, make, post } from '../../api/client';
import { isProblem, type Document as KnowledgeDocument } from '@wfstudio/client';
import { refresh, rows, useList } from '../../api/queries';
import { t } from '../../i18n';
import { ago, bytes, count } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { Dialog } from '../../parts/dialog';
import { MenuButton } from '../../parts/menu';
import { TextField } from '../../parts/form';
import { Empty, Failure, SkeletonRows } from '../../parts/states';
import { Located } from '../../parts/place';
import { Status } from '../../parts/status';
import { textOf, toast, toastError } from '../../parts/toast';
import { markUnsaved, watchLeaving } from '../../parts/unsaved';
import { useAddress } from '../../shell/place';
import { Ellipsis } from 'lucide-react';
import { DeleteDialog, SearchField } from '../../parts/listing';

export function Documents({ id }: { id: string }): ReactElement {
  const path = `/api/knowledge-bases/${id}/documents`;
  const [params, setParams] = useAddress();
  const q = params.get('q') ?? '';
  const setQ = (text: string): void => setParams({ q: text });
  const list = useList<KnowledgeDocument>(path, {}, { poll: 3000 });
  const data = rows(list).filter((d) => d.name.toLocaleLowerCase().includes(q.toLocaleLowerCase()));
  const input = useRef<HTMLInputElement>(null);
  const [writing, setWriting] = useState(false);
  const [over, setOver] = useState(false);
  const [gone, setGone] = useState<KnowledgeDocument | null>(null);
  const changed = (): void => refresh(path, '/api/knowledge-bases');
  const send = async (files: FileList | File[]): Promise<void> => {
    for (const file of files) {
      try {
        await addFile(path, file);
      } catch (error) {
        toastError(error);
      }
    }
    changed();
  };
  const act = (work: Promise<unknown>): void => void work.then(changed).catch(toastError);
  const add = (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept=".txt,.md,.html,.pdf,.csv,.tsv,.docx,.pptx,.xlsx,.epub,text/plain,text/markdown,text/html,text/csv,application/pdf,application/epub+zip"
        aria-label={t('kb.upload')}
        onChange={(e) => {
          if (e.target.files) void send([...e.target.files]);
          e.target.value = '';
        }}
      />
      <Button icon={Upload} onClick={() => input.current?.click()}>
        {t('kb.upload')}
      </Button>
      <Button icon={Plus} onClick={() => setWriting(true)}>
        {t('kb.write')}
      </Button>
    </>
  );
  return (
    <div
      onDragOver={(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e) => {
        e.preventDefault();
        setOver(false);
        void send([...e.dataTransfer.files]);
      }}
      className="stack"
    >
      <div className="tools-line">
        <SearchField value={q} onChange={setQ} placeholder={t('kb.find')} />
        {data.length > 0 && add}
      </div>
      {list.isPending ? (
        <div className="card">
          <SkeletonRows rows={4} />
        </div>
      ) : list.isError && !list.data ? (
        <Failure error={list.error} onRetry={() => void list.refetch()} />
      ) : data.length === 0 ? (
        <div className="card" style={over ? { borderColor: 'var(--accent)' } : undefined}>
          <Empty icon={FileText} title={q ? t('filtered.empty') : t('kb.nodocs')} text={t('kb.nodocs.text')}>
            {add}
          </Empty>
        </div>
      ) : (
        <div className="card tablewrap" style={over ? { borderColor: 'var(--accent)' } : undefined}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t('name')}</th>
                <th scope="col">{t('status')}</th>
                <th scope="col" className="num">
                  {t('kb.chunks')}
                </th>
                <th scope="col" className="num hide-s">
                  {t('kb.size')}
                </th>
                <th scope="col" className="num hide-l">
                  {t('trace.tokens')}
                </th>
                <th scope="col" className="hide-m">
                  {t('updated.at')}
                </th>
                <th scope="col" style={{ width: 40 }}>
                  <span className="sr">{t('more')}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {data.map((d) => (
                <tr key={d.id}>
                  <td style={{ maxWidth: 300, paddingBlock: d.error ? 7 : undefined }}>
                    <Located name={d.name} of={{ ...d, document_id: d.id }} />
                    {d.error && (
                      <span className="small failc" style={{ whiteSpace: 'normal', color: 'var(--fail)' }}>
                        {d.error}
                      </span>
                    )}
                  </td>
                  <td>
                    <Status status={d.status} bare>
                      {d.status === 'completed' ? t('kb.indexed') : undefined}
                    </Status>
                  </td>
                  <td className="num">{count(d.chunk_count)}</td>
                  <td className="num hide-s">{bytes(d.size_bytes)}</td>
                  <td className="num hide-l">{count(d.total_tokens)}</td>
                  <td className="mut hide-m">{ago(d.updated_at)}</td>
                  <td>
                    <MenuButton
                      button={<Button look="ghost" small icon={Ellipsis} label={`${t('more')}: ${d.name}`} />}
                      entries={[
                        { label: t('kb.reread'), icon: RefreshCw, onSelect: () => act(post(`${path}/${d.id}/reindex`)) },
                        null,
                        { label: t('delete'), icon: Trash2, danger: true, onSelect: () => setGone(d) },
                      ]}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {list.hasNextPage && (
        <div>
          <Button onClick={() => void list.fetchNextPage()}>{t('load.more')}</Button>
        </div>
      )}
      {gone && <DeleteDialog path={path} row={gone} onClose={() => setGone(null)} onDone={changed} />}
      <WriteDialog base={id} open={writing} onClose={() => setWriting(false)} onAdded={changed} />
    </div>
  );
}

interface Written {
  name: string;
  text: string;
}
const EMPTY: Written = { name: '', text: '' };
/** What is written for a base and not added yet, as long as the tab. */
const written = new Map<string, Written>();

function WriteDialog({
  base,
  open,
  onClose,
  onAdded,
}: {
  base: string;
  open: boolean;
  onClose: () => void;
  onAdded: () => void;
}): ReactElement {
  const [shown, setShown] = useState(() => written.get(base) ?? EMPTY);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<unknown>(null);
  const latest = useRef(shown);
  const put = (next: Written): void => {
    latest.current = next;
    setShown(next);
    if (next.name || next.text) written.set(base, next);
    else written.delete(base);
    markUnsaved(written, written.size > 0);
  };
  useEffect(() => watchLeaving(() => written.has(base)), [base]);
  const { name, text } = shown;
  const add = async (): Promise<void> => {
    setBusy(true);
    setRefused(null);
    try {
      await make(`/api/knowledge-bases/${base}/documents`, { name: name.trim(), text });
      onAdded();
      toast(t('kb.added', { name: name.trim() }));
      // What is written on meanwhile stays.
      if (latest.current !== shown) return;
      put(EMPTY);
      onClose();
    } catch (error) {
      setRefused(error);
    } finally {
      setBusy(false);
    }
  };
  const field = (key: string): string | undefined => (isProblem(refused) ? refused.field(key) : undefined);
  return (
    <Dialog open={open} onClose={onClose} title={t('kb.write')}>
      <TextField
        label={t('name')}
        value={name}
        onChange={(next) => put({ ...latest.current, name: next })}
        placeholder="faq.md"
        autoFocus
        error={field('name')}
      />
      <TextField
        label={t('key.text')}
        rows={10}
        value={text}
        onChange={(next) => put({ ...latest.current, text: next })}
        error={field('text')}
      />
      {refused !== null && (
        <div className="note-box fail" role="alert">
          {t('error.save', { message: textOf(refused) })}
        </div>
      )}
      <div className="foot">
        <Button onClick={onClose}>{t('cancel')}</Button>
        <Button look="pri" disabled={busy || !name.trim() || !text.trim()} onClick={() => void add()}>
          {busy ? t('saving') : t('add')}
        </Button>
      </div>
    </Dialog>
  );
}

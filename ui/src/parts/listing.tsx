/** Owns the list page of any definition: search, table, row actions, every state. */
import { Copy, Ellipsis, Search, Trash2 } from 'lucide-react';
import { useEffect, useEffectEvent, useState, type ReactElement, type ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { make, remove } from '../api/client';
import { isProblem, type Query } from '@wfstudio/client';
import { refresh, rows, useList } from '../api/queries';
import { t } from '../i18n';
import { useAddress } from '../shell/place';
import { Button } from './button';
import { Dialog } from './dialog';
import { MenuButton, type MenuEntry } from './menu';
import { Icon } from './icons';
import { Failure, FilteredEmpty, SkeletonRows } from './states';
import { toast, toastError } from './toast';

export interface Named {
  id: string;
  name: string;
  locked?: boolean;
}
export interface Column<T> {
  label: string;
  num?: boolean;
  hide?: 'hide-s' | 'hide-m';
  cell: (row: T) => ReactNode;
}

interface Props<T extends Named> {
  path: string;
  query?: Query;
  columns: Column<T>[];
  href: (row: T) => string;
  tile: (row: T) => ReactNode;
  nameLabel: string;
  empty: ReactNode;
  actions?: (row: T) => (MenuEntry | null)[];
  filters?: ReactNode;
  /** Stands above the list, given what is listed. */
  above?: (rows: T[]) => ReactNode;
  below?: ReactNode;
  poll?: number;
}

export function Listing<T extends Named>({
  path,
  query,
  columns,
  href,
  tile,
  nameLabel,
  empty,
  actions,
  filters,
  above,
  below,
  poll,
}: Props<T>): ReactElement {
  const [params, setParams] = useAddress();
  const q = params.get('q') ?? '';
  const list = useList<T>(path, { ...query, q }, { poll });
  const data = rows(list);
  const [gone, setGone] = useState<T | null>(null);
  const [, go] = useLocation();
  const entries = (row: T): (MenuEntry | null)[] => [
    ...(actions?.(row) ?? []),
    { label: t('duplicate'), icon: Copy, onSelect: () => void duplicate(path, row, (id) => go(href({ ...row, id }))) },
    null,
    { label: t('delete'), icon: Trash2, danger: true, reason: row.locked && t('locked'), onSelect: () => setGone(row) },
  ];
  return (
    <div className="page">
      <div className="pad">
        {data.length > 0 && above?.(data)}
        {(data.length > 0 || q || list.isPending) && (
          <div className="tools-line">
            <SearchField value={q} onChange={(text) => setParams({ q: text })} />
            {filters}
          </div>
        )}
        {list.isPending ? (
          <div className="card">
            <SkeletonRows />
          </div>
        ) : list.isError && !list.data ? (
          <Failure error={list.error} onRetry={() => void list.refetch()} />
        ) : data.length === 0 ? (
          q ? (
            <FilteredEmpty onClear={() => setParams({ q: null })} text={`“${q}”`} />
          ) : (
            empty
          )
        ) : (
          <div className="card tablewrap">
            <table>
              <thead>
                <tr>
                  <th scope="col">{nameLabel}</th>
                  {columns.map((c) => (
                    <th scope="col" key={c.label} className={`${c.num ? 'num' : ''} ${c.hide ?? ''}`}>
                      {c.label}
                    </th>
                  ))}
                  <th scope="col" style={{ width: 40 }}>
                    <span className="sr">{t('more')}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((row) => (
                  <tr
                    key={row.id}
                    className="click"
                    onClick={(e) => {
                      if (!(e.target as HTMLElement).closest('a,button,[role="menu"]')) go(href(row));
                    }}
                  >
                    <td className="named">
                      <Link to={href(row)} className="rowlink">
                        {tile(row)}
                        <span className="trunc">{row.name}</span>
                      </Link>
                    </td>
                    {columns.map((c) => (
                      <td key={c.label} className={`${c.num ? 'num' : ''} ${c.hide ?? ''}`}>
                        {c.cell(row)}
                      </td>
                    ))}
                    <td>
                      <MenuButton
                        button={<Button look="ghost" small icon={Ellipsis} label={`${t('more')}: ${row.name}`} />}
                        entries={entries(row)}
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
            <Button onClick={() => void list.fetchNextPage()} disabled={list.isFetchingNextPage}>
              {t('load.more')}
            </Button>
          </div>
        )}
        {below}
        {gone && <DeleteDialog path={path} row={gone} onClose={() => setGone(null)} />}
      </div>
    </div>
  );
}

async function duplicate(path: string, row: Named, open: (id: string) => void): Promise<void> {
  try {
    const made = await make<Named>(`${path}/${row.id}/duplicate`);
    refresh(path);
    toast(t('duplicated', { name: made?.name ?? row.name }), made?.id ? { action: { label: t('open'), run: () => open(made.id) } } : {});
  } catch (error) {
    toastError(error);
  }
}

export function SearchField({
  value,
  onChange,
  label,
  placeholder,
}: {
  value: string;
  onChange: (text: string) => void;
  label?: string;
  placeholder?: string;
}): ReactElement {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const tell = useEffectEvent(onChange);
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => tell(text), 220);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <div className="field">
      <Icon as={Search} />
      <input
        type="search"
        value={text}
        aria-label={label ?? t('search')}
        placeholder={placeholder ?? t('search')}
        onChange={(e) => setText(e.target.value)}
      />
    </div>
  );
}

export function DeleteDialog({
  path,
  row,
  onClose,
  onDone,
}: {
  path: string;
  row: Named;
  onClose: () => void;
  onDone?: () => void;
}): ReactElement {
  const [used, setUsed] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const run = async (force: boolean): Promise<void> => {
    setBusy(true);
    try {
      await remove(`${path}/${row.id}`, force ? { force: true } : {});
      refresh(path);
      onClose();
      onDone?.();
    } catch (error) {
      if (isProblem(error) && error.code === 'in_use')
        setUsed(((error.body.used_by as { name: string }[]) ?? []).map((u) => u.name).join(', '));
      else {
        toastError(error);
        onClose();
      }
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open onClose={onClose} title={t('delete.title', { name: row.name })}>
      <p className="ink2">{used === null ? t('delete.text') : t('delete.inuse', { names: used })}</p>
      <div className="foot">
        <Button onClick={onClose}>{t('cancel')}</Button>
        {/* The second half of a double click is no second answer. */}
        <Button look="dng" disabled={busy} onClick={(e) => e.detail < 2 && void run(used !== null)}>
          {used === null ? t('delete') : t('delete.force')}
        </Button>
      </div>
    </Dialog>
  );
}

/** Owns editing one stored definition: what is saved, what is changed, the conflict between two people. */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import { post, put } from '../api/client';
import { isProblem } from '../api/problem';
import { refresh, useItem } from '../api/queries';
import { t, tx } from '../i18n';
import { Button } from './button';
import { Dialog } from './dialog';
import { toast, toastError } from './toast';

interface Stored {
  id: string;
  revision: number;
  locked: boolean;
  name: string;
}

export interface Editing<T> {
  value: T | null;
  saved: T | undefined;
  error: unknown;
  fresh: boolean;
  dirty: boolean;
  busy: boolean;
  locked: boolean;
  errors: Record<string, string[]>;
  conflict: T | null;
  set: (change: Partial<T>) => void;
  save: (force?: boolean) => Promise<T | null>;
  discard: () => void;
  takeTheirs: () => void;
  keepMine: () => void;
  retry: () => void;
}

/** Changes that were not saved outlive leaving the page, as long as the tab. */
const kept = new Map<string, { change: object; since: number | undefined }>();

/** The engine names a field by its key; who reads the form knows its label. */
const named = (errors: Record<string, string[]>): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(errors).map(([key, all]) => {
      const last = key.slice(key.lastIndexOf('.') + 1);
      return [key, all.map((text) => (text.startsWith(`${key} `) ? tx(last, tx(`key.${last}`, last)) + text.slice(key.length) : text))];
    }),
  );

/** `id` of `new` starts from `blank` and posts; any other id is loaded and put. */
export function useDefinition<T extends Stored>(kind: string, id: string, blank: Partial<T>, page: string): Editing<T> {
  const fresh = id === 'new';
  const item = useItem<T>(kind, fresh ? undefined : id);
  const cache = useQueryClient();
  const [, go] = useLocation();
  const place = `${kind}/${id}`;
  const [change, setChange] = useState<Partial<T>>(() => (kept.get(place)?.change as Partial<T> | undefined) ?? {});
  /** The revision that the first change was made to: what others saved since then is a conflict. */
  const since = useRef(kept.get(place)?.since);
  const [errors, setErrors] = useState<Record<string, string[]>>({});
  const [conflict, setConflict] = useState<T | null>(null);
  const [busy, setBusy] = useState(false);
  const base = fresh ? (blank as T) : item.data;
  const value = base ? { ...base, ...change } : null;
  const dirty = Object.keys(change).length > 0;

  useEffect(() => {
    if (!dirty) {
      kept.delete(place);
      return;
    }
    kept.set(place, { change, since: since.current });
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, [dirty, change, place]);

  const revision = base?.revision;
  const set = useCallback(
    (next: Partial<T>) =>
      setChange((before) => {
        if (Object.keys(before).length === 0) since.current = revision;
        return { ...before, ...next };
      }),
    [revision],
  );
  const store = (answer: T): unknown => cache.setQueryData([`/api/${kind}`, answer.id], answer);
  const save = async (force = false): Promise<T | null> => {
    if (!value) return null;
    setBusy(true);
    setErrors({});
    try {
      const answer = fresh
        ? await post<T>(`/api/${kind}`, value)
        : await put<T>(`/api/${kind}/${value.id}`, { ...value, revision: undefined }, force ? null : (since.current ?? revision));
      store(answer);
      since.current = answer.revision;
      refresh(`/api/${kind}`);
      kept.delete(place);
      setChange({});
      setConflict(null);
      toast(t('saved'));
      if (fresh) go(`/${page}/${answer.id}`, { replace: true });
      return answer;
    } catch (error) {
      if (isProblem(error) && error.code === 'revision_conflict') setConflict(error.body.current as T);
      else {
        if (isProblem(error) && error.status === 422) {
          setErrors(named(error.errors));
          requestAnimationFrame(() => document.querySelector<HTMLElement>('.form [aria-invalid="true"]')?.focus());
        }
        const told = isProblem(error) && Object.values(named(error.errors))[0]?.[0];
        if (told) toast(t('error.action', { message: told }), { fail: true });
        else toastError(error);
      }
      return null;
    } finally {
      setBusy(false);
    }
  };
  const takeTheirs = (): void => {
    if (conflict) void store(conflict);
    setChange({});
    setConflict(null);
  };
  return {
    value,
    saved: item.data,
    error: item.isError && !item.data ? item.error : null,
    fresh,
    dirty: dirty || fresh,
    busy,
    errors,
    conflict,
    locked: !!item.data?.locked,
    set,
    save,
    discard: () => {
      setChange({});
      setErrors({});
    },
    takeTheirs,
    keepMine: () => void save(true),
    retry: () => void item.refetch(),
  };
}

export function SaveButton<T>({ editing }: { editing: Editing<T> }): ReactElement {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!(event.metaKey || event.ctrlKey) || event.shiftKey || event.key.toLowerCase() !== 's') return;
      event.preventDefault();
      if (editing.dirty && !editing.busy && !editing.locked) void editing.save();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });
  return editing.error ? (
    <></>
  ) : (
    <>
      {editing.dirty && !editing.fresh && (
        <>
          <span className="mut small hide-m">{t('unsaved')}</span>
          <Button look="ghost" onClick={editing.discard}>
            {t('discard')}
          </Button>
        </>
      )}
      <Button
        look="pri"
        disabled={editing.busy || !editing.dirty}
        reason={editing.locked && t('locked')}
        onClick={() => void editing.save()}
      >
        {editing.busy ? t('saving') : editing.fresh ? t('create') : t('save')}
      </Button>
      <ConflictDialog editing={editing} />
    </>
  );
}

function ConflictDialog<T>({ editing }: { editing: Editing<T> }): ReactElement {
  return (
    <Dialog open={editing.conflict !== null} onClose={editing.takeTheirs} title={t('error.conflict')}>
      <p className="ink2">{t('error.conflict.text')}</p>
      <div className="foot">
        <Button onClick={editing.takeTheirs}>{t('conflict.theirs')}</Button>
        <Button look="pri" onClick={editing.keepMine}>
          {t('conflict.mine')}
        </Button>
      </div>
    </Dialog>
  );
}

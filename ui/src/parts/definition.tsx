/** Owns editing one stored definition: what is saved, what is changed, the conflict between two people. */
import { useCallback, useEffect, useState, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import { useStore } from 'zustand';
import { useItem } from '../api/queries';
import { changes } from '../graph/diff';
import { t } from '../i18n';
import { Button } from './button';
import { ConflictDialog } from './conflict';
import { copy } from './copy';
import { DiffList } from './diff';
import { commitField, unread } from './field';
import { FormSession, labelled, type Stored } from './form-session';
import { watchLeaving } from './unsaved';

export interface Editing<T> {
  value: T | null;
  saved: T | undefined;
  error: unknown;
  fresh: boolean;
  dirty: boolean;
  busy: boolean;
  locked: boolean;
  errors: Record<string, string[]>;
  conflict: { base: T; mine: T; theirs: T } | null;
  set: (change: Partial<T>) => void;
  save: () => Promise<T | null>;
  discard: () => void;
  takeTheirs: () => unknown;
  saveMine: () => Promise<unknown>;
  copyMine: () => Promise<unknown>;
  later: () => void;
  retry: () => void;
}

/** `id` of `new` starts from `blank` and posts; any other id is loaded and put. */
export function useDefinition<T extends Stored>(kind: string, id: string, blank: Partial<T>, page: string): Editing<T> {
  const fresh = id === 'new';
  const item = useItem<T>(kind, fresh ? undefined : id);
  const [, go] = useLocation();
  const [session] = useState(() => FormSession.of<T>(kind, id));
  const { change, base, busy, errors, conflict, asking } = useStore(session.store);
  useEffect(() => {
    const gone = [session.show(), watchLeaving(() => session.dirty || unread('.form'))];
    return () => gone.forEach((undo) => undo());
  }, [session]);
  const dirty = Object.keys(change).length > 0;
  const saved = fresh ? (blank as T) : item.data;
  const shown = (dirty && base) || saved;
  const value = shown ? { ...shown, ...change } : null;
  const set = useCallback(
    (next: Partial<T>) => {
      if (saved) session.type(next, saved);
    },
    [session, saved],
  );
  const from = fresh ? (blank as T) : null;
  const opened = (answer: T | null): T | null => {
    if (answer && fresh && session.here) go(`/${page}/${answer.id}`, { replace: true });
    return answer;
  };
  const save = async (): Promise<T | null> => (!value || unread('.form') ? null : opened(await session.save(from)));
  return {
    value,
    saved: item.data,
    error: item.isError && !item.data ? item.error : null,
    fresh,
    dirty: dirty || fresh,
    busy,
    errors,
    conflict: asking && conflict && base && value ? { base, mine: value, theirs: conflict } : null,
    locked: !!item.data?.locked,
    set,
    save,
    discard: () => session.discard(),
    takeTheirs: () => opened(session.takeTheirs()),
    saveMine: async () => opened(await session.saveMine(from)),
    copyMine: () => copy(session.typed()),
    later: () => session.tell({ asking: false }),
    retry: () => void item.refetch(),
  };
}

export function SaveButton<T extends Stored>({ editing }: { editing: Editing<T> }): ReactElement {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!(event.metaKey || event.ctrlKey) || event.shiftKey || event.key.toLowerCase() !== 's') return;
      event.preventDefault();
      commitField();
      if (!editing.locked) void editing.save();
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
      <Conflict editing={editing} />
    </>
  );
}

/** What the server counts for itself is nobody's change. */
const OWN = new Set(['revision', 'updated_at', 'created_at', 'updated_by']);
/** A token itself is not for others to read. */
const secret = (key: string, value: unknown): unknown =>
  key === 'token' && typeof value === 'string' && !value.startsWith('secret:') ? '••••' : value;
const told = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).flatMap(([key, v]) => (OWN.has(key) ? [] : [[key, secret(key, v)]])));

function Conflict<T extends Stored>({ editing }: { editing: Editing<T> }): ReactElement {
  const { base, mine, theirs } = editing.conflict ?? {};
  const against = (value: T | undefined): ReactElement => (
    <DiffList list={base && value ? changes(told(base), told(value)) : []} label={labelled} />
  );
  return (
    <ConflictDialog
      open={editing.conflict !== null}
      text={t('error.conflict.text')}
      mine={against(mine)}
      theirs={against(theirs)}
      copyLabel={t('conflict.copy')}
      onMine={editing.saveMine}
      onTheirs={editing.takeTheirs}
      onCopy={editing.copyMine}
      onLater={editing.later}
    />
  );
}

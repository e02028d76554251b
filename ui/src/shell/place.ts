/** Owns where we are: width class, search parameters, document title. */
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import { useLocation, useSearch } from 'wouter';
import { t } from '../i18n';

export type Width = 'phone' | 'narrow' | 'medium' | 'full';
const marks: [Width, string][] = [
  ['full', '(min-width: 1280px)'],
  ['medium', '(min-width: 960px)'],
  ['narrow', '(min-width: 640px)'],
];

const current = (): Width => marks.find(([, query]) => matchMedia(query).matches)?.[0] ?? 'phone';
function listen(changed: () => void): () => void {
  const lists = marks.map(([, query]) => matchMedia(query));
  for (const list of lists) list.addEventListener('change', changed);
  return () => {
    for (const list of lists) list.removeEventListener('change', changed);
  };
}
export const useWidth = (): Width => useSyncExternalStore(listen, current);

/** View state kept in the address. */
export function useAddress(): [URLSearchParams, (change: Record<string, string | null | undefined>, push?: boolean) => void] {
  const search = useSearch();
  const [location, go] = useLocation();
  const params = useMemo(() => new URLSearchParams(search), [search]);
  const set = useCallback(
    (change: Record<string, string | null | undefined>, push = false) => {
      const next = new URLSearchParams(window.location.search);
      for (const [key, value] of Object.entries(change)) {
        if (value) next.set(key, value);
        else next.delete(key);
      }
      const text = next.toString();
      go(location + (text ? `?${text}` : ''), { replace: !push });
    },
    [location, go],
  );
  return [params, set];
}

export function useTitle(title: string, live = false): void {
  useEffect(() => {
    document.title = `${live ? '● ' : ''}${title} · ${t('studio')}`;
  }, [title, live]);
}

/** Whether the part is still there: one who has gone elsewhere is not called back. */
export function useHere(): { readonly current: boolean } {
  const here = useRef(true);
  useEffect(() => {
    here.current = true;
    return () => {
      here.current = false;
    };
  }, []);
  return here;
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
export const mod = isMac ? '⌘' : 'Ctrl ';

/** Owns the local journal: every change is on disk before the server hears of it. */
import type { Graph } from '../api/types';
import { mount } from '../api/root';
import type { History } from '../graph/history';

export interface Journal {
  graph: Graph;
  history: History;
  draftRevision: number | null;
  basedOn: number;
  unsent: boolean;
  at: number;
}

let opening: Promise<IDBDatabase> | null = null;
function database(): Promise<IDBDatabase> {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('workflow-studio', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('journal');
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error as Error);
  });
  return opening;
}

const key = (id: string): string => `${mount}:${id}`;

async function run<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | null> {
  try {
    const db = await database();
    return await new Promise((resolve, reject) => {
      const request = act(db.transaction('journal', mode).objectStore('journal'));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error as Error);
    });
  } catch {
    return null;
  }
}

export const readJournal = (id: string): Promise<Journal | null> =>
  run('readonly', (store) => store.get(key(id)) as IDBRequest<Journal | null>);
export const writeJournal = (id: string, journal: Journal): Promise<unknown> => run('readwrite', (store) => store.put(journal, key(id)));
export const dropJournal = (id: string): Promise<unknown> => run('readwrite', (store) => store.delete(key(id)));

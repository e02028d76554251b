/** Owns the local journal of one workflow: every change is on disk before the server hears of it, the steps to take back a moment later. */
import { mount } from '../api/root';
import type { Graph } from '@wfstudio/client';
import { noHistory, type History } from '../graph/history';

export interface Kept {
  graph: Graph;
  draftRevision: number | null;
  basedOn: number;
  unsent: boolean;
  /** Sent, and the answer not heard: the server may have it as the draft all the same. */
  unheard?: Graph[];
  at: number;
}
/** The history is of exactly one graph; of another it would take back what was never done. */
type Stamped<T> = T & { stamp?: string };

let opening: Promise<IDBDatabase> | null = null;
function database(): Promise<IDBDatabase> {
  opening ??= new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open('workflow-studio', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('journal');
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error as Error);
  }).catch((error: unknown) => {
    // oxlint-disable-next-line habits/late-writes -- its own entry, taken out
    opening = null;
    throw error;
  });
  return opening;
}

async function run<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T | null> {
  try {
    const db = await database();
    return await new Promise((resolve, reject) => {
      const transaction = db.transaction('journal', mode);
      const request = act(transaction.objectStore('journal'));
      // A full disk is known at the end.
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error as Error);
    });
  } catch {
    return null;
  }
}

export class Journal {
  private readonly key: string;
  private stamp = '';
  private graph: Graph | null = null;
  private writes = 0;

  constructor(id: string) {
    this.key = `${mount}:${id}`;
  }

  async read(): Promise<(Kept & { history: History }) | null> {
    const [kept, past] = await Promise.all([
      run('readonly', (store) => store.get(this.key) as IDBRequest<Stamped<Kept> | undefined>),
      run('readonly', (store) => store.get(`${this.key}:history`) as IDBRequest<Stamped<{ history: History }> | undefined>),
    ]);
    // The history that is shown by now is of no graph that comes from here.
    this.stamp = '';
    if (!kept) return null;
    return { ...kept, history: past && past.stamp && past.stamp === kept.stamp ? past.history : noHistory() };
  }

  /** False when it could not be kept. */
  async write(kept: Omit<Kept, 'at'>): Promise<boolean> {
    const at = Date.now();
    if (kept.graph !== this.graph) {
      this.writes += 1;
      this.stamp = `${at}.${this.writes}`;
      this.graph = kept.graph;
    }
    return (await run('readwrite', (store) => store.put({ ...kept, at, stamp: this.stamp }, this.key))) !== null;
  }

  /** The history of the graph that was written last. */
  async writeHistory(history: History): Promise<void> {
    const { stamp } = this;
    if (stamp) await run('readwrite', (store) => store.put({ history, stamp }, `${this.key}:history`));
  }
}

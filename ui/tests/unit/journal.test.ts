// @vitest-environment jsdom
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Journal } from '../../src/editor/journal';
import { emptyGraph } from '../../src/graph/document';
import { noHistory, perform, type History } from '../../src/graph/history';

/** As much of a database as the journal uses. */
const disk = new Map<string, unknown>();
const later = <T>(result: T): object => {
  const request: { result: T; onsuccess?: () => void } = { result };
  queueMicrotask(() => request.onsuccess?.());
  return request;
};
const database = {
  transaction: () => {
    const transaction: { objectStore: () => object; oncomplete?: () => void } = {
      objectStore: () => ({
        get: (key: string) => ({ result: structuredClone(disk.get(key)) }),
        put: (value: unknown, key: string) => {
          disk.set(key, structuredClone(value));
          return { result: key };
        },
      }),
    };
    queueMicrotask(() => transaction.oncomplete?.());
    return transaction;
  },
};
vi.stubGlobal('indexedDB', { open: () => later(database) });
afterAll(() => vi.unstubAllGlobals());

const node = (id: string) => ({ kind: 'add' as const, node: { id, type: 'llm', position: { x: 0, y: 0 }, data: {} } });

describe('the steps to take back', () => {
  beforeEach(() => disk.clear());

  it('are never kept for a graph that another tab wrote', async () => {
    const mine = perform(emptyGraph(), noHistory(), node('a'));
    const theirs = perform(mine.graph, mine.history, node('b'));
    const first = new Journal('w');
    const second = new Journal('w');
    const kept = { draftRevision: 1, basedOn: 1, unsent: false };
    await first.write({ graph: mine.graph, ...kept });
    await first.writeHistory(mine.history);
    await second.read();
    await first.write({ graph: theirs.graph, ...kept });
    await first.writeHistory(theirs.history);
    // The second one takes over; its page is left before what it read is shown.
    await second.read();
    await second.writeHistory(mine.history);
    const steps = ({ past }: History): number => past.length;
    const found = await new Journal('w').read();
    expect([found?.graph.nodes.length, steps(found?.history ?? noHistory())]).toEqual([2, 2]);
  });
});

// @vitest-environment jsdom
import { QueryClientProvider } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { queries } from '../../src/api/queries';
import type { GraphNode } from '@wfstudio/client';
import { NodeField, type FieldProps } from '../../src/editor/fields';
import { loadLocale } from '../../src/i18n';
import en from '../../src/i18n/en.json';
import { Documents } from '../../src/pages/knowledge/documents';
import Settings from '../../src/pages/settings/page';
import { statusOf, type NodeState } from '../../src/run/view';
import schema from '../graph-schema.json';
import { button, click, render, type, wait } from './dom';
import { json, Server } from './fake-server';

beforeAll(() => loadLocale('en'));
let server: Server;
beforeEach(() => {
  server = new Server();
});
afterEach(() => queries.clear());
const settle = (): Promise<void> => wait(20);
const shown = (page: ReactElement): ReturnType<typeof render> => render(<QueryClientProvider client={queries}>{page}</QueryClientProvider>);

describe('the documents of a base', () => {
  it('name their columns, and are deleted only when somebody says so again', async () => {
    const file = {
      id: 'D',
      name: 'terms.pdf',
      status: 'completed',
      chunk_count: 3,
      total_tokens: 9,
      size_bytes: 9,
      created_at: '2026-11-26',
    };
    server.on('GET', /documents/, () => json({ data: [file], next_cursor: null }));
    server.on('DELETE', /documents/, () => json(null, 204));
    const { host, gone } = await shown(<Documents id="K" />);
    await settle();
    expect([...host.querySelectorAll('th')].map((th) => th.textContent)).toEqual([
      'Name',
      'Status',
      'Chunks',
      'Size',
      'Tokens',
      'Updated',
      'More actions',
    ]);
    await click(document.querySelector('td button') as HTMLElement);
    const item = [...document.querySelectorAll<HTMLElement>('.menu .mi')].find((mi) => mi.textContent === 'Delete');
    await click(item as HTMLElement);
    await settle();
    expect(server.of('DELETE', /documents/)).toHaveLength(0);
    expect(document.querySelector('dialog h2')?.textContent).toContain('terms.pdf');
    await click(button('Delete'));
    await settle();
    expect(server.of('DELETE', /documents/).map((asked) => asked.path)).toEqual([expect.stringContaining('/K/documents/D')]);
    await gone();
  });
});

describe('the reranker of a node', () => {
  it('is one field with a name; what it does not show is kept', async () => {
    let data: Record<string, unknown> = { rerank: { provider: 'cohere', model: 'rerank-v3.5', candidates: 20 } };
    function Form(): ReactElement {
      const [now, setNow] = useState(data);
      data = now;
      const spec = { name: 'rerank', type: 'object', default: null, required: false, template: false };
      const props = { spec, node: { id: 'rag_1', type: 'rag', data: now } as unknown as GraphNode, disabled: false };
      return <NodeField {...(props as unknown as FieldProps)} set={(next) => setNow({ ...now, ...next })} />;
    }
    const { host, gone } = await render(<Form />);
    const field = host.querySelector('input') as HTMLInputElement;
    expect([host.querySelector('label')?.textContent, field.value]).toEqual(['Reranker', 'cohere/rerank-v3.5']);
    await type(field, 'jina/v2');
    expect(data.rerank).toEqual({ provider: 'jina', model: 'v2', candidates: 20 });
    await type(field, '');
    expect(data.rerank).toBeUndefined();
    await gone();
  });
});

describe('the settings', () => {
  it('let a long row of models go on in the next line', async () => {
    const model = (id: string): object => ({ id, label: id, capabilities: [], context_window: null, price: null });
    const one = { id: 'lab', label: 'Lab', configured: true, embeddings: [], models: ['a', 'b'].map(model) };
    server.on('GET', /settings/, () => json({ flags: {}, keys: [] }));
    server.on('GET', /providers/, () => json({ data: [one], default_provider: 'x', default_model: 'x' }));
    const { host, gone } = await shown(<Settings />);
    await settle();
    expect(host.querySelector('.pill')?.parentElement?.textContent).toBe('a b ');
    await gone();
  });
});

describe('the state of a step', () => {
  it('has a word in the outline', () => {
    const all: NodeState[] = ['queued', 'running', 'streaming', 'waiting', 'done', 'reused', 'failed', 'skipped'];
    expect(all.filter((state) => !(`status.${statusOf(state)}` in en))).toEqual([]);
  });
});

describe('the keys and choices of nodes', () => {
  it('have words', () => {
    const own = ['provider', 'agent_ref', 'operator', 'value_type'];
    const keys = schema.node_types
      .flatMap((one) => one.keys as { name: string; values?: string[] }[])
      .filter((key) => !own.includes(key.name));
    const words = keys.flatMap(({ name, values = [] }) => [
      name === 'rerank' ? 'kb.rerank' : `key.${name}`,
      ...values.map((v) => `value.${v}`),
    ]);
    expect(words.filter((word) => !(word in en))).toEqual([]);
  });
});

import { describe, expect, it, vi } from 'vitest';
import type { Message } from '@wfstudio/client';

vi.stubGlobal('document', { querySelector: () => null, documentElement: { lang: 'en' } });
vi.stubGlobal('location', { href: 'http://localhost/studio' });
const { firstStored } = await import('../../src/pages/playground/branch');
const { chatBody, noOverrides, newTurn } = await import('../../src/pages/playground/turns');
const { exampleOf, EXAMPLES, modelOf } = await import('../../src/pages/start/examples');

const message = (id: string, role: Message['role'], trace_id: string): Message => ({
  id,
  role,
  content: '',
  attachments: [],
  created_at: '',
  trace_id,
  meta: {},
});

describe('a branch', () => {
  const stored = [
    message('m1', 'user', 'r1'),
    message('m2', 'assistant', 'r1'),
    message('m3', 'user', 'r3'),
    message('m4', 'assistant', 'r3'),
  ];
  const said = (key: string) => newTurn('user', key, { key });
  const answer = (trace: string, state: 'done' | 'failed' = 'done') => newTurn('assistant', '', { trace, state });

  it('begins before a message that was loaded', () => expect(firstStored([said('m3'), answer('r3')], stored)).toBe('m3'));
  it('finds a message that was just said by its run', () => expect(firstStored([said('t7'), answer('r3')], stored)).toBe('m3'));
  it('begins before the next stored message when a turn failed', () =>
    expect(firstStored([said('t1'), answer('r2', 'failed'), said('t2'), answer('r3')], stored)).toBe('m3'));
  it('is none when nothing was stored from there on', () =>
    expect(firstStored([said('t9'), answer('r9', 'failed')], stored)).toBeUndefined());
});

describe('what a turn asks', () => {
  it('names only what differs from the agent', () => expect(chatBody('hi', [], null, noOverrides())).toEqual({ message: 'hi' }));
  it('names the model with its provider', () =>
    expect(chatBody('hi', [], 't', { ...noOverrides(), model: { provider: 'script', model: 'echo' } })).toEqual({
      message: 'hi',
      thread_id: 't',
      provider: 'script',
      model: 'echo',
    }));
});

describe('the examples', () => {
  const free = modelOf(undefined);
  it('need no key', () => expect(free).toEqual({ provider: 'script', model: 'demo', free: true }));
  it.each(EXAMPLES)('%s leads from start to stop with every edge at two nodes', (id) => {
    const { graph, agents } = exampleOf(id, free);
    const ids = new Set(graph.nodes.map((n) => n.id));
    for (const e of graph.edges) {
      expect(ids.has(e.source) && ids.has(e.target)).toBe(true);
    }
    expect(new Set(graph.edges.map((e) => e.id)).size).toBe(graph.edges.length);
    expect(graph.nodes.filter((n) => n.type === 'start')).toHaveLength(1);
    expect(new Set(graph.nodes.map((n) => n.title)).size, 'titles differ').toBe(graph.nodes.length);
    for (const n of graph.nodes) if (n.type === 'agent') expect(agents.map((a) => a.slug)).toContain(n.data.agent_id);
  });
});

import { describe, expect, it } from 'vitest';
import type { Graph, GraphNode, GraphSchema } from '@wfstudio/client';
import { refusal, sourceHandles, targetHandles } from '../../src/graph/connect';
import { lanes, outline } from '../../src/graph/order';
import served from '../graph-schema.json';

/** As the engine served it; remade by asking it again. */
const schema = served as unknown as GraphSchema;
const has = (list: string, word: string): boolean => list.split('|').includes(word);
const TYPES = ['start', 'stop', 'agent', 'llm', 'rag', 'tool', 'mcp', 'human', 'fork', 'join', 'loop', 'set_state', 'condition'];
const node = (id: string, type: string, data: Record<string, unknown> = {}): GraphNode => ({ id, type, position: { x: 0, y: 0 }, data });
const graph = (...nodes: GraphNode[]): Graph => ({ version: 1, nodes, edges: [], annotations: [], viewport: { x: 0, y: 0, zoom: 1 } });

describe('connecting', () => {
  it('agrees with the served table for every pair of types and handles', () => {
    for (const source of TYPES) {
      for (const target of TYPES) {
        for (const inline of [true, false]) {
          const data = inline ? { config_mode: 'inline' } : { config_mode: 'existing', agent_id: 'x' };
          const g = graph(node('s', source, source === 'fork' ? { branches: ['b'] } : {}), node('t', target, data));
          const handles = schema.node_types.find((t) => t.type === source)?.source_handles ?? [];
          for (const handle of source === 'fork' ? [...handles, 'b'] : handles) {
            for (const th of ['default', 'tools']) {
              const listed = schema.connections.some(
                (c) =>
                  has(c.source, source) &&
                  has(c.target, target) &&
                  c.target_handle === th &&
                  (has(c.source_handle, handle) || (c.source_handle === '<branch>' && handle === 'b')) &&
                  !/is in tool mode/.test(c.when ?? '') &&
                  (inline || !/inline/.test(c.when ?? '')),
              );
              expect(
                refusal(schema, g, { node: 's', handle }, { node: 't', handle: th }) === null,
                `${source}.${handle} > ${target}.${th} inline ${inline}`,
              ).toBe(listed);
            }
          }
        }
      }
    }
  });

  it('lets a tool mode agent bind, and nothing else', () => {
    const g = graph(
      node('spec', 'agent', { tool_mode: true, config_mode: 'inline' }),
      node('boss', 'agent', { config_mode: 'inline' }),
      node('stop', 'stop'),
    );
    expect(refusal(schema, g, { node: 'spec', handle: 'toolset' }, { node: 'boss', handle: 'tools' })).toBeNull();
    expect(refusal(schema, g, { node: 'spec', handle: 'default' }, { node: 'stop', handle: 'default' })).toBe('tool_mode');
    expect(refusal(schema, g, { node: 'boss', handle: 'toolset' }, { node: 'spec', handle: 'tools' })).not.toBeNull();
    expect(refusal(schema, g, { node: 'boss', handle: 'default' }, { node: 'boss', handle: 'default' })).toBe('self');
  });

  it('shows a handle only where it can be taken', () => {
    const g = graph();
    expect(sourceHandles(node('a', 'agent'), g, schema)).toEqual(['default']);
    expect(sourceHandles(node('a', 'agent', { require_tool_approval: true, on_error: 'continue' }), g, schema)).toEqual([
      'default',
      'rejected',
      'error',
    ]);
    expect(sourceHandles(node('a', 'agent', { tool_mode: true }), g, schema)).toEqual(['toolset']);
    expect(sourceHandles(node('f', 'fork', { branches: ['x', 'y'] }), g, schema)).toEqual(['default', 'x', 'y']);
    expect(targetHandles(node('a', 'agent', { agent_id: 'x' }))).toEqual(['default']);
    expect(targetHandles(node('a', 'agent', { config_mode: 'inline' }))).toEqual(['default', 'tools']);
  });

  it('reads lanes and tells a fork in run order', () => {
    const wire = (source: string, sourceHandle: string, target: string): Graph['edges'][number] => ({
      id: `${source}${sourceHandle}`,
      source,
      sourceHandle,
      target,
      targetHandle: 'default',
    });
    const g = {
      ...graph(
        node('s', 'start'),
        node('f', 'fork', { branches: ['x', 'y'] }),
        node('a', 'llm'),
        node('b', 'llm'),
        node('j', 'join'),
        node('z', 'stop'),
      ),
      edges: [
        wire('s', 'default', 'f'),
        wire('f', 'default', 'j'),
        wire('f', 'x', 'a'),
        wire('f', 'y', 'b'),
        wire('a', 'default', 'j'),
        wire('b', 'default', 'j'),
        wire('j', 'default', 'z'),
      ],
    };
    expect(lanes(g)).toEqual([
      { fork: 'f', branch: 'x', nodes: ['a'] },
      { fork: 'f', branch: 'y', nodes: ['b'] },
    ]);
    expect(outline(g).map((r) => `${r.node.id}${r.depth}`)).toEqual(['s0', 'f0', 'a1', 'b1', 'j0', 'z0']);
  });
});

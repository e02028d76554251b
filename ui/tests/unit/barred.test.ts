// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from 'vitest';
import type { Graph } from '@wfstudio/client';
import { duplicateSelection, removeSelection } from '../../src/editor/actions';
import { panel } from '../../src/editor/panel';
import { act, openDocument, redoStep, replaceGraph, undoStep, useEditor } from '../../src/editor/store';
import { emptyGraph } from '../../src/graph/document';

const graph: Graph = {
  ...emptyGraph(),
  nodes: [
    { id: 'start_1', type: 'start', position: { x: 0, y: 0 }, data: {} },
    { id: 'llm_1', type: 'llm', position: { x: 200, y: 0 }, data: {} },
  ],
};
const ids = (): string[] => useEditor.getState().graph.nodes.map((n) => n.id);

describe('what the keys and menus do', () => {
  beforeEach(() => {
    panel({ locked: false });
    openDocument({ graph, selection: ['llm_1'] });
    act({ kind: 'move', positions: { llm_1: { x: 300, y: 0 } } });
  });
  const all = (): void => {
    removeSelection();
    duplicateSelection();
    act({ kind: 'move', positions: { start_1: { x: 9, y: 9 } } });
    undoStep();
    redoStep();
  };

  for (const mode of ['run', 'history'] as const)
    it(`changes nothing while the mode is ${mode}`, () => {
      useEditor.setState({ mode });
      const before = useEditor.getState();
      all();
      expect(useEditor.getState()).toBe(before);
    });
  it('changes nothing while the canvas is locked, or the tab only reads', () => {
    panel({ locked: true });
    const before = useEditor.getState();
    all();
    expect(useEditor.getState()).toBe(before);
    panel({ locked: false });
    useEditor.setState({ readOnly: 'other' });
    const read = useEditor.getState();
    all();
    replaceGraph(emptyGraph());
    expect(useEditor.getState()).toBe(read);
  });
  it('changes the graph in design', () => {
    removeSelection();
    expect(ids()).toEqual(['start_1']);
    undoStep();
    expect(ids()).toEqual(['start_1', 'llm_1']);
  });
  it('does not keep a chosen version from being loaded', () => {
    useEditor.setState({ mode: 'history' });
    replaceGraph({ ...graph, nodes: graph.nodes.slice(0, 1) });
    expect([ids(), useEditor.getState().selection]).toEqual([['start_1'], []]);
  });
});

// @vitest-environment jsdom
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Workflow } from '@wfstudio/client';
import { cutSelection, copySelection } from '../../src/editor/actions';
import { blank, useEditor } from '../../src/editor/store';
import { emptyGraph } from '../../src/graph/document';
import { loadLocale } from '../../src/i18n';

beforeAll(() => loadLocale('en'));
const nodes = () => useEditor.getState().graph.nodes.map((n) => n.id);
const later = (): Promise<void> => new Promise((done) => setTimeout(done, 5));

describe('what is cut', () => {
  beforeEach(() => {
    const graph = { ...emptyGraph(), nodes: [{ id: 'llm_1', type: 'llm', position: { x: 0, y: 0 }, data: {} }] };
    useEditor.setState({ ...blank(), workflow: { id: 'w' } as Workflow, graph, selection: ['llm_1'] });
  });
  afterEach(() => {
    Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
    delete (document as { execCommand?: unknown }).execCommand;
    useEditor.setState(blank());
  });

  it('stays where there is no clipboard to keep it', async () => {
    cutSelection();
    await later();
    expect(nodes()).toEqual(['llm_1']);
  });

  it('stays where the browser refuses, without an error that nobody takes', async () => {
    Object.defineProperty(navigator, 'clipboard', { value: { writeText: () => Promise.reject(new Error('no')) }, configurable: true });
    const fault = vi.fn();
    process.on('unhandledRejection', fault);
    copySelection();
    cutSelection();
    await later();
    process.off('unhandledRejection', fault);
    expect([nodes(), fault.mock.calls.length]).toEqual([['llm_1'], 0]);
  });

  it('goes once the clipboard has it, also where the page is not served safely', async () => {
    const writeText = vi.fn(() => Promise.resolve());
    Object.defineProperty(navigator, 'clipboard', { value: { writeText }, configurable: true });
    cutSelection();
    await later();
    expect([nodes(), writeText.mock.calls.length]).toEqual([[], 1]);
    Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
    (document as { execCommand?: unknown }).execCommand = () => true;
    const graph = { ...emptyGraph(), nodes: [{ id: 'llm_2', type: 'llm', position: { x: 0, y: 0 }, data: {} }] };
    useEditor.setState({ graph, selection: ['llm_2'] });
    cutSelection();
    await later();
    expect(nodes()).toEqual([]);
  });
});

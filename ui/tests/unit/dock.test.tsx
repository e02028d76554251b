// @vitest-environment jsdom
import { ReactFlowProvider } from '@xyflow/react';
import { QueryClientProvider } from '@tanstack/react-query';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { queries } from '../../src/api/queries';
import type { Issue } from '@wfstudio/client';
import { Dock } from '../../src/editor/dock';
import { panel, usePanels } from '../../src/editor/panel';
import { tell } from '../../src/editor/store';
import { loadLocale } from '../../src/i18n';
import { act, click, render } from './dom';

/** As wide as this many pixels. */
function wide(px: number): void {
  window.matchMedia = ((query: string) => ({
    matches: px >= Number(/\d+/.exec(query)?.[0]),
    addEventListener() {},
    removeEventListener() {},
  })) as never;
}
HTMLElement.prototype.scrollIntoView ??= () => undefined;

beforeAll(() => loadLocale('en'));
afterEach(() => usePanels.setState(usePanels.getInitialState()));

describe('what lies under the canvas', () => {
  const issue = { code: 'path_missing', severity: 'error', message: 'No path leads to a stop node.', node_id: null, edge_id: null };
  const shown = async (px: number) => {
    wide(px);
    tell({ issues: [issue as unknown as Issue] });
    const { host, gone } = await render(
      <QueryClientProvider client={queries}>
        <ReactFlowProvider>
          <Dock onRun={() => undefined} />
        </ReactFlowProvider>
      </QueryClientProvider>,
    );
    const left = host.querySelector('.dl-l') as HTMLElement;
    const tab = (label: string) => [...left.querySelectorAll<HTMLElement>('[role=tab]')].find((one) => one.textContent?.startsWith(label));
    return { left, tab, gone };
  };

  it('tells problems beside the chat on a phone, and opens, changes and shuts', async () => {
    panel({ dockOpen: false });
    const { left, tab, gone } = await shown(390);
    expect(left.textContent).not.toContain(issue.message);
    await act(async () => panel({ dock: 'problems' }));
    expect([tab('Problems')?.getAttribute('aria-selected'), left.textContent?.includes(issue.message)]).toEqual(['true', true]);
    await click(tab('Initial state') as HTMLElement);
    expect(left.querySelector('textarea')).toBeTruthy();
    await click(left.querySelector('[aria-expanded=true]') as HTMLElement);
    expect(left.querySelector('textarea')).toBeNull();
    await click(tab('Chat') as HTMLElement);
    expect(left.querySelector('#composer')).toBeTruthy();
    await gone();
  });

  it('leaves problems to the other side where there is room for two', async () => {
    const { left, tab, gone } = await shown(800);
    await act(async () => panel({ dock: 'problems' }));
    expect([tab('Problems'), left.textContent?.includes(issue.message)]).toEqual([undefined, false]);
    expect(document.querySelector('.dl-r')?.textContent).toContain(issue.message);
    await gone();
  });
});

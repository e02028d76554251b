// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { askOnBack, useLeaving, watchLeaving } from '../../src/parts/unsaved';

const until = (look: () => boolean): Promise<void> => vi.waitFor(() => expect(look()).toBe(true), { timeout: 10_000, interval: 10 });
const push = (to: string): void => {
  history.pushState({ n: ((history.state as { n: number } | null)?.n ?? 0) + 1 }, '', to);
  window.dispatchEvent(new Event('pushState'));
};

let asks = false;

describe('the Back of the browser', () => {
  let dirty = true;
  let heard: string[] = [];
  const undo: (() => void)[] = [];
  const hear = (): void => void heard.push(location.pathname);

  beforeEach(() => {
    Object.defineProperty(window, 'navigation', {
      configurable: true,
      value: {
        get currentEntry() {
          return { index: (history.state as { n: number } | null)?.n ?? 0 };
        },
      },
    });
    push('/agents');
    if (!asks) askOnBack();
    asks = true;
    window.addEventListener('popstate', hear);
    push('/agents/a');
    dirty = true;
    heard = [];
    undo.push(
      watchLeaving(() => dirty),
      () => window.removeEventListener('popstate', hear),
    );
  });
  afterEach(() => {
    undo.splice(0).forEach((one) => one());
    useLeaving.setState({ go: null });
  });

  it('asks before a form with something unsaved is left, and goes once that is wanted', async () => {
    history.back();
    await until(() => useLeaving.getState().go !== null);
    expect(location.pathname).toBe('/agents/a');
    expect(heard).toEqual([]);
    const { go } = useLeaving.getState();
    expect(go).not.toBeNull();
    useLeaving.setState({ go: null });
    go?.();
    await until(() => heard.length > 0);
    expect(location.pathname).toBe('/agents');
    expect(heard).toEqual(['/agents']);
    expect(useLeaving.getState().go).toBeNull();
  });

  it('asks nothing where nothing is unsaved', async () => {
    dirty = false;
    history.back();
    await until(() => location.pathname === '/agents');
    expect(location.pathname).toBe('/agents');
    expect(useLeaving.getState().go).toBeNull();
  });

  it('asks nothing where only the view of the same page changes', async () => {
    push('/agents/a?tab=tools');
    history.back();
    await until(() => location.search === '');
    expect(location.search).toBe('');
    expect(useLeaving.getState().go).toBeNull();
  });
});

// @vitest-environment jsdom
import { useState, type ReactElement } from 'react';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Fallback, Providers } from '@wfstudio/client';
import { FallbacksField } from '../../src/editor/fallbacks';
import { loadLocale } from '../../src/i18n';
import { button, click, render } from './dom';

beforeAll(() => loadLocale('en'));

const model = (id: string): object => ({ id, label: id, capabilities: [], context_window: null, price: null });
const providers = {
  data: [{ id: 'two', label: 'Two', configured: true, embeddings: [], models: ['a', 'b', 'c'].map(model) }],
  default_provider: 'two',
  default_model: 'c',
} as unknown as Providers;

describe('the list of fallbacks', () => {
  it('is ordered, filled and emptied, and keeps what it does not show', async () => {
    const own = { credential: 'secret:OWN', parameters: { max_tokens: 5 } };
    let last: Fallback[] = [];
    function Form(): ReactElement {
      const [value, set] = useState<Fallback[]>([
        { provider: 'two', model: 'a', ...own },
        { provider: 'two', model: 'b' },
      ]);
      last = value;
      return <FallbacksField value={value} onChange={set} providers={providers} />;
    }
    const { gone } = await render(<Form />);
    const labelled = (label: string): HTMLButtonElement => document.querySelector(`button[aria-label="${label}"]`) as HTMLButtonElement;
    expect(labelled('Earlier: two/a').disabled && labelled('Later: two/b').disabled).toBe(true);
    await click(labelled('Later: two/a'));
    expect(last).toEqual([
      { provider: 'two', model: 'b' },
      { provider: 'two', model: 'a', ...own },
    ]);
    await click(button('Add a fallback'));
    await click(button('Add a fallback'));
    expect(last.map((one) => one.model)).toEqual(['b', 'a', 'c', 'c']);
    expect(document.body.textContent).not.toContain('Add a fallback');
    await click(labelled('Remove: two/b'));
    expect(last.map((one) => one.model)).toEqual(['a', 'c', 'c']);
    expect(last[0]).toMatchObject(own);
    await gone();
  });
});

// @vitest-environment jsdom
import { useState, type ReactElement } from 'react';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Fallback, Providers } from '@wfstudio/client';
import { FallbacksField } from '../../src/editor/fallbacks';
import { loadLocale } from '../../src/i18n';
import { commitField } from '../../src/parts/field';
import { ListField } from '../../src/parts/form';
import { DateRange } from '../../src/parts/range';
import { act, click, render, type } from './dom';

beforeAll(() => loadLocale('en'));
afterEach(() => document.body.replaceChildren());

describe('a list that is written as text', () => {
  it('keeps the hands on it when it is saved in the middle, and what it is changed to from elsewhere is shown', async () => {
    let put: (tags: string[]) => void = () => undefined;
    let last: string[] = [];
    function Form(): ReactElement {
      const [tags, set] = useState(['a']);
      put = set;
      last = tags;
      return <ListField label="Tags" value={tags} onChange={set} />;
    }
    const { host, gone } = await render(<Form />);
    const field = host.querySelector('input') as HTMLInputElement;
    field.focus();
    await type(field, 'a,b');
    await act(async () => commitField());
    expect([last, document.activeElement === host.querySelector('input'), host.querySelector('input')?.value]).toEqual([
      ['a', 'b'],
      true,
      'a, b',
    ]);
    await act(async () => put(['z']));
    expect(host.querySelector('input')?.value).toBe('z');
    await type(field, 'z, half a w');
    await act(async () => put(['y']));
    expect(field.value).toBe('z, half a w');
    await act(async () => commitField());
    expect(last).toEqual(['z', 'half a w']);
    await gone();
  });
});

describe('the model of a fallback', () => {
  it('is chosen with the keys of its list, which keeps the focus', async () => {
    const model = (id: string): object => ({ id, label: id, capabilities: [], context_window: null, price: null });
    const providers = { data: [{ id: 'two', label: 'Two', configured: true, embeddings: [], models: ['a', 'b'].map(model) }] };
    function Form(): ReactElement {
      const [value, set] = useState<Fallback[]>([{ provider: 'two', model: 'a' }]);
      return <FallbacksField value={value} onChange={set} providers={providers as unknown as Providers} />;
    }
    const { host, gone } = await render(<Form />);
    const list = (): HTMLSelectElement => host.querySelector('select') as HTMLSelectElement;
    list().focus();
    await act(async () => {
      list().value = 'two\nb';
      list().dispatchEvent(new Event('change', { bubbles: true }));
    });
    expect([list().value, document.activeElement === list()]).toEqual(['two\nb', true]);
    await gone();
  });
});

describe('the last day of a span', () => {
  it('is typed figure by figure, and leaves the first day alone', async () => {
    let range = { from: '2026-10-28', to: '2026-11-26' };
    function Form(): ReactElement {
      const [now, set] = useState(range);
      range = now;
      return <DateRange from={now.from} to={now.to} onChange={set} />;
    }
    const { host, gone } = await render(<Form />);
    await click(host.querySelector('button') as HTMLElement);
    const last = host.querySelectorAll<HTMLInputElement>('input[type=date]')[1] as HTMLInputElement;
    for (const day of ['0002-11-25', '0020-11-25', '0202-11-25', '2026-11-25']) await type(last, day);
    expect([range, last.value]).toEqual([{ from: '2026-10-28', to: '2026-11-25' }, '2026-11-25']);
    await gone();
  });
});

// @vitest-environment jsdom
import { QueryClientProvider } from '@tanstack/react-query';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { queries } from '../../src/api/queries';
import { loadLocale } from '../../src/i18n';
import AgentForm from '../../src/pages/agents/form';
import { act, button, click, render, wait } from './dom';
import { json, Server } from './fake-server';

beforeAll(() => loadLocale('en'));
afterEach(() => queries.clear());
const settle = (): Promise<void> => wait(20);

describe('the form of an agent', () => {
  it('says what becomes of an answer that is cut at its token limit, and keeps what is chosen', async () => {
    const server = new Server();
    const stored = { id: 'a', revision: 1, locked: false, name: 'A', provider: 'p', model: 'm', tools: [], parameters: {}, tags: [] };
    server.on('GET', /./, () => json({ data: [], next_cursor: null }));
    server.on('GET', /settings/, () => json({ flags: {}, settings: [] }));
    server.on('GET', /\/agents\/a$/, () => json({ ...stored, on_length: 'keep' }));
    server.on('PUT', /\/agents\/a$/, ({ body }) => json({ ...stored, ...body, revision: 2 }));
    const { host, gone } = await render(
      <QueryClientProvider client={queries}>
        <AgentForm id="a" />
      </QueryClientProvider>,
    );
    await settle();
    const label = [...host.querySelectorAll('label')].find((one) => one.textContent === 'At the token limit');
    const field = document.getElementById(label?.htmlFor ?? '') as HTMLSelectElement;
    expect([field.value, [...field.options].map((one) => one.value)]).toEqual(['keep', ['keep', 'fail']]);
    await act(async () => {
      Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value')?.set?.call(field, 'fail');
      field.dispatchEvent(new Event('change', { bubbles: true }));
    });
    await click(button('Save'));
    await settle();
    expect(server.of('PUT', /agents/)[0]?.body.on_length).toBe('fail');
    await gone();
  });
});

// @vitest-environment jsdom
import { beforeAll, describe, expect, it } from 'vitest';
import type { Waiting } from '../../src/run/view';
import { loadLocale } from '../../src/i18n';
import { Ask, AskOnNode } from '../../src/run/ask';
import type { Answer } from '../../src/run/session';
import { act, button, click, render, type } from './dom';

beforeAll(() => loadLocale('en'));

const tool = (name: string) => ({ call_id: name, name, arguments: { of: name } });
const pause = (id: string, more: Partial<Waiting> = {}): Waiting => ({
  run: 'T',
  pause_id: id,
  node_id: 'agent_1',
  step_id: '',
  reason: 'tool_approval',
  message: '',
  pending_tools: [tool('look'), tool('pay')],
  created_at: '',
  ...more,
});
const press = (element: Element | null, key: string): Promise<void> =>
  act(async () => void element?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true })));

describe('several calls that wait for approval', () => {
  it('are not all approved by a key while they are decided one by one', async () => {
    const answers: Answer[] = [];
    const { host, gone } = await render(<Ask pause={pause('p1')} busy={false} onAnswer={(a) => answers.push(a)} />);
    await click(button('Decide one by one'));
    const reject = [...host.querySelectorAll<HTMLElement>('[role=radio]')].find((r) => r.textContent === 'Reject') as HTMLElement;
    await click(reject);
    await press(reject, 'a');
    expect(answers).toEqual([]);
    await gone();
  });

  it('are approved by one key where they are decided together', async () => {
    const answers: Answer[] = [];
    const { host, gone } = await render(<Ask pause={pause('p2')} busy={false} onAnswer={(a) => answers.push(a)} />);
    await press(host.querySelector('.appr'), 'a');
    expect(answers).toEqual([{ approval: 'approve' }]);
    await gone();
  });

  it('are looked at first where only one of them is shown', async () => {
    const answers: Answer[] = [];
    let opened = 0;
    const on = (p: Waiting) => <AskOnNode pause={p} busy={false} onAnswer={(a) => answers.push(a)} onOpen={() => (opened += 1)} />;
    const many = await render(on(pause('p3')));
    expect(button('Approve')).toBeUndefined();
    for (const one of many.host.querySelectorAll('button')) await click(one);
    expect([answers, opened > 0]).toEqual([[], true]);
    await many.gone();
    const one = await render(on(pause('p4', { pending_tools: [tool('look')] })));
    await click(button('Approve'));
    expect(answers).toEqual([{ approval: 'approve' }]);
    await one.gone();
  });

  it('are shown with their fixed arguments', async () => {
    const fixed = { ...tool('pay'), fixed_arguments: { account: 'A-77' } };
    const { host, gone } = await render(<Ask pause={pause('p5', { pending_tools: [fixed] })} busy={false} onAnswer={() => undefined} />);
    expect(host.textContent).toContain('A-77');
    await gone();
  });
});

describe('an answer that is being written', () => {
  it('is there again when its question is, and is no answer to another one', async () => {
    const human = (id: string) => <Ask pause={pause(id, { reason: 'human' })} busy={false} onAnswer={() => undefined} />;
    const first = await render(human('h1'));
    await type(first.host.querySelector('textarea') as HTMLTextAreaElement, 'half of it');
    await first.gone();
    const other = await render(human('h2'));
    expect(other.host.querySelector('textarea')?.value).toBe('');
    await other.gone();
    const again = await render(human('h1'));
    expect(again.host.querySelector('textarea')?.value).toBe('half of it');
    await again.gone();
  });
});

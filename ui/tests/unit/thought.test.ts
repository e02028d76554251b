// @vitest-environment jsdom
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { foldChat, fromMessages, newTurn, type Talk } from '../../src/pages/playground/turns';
import { readMessages } from '../../src/pages/traces/messages';
import { CitedList } from '../../src/parts/cited';
import { cited } from '../../src/run/thoughts';
import { fold, noRun } from '../../src/run/view';

const told: [string, Record<string, unknown>][] = [
  ['reasoning', { delta: 'One and ' }],
  ['reasoning', { delta: 'one.' }],
  ['tool_call', { call_id: 'c', name: 'calculate', inputs: {} }],
  ['tool_result', { call_id: 'c', name: 'calculate', inputs: {}, result: '2' }],
  ['reasoning', { delta: 'Two it is.' }],
  ['token', { delta: 'It is 2.' }],
];

describe('what a model thinks', () => {
  it('is told beside the text of a chat, and is no part of it', () => {
    let chat: Talk = { thread: null, pause: null, turns: [newTurn('assistant', '', { state: 'streaming' })] };
    for (const [name, data] of told) chat = { ...chat, ...foldChat(chat, { id: null, name, data } as never, 1) };
    expect(chat.turns[0]).toMatchObject({ thought: 'One and one.\n\nTwo it is.', text: 'It is 2.', state: 'streaming' });
  });

  it('is told beside the text of a step, and is no event of its own', () => {
    const view = noRun();
    fold(view, { id: null, name: 'step_started', data: { step_id: 's', node_id: 'n', node_type: 'agent' } } as never, 0);
    for (const [name, data] of told) fold(view, { id: null, name, data: { ...data, step_id: 's', node_id: 'n' } } as never, 1);
    expect(view.steps.s).toMatchObject({ thought: 'One and one.\n\nTwo it is.', text: 'It is 2.' });
    expect(view.events.map((event) => event.name)).toEqual(['step_started', 'tool_call', 'tool_result']);
  });

  it('stays apart from that of a call which failed or was interrupted before', () => {
    const calls = [['model_fallback', {}] as const, ['step_retrying', { attempt: 2 }] as const];
    for (const [name, data] of calls) {
      const again: [string, Record<string, unknown>][] = [
        ['reasoning', { delta: 'We should c' }],
        [name, data],
        ['reasoning', { delta: 'The user wants' }],
      ];
      let chat: Talk = { thread: null, pause: null, turns: [newTurn('assistant', '', { state: 'streaming' })] };
      for (const [event, d] of again) chat = { ...chat, ...foldChat(chat, { id: null, name: event, data: d } as never, 1) };
      expect(chat.turns[0]?.thought).toBe('We should c\n\nThe user wants');
      const view = noRun();
      const step = { step_id: 's', node_id: 'n' };
      for (const [event, d] of [['step_started', {}] as const, ...again])
        fold(view, { id: null, name: event, data: { ...step, ...d } } as never, 1);
      expect(view.steps.s?.thought).toBe('We should c\n\nThe user wants');
      for (const [event, d] of [['step_started', { resumed: true }] as const, ['reasoning', { delta: 'Once more' }] as const])
        fold(view, { id: null, name: event, data: { ...step, ...d } } as never, 1);
      expect(view.steps.s?.thought).toBe('We should c\n\nThe user wants\n\nOnce more');
    }
  });

  it('is shown once when it turns out to be the answer', () => {
    const never: [string, Record<string, unknown>][] = [
      ['reasoning', { delta: '\nForty-' }],
      ['reasoning', { delta: 'two.' }],
      ['token', { delta: 'Forty-two.' }],
    ];
    let chat: Talk = { thread: null, pause: null, turns: [newTurn('assistant', '', { state: 'streaming' })] };
    for (const [event, d] of [...never, ['done', { reply: 'Forty-two.' }] as const])
      chat = { ...chat, ...foldChat(chat, { id: null, name: event, data: d } as never, 1) };
    expect(chat.turns[0]).toMatchObject({ thought: '', text: 'Forty-two.', state: 'done' });
    const view = noRun();
    for (const [event, d] of [['step_started', {}] as const, ...never, ['step_completed', {}] as const])
      fold(view, { id: null, name: event, data: { ...d, step_id: 's', node_id: 'n' } } as never, 1);
    expect(view.steps.s).toMatchObject({ thought: '', text: 'Forty-two.', state: 'done' });
  });

  it('is read from stored messages and from traces', () => {
    const parts = [
      { type: 'reasoning', text: 'Hm.' },
      { type: 'call', name: 'calculate' },
      { type: 'reasoning', text: 'So.' },
      { type: 'text', text: 'Yes' },
    ];
    const stored = {
      id: 'm',
      role: 'assistant',
      content: 'Yes',
      attachments: [],
      created_at: '',
      trace_id: null,
      meta: {},
      parts,
    } as const;
    expect(fromMessages([stored as never])[0]).toMatchObject({ thought: 'Hm.\n\nSo.', text: 'Yes' });
    expect(fromMessages([{ ...stored, parts: undefined } as never])[0]?.thought).toBe('');
    expect(readMessages([{ role: 'assistant', content: 'Yes', parts }])[0]).toMatchObject({ thought: 'Hm.\n\nSo.', text: 'Yes' });
    expect(readMessages('Hi')[0]?.text).toBe('Hi');
  });

  it('is told with its sources, each once, and follows nothing but pages', () => {
    const one = { source_id: 's', kind: 'url', url: 'https://a.example', title: 'A' };
    let chat: Talk = { thread: null, pause: null, turns: [newTurn('assistant', '')] };
    for (const data of [one, one, { source_id: 'x', kind: 'url', url: 'javascript:alert(1)', title: 'X' }])
      chat = { ...chat, ...foldChat(chat, { id: null, name: 'source', data } as never, 1) };
    expect(chat.turns[0]?.cited).toEqual([
      { id: 's', label: 'A', url: 'https://a.example/', host: 'a.example' },
      { id: 'x', label: 'X', url: null, host: null },
    ]);
    const parts = [{ type: 'source', source_id: 'd', kind: 'document', document_id: 'f.pdf', page: 3 }];
    expect(readMessages([{ role: 'assistant', content: '', parts }])[0]?.cited).toEqual([
      { id: 'd', label: 'f.pdf, 3', url: null, host: null },
    ]);
  });

  it('says where a source leads, and leads nowhere that its address does not say first', () => {
    const of = (url: string, title?: string) => cited({ source_id: 's', kind: 'url', url, title });
    expect(of('https://evil.example:8443/login', 'accounts.google.com')).toMatchObject({ host: 'evil.example:8443' });
    expect(of('https://аccounts.example/', 'Accounts')).toMatchObject({ host: 'xn--ccounts-1fg.example' });
    expect(of('https://a.example/b')).toMatchObject({ label: 'https://a.example/b', host: null });
    expect(of('https://a.example/@name?to=b@c', 'A')).toMatchObject({ host: 'a.example' });
    for (const url of [
      'https://accounts.google.com@evil.example/',
      'https://user:word@evil.example',
      'https://@evil.example/',
      'https://accounts.google.com\\@evil.example/',
      'https://[/',
      'data:text/html,x',
    ])
      expect([of(url, 'A'), of(url)]).toMatchObject([
        { label: 'A', url: null, host: null },
        { label: url, url: null, host: null },
      ]);
  });

  it('is shown with the place that a source leads to, whatever its title says', () => {
    const shown = renderToStaticMarkup(
      createElement(CitedList, { list: [cited({ source_id: 's', url: 'https://evil.example/', title: 'accounts.google.com \u202e' })] }),
    );
    expect(shown).toContain('</bdi><span class="mut">evil.example</span>');
  });
});

// @vitest-environment jsdom
import { QueryClientProvider } from '@tanstack/react-query';
import { useState } from 'react';
import { flushSync } from 'react-dom';
import { Router } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { queries } from '../../src/api/queries';
import type { Agent } from '@wfstudio/client';
import { loadLocale } from '../../src/i18n';
import { ChatPane } from '../../src/pages/playground/chat';
import Playground from '../../src/pages/playground/page';
import { ChatContext, ChatSession } from '../../src/pages/playground/session';
import { Side } from '../../src/pages/playground/side';
import { newTurn } from '../../src/pages/playground/turns';
import { Toasts } from '../../src/parts/toast';
import { act, button, click, render, type, wait } from './dom';
import { json, offline, refusal, Server, stream } from './fake-server';

beforeAll(() => loadLocale('en'));
HTMLElement.prototype.scrollIntoView ??= () => undefined;

const agent = {
  id: 'g',
  name: 'G',
  revision: 1,
  provider: 'p',
  model: 'm',
  instructions: 'Be kind.',
  tools: [],
  parameters: {},
} as unknown as Agent;
const settle = (ms = 30): Promise<void> => wait(ms);
const box = (): HTMLTextAreaElement => document.querySelector('#chatbox') as HTMLTextAreaElement;
const labelled = (label: string): HTMLElement => document.querySelector(`[aria-label="${label}"]`) as HTMLElement;
const DONE = stream.bind(null, [
  ['thread', { trace_id: 'T', thread_id: 'A', agent_id: 'g' }],
  ['done', { trace_id: 'T', thread_id: 'A', status: 'completed', reply: 'Hello', message_id: 'm' }],
]);
let server: Server;

beforeEach(() => {
  vi.stubGlobal(
    'ResizeObserver',
    class {
      observe() {}
      disconnect() {}
    },
  );
  server = new Server();
  const none = () => json({ data: [], next_cursor: null });
  server.on('GET', /\/chat\/threads/, none);
  server.on('GET', /\/api\/runs/, none);
  server.on('GET', /\/api\/agents\/g/, () => json(agent));
  server.on('GET', /\/api\/providers/, () => json({ data: [], default_provider: 'p', default_model: 'm' }));
});
afterEach(() => {
  queries.clear();
  document.body.replaceChildren();
});

const pane = (session: ChatSession, comparing = false) => (
  <QueryClientProvider client={queries}>
    <ChatContext value={session}>
      <ChatPane agent={agent} comparing={comparing} onCompared={() => undefined} />
      <Toasts />
    </ChatContext>
  </QueryClientProvider>
);

describe('saying something instead', () => {
  const talked = (): ChatSession => {
    const session = new ChatSession('g', 'A');
    session.put({
      opening: false,
      turns: [newTurn('user', 'hi', { key: 'm1' }), newTurn('assistant', 'Hello', { key: 'r1', state: 'done', trace: 'T1' })],
    });
    server.on('GET', /\/chat\/threads\/A\?/, () =>
      json({ messages: [{ id: 'm1', role: 'user', content: 'hi', created_at: '' }], next_cursor: null }),
    );
    server.on('POST', /\/branch/, () => json({ id: 'B' }));
    server.on('POST', /\/chat\/stream/, () => DONE('hold'));
    return session;
  };

  it('is done once, however often it is asked for', async () => {
    const session = talked();
    const { gone } = await render(pane(session));
    const again = labelled('Answer again, in a branch');
    expect(again).not.toBeNull();
    await act(async () => {
      again.click();
      again.click();
    });
    await settle();
    expect([server.of('POST', /\/branch/).length, server.of('POST', /\/chat\/stream/).length]).toEqual([1, 1]);
    session.dispose();
    await gone();
  });

  it('leaves the new words in the box when the session cannot be read', async () => {
    const session = talked();
    server.on('GET', /\/chat\/threads\/A\?/, offline);
    const { host, gone } = await render(pane(session));
    await click(labelled('Edit this message'));
    await type(host.querySelector('form.edit textarea') as HTMLTextAreaElement, 'better words');
    await click(button('Send as a branch'));
    await settle();
    expect([session.box.getState().text, session.store.getState().turns.length, session.store.getState().busy]).toEqual([
      'better words',
      2,
      false,
    ]);
    await gone();
  });
});

describe('a question for two models', () => {
  it('is in the box again when it is not asked, and is not asked in another session', async () => {
    const session = new ChatSession('g', null);
    const { gone } = await render(pane(session, true));
    await type(box(), 'a long question');
    await act(async () => void box().form?.requestSubmit());
    expect(button('Ask both')).toBeTruthy();
    await click(button('Cancel'));
    expect(session.box.getState().text).toBe('a long question');
    await gone();

    const first = new ChatSession('g', null);
    const second = new ChatSession('g', 'B');
    let show: (session: ChatSession) => void = () => undefined;
    function Switched() {
      const [at, setAt] = useState(first);
      show = setAt;
      return pane(at, true);
    }
    const { gone: away } = await render(<Switched />);
    await type(box(), 'for the first');
    await act(async () => void box().form?.requestSubmit());
    await act(async () => show(second));
    expect([first.box.getState().text, box().value, button('Ask both')]).toEqual(['for the first', '', undefined]);
    await away();
  });

  it('can be asked where the page is not served safely', async () => {
    vi.stubGlobal('crypto', { getRandomValues: crypto.getRandomValues.bind(crypto) });
    const ids = ['X', 'Y'];
    server.on('POST', /\/chat\/stream/, () => stream([['thread', { trace_id: 'T', thread_id: ids.shift(), agent_id: 'g' }]], 'hold'));
    server.on('GET', /\/api\/providers/, () =>
      json({
        data: [
          {
            id: 'p',
            label: 'P',
            configured: true,
            models: [
              { id: 'm', capabilities: [] },
              { id: 'n', capabilities: [] },
            ],
          },
        ],
        default_provider: 'p',
        default_model: 'm',
      }),
    );
    const session = new ChatSession('g', null);
    const { host, gone } = await render(pane(session, true));
    await type(box(), 'hi');
    await act(async () => void box().form?.requestSubmit());
    await settle();
    const second = host.querySelectorAll<HTMLSelectElement>('select')[1] as HTMLSelectElement;
    await act(async () => {
      second.value = 'p\nn';
      second.dispatchEvent(new Event('change', { bubbles: true }));
    });
    await click(button('Ask both'));
    await settle();
    expect(server.of('POST', /\/chat\/stream/).length).toBe(2);
    server.on('POST', /\/cancel/, () => json({}));
    server.on('DELETE', /\/api\/threads/, () => json(null, 204));
    await gone();
    await settle();
    expect(
      server
        .of('DELETE', /\/api\/threads/)
        .map((a) => a.path.slice(-1))
        .sort(),
    ).toEqual(['X', 'Y']);
    vi.unstubAllGlobals();
  });
});

describe('a comparison that cannot begin', () => {
  const begin = async (session: ChatSession) => {
    const models = ['m', 'n'].map((id) => ({ id, capabilities: [] }));
    server.on('GET', /\/api\/providers/, () =>
      json({ data: [{ id: 'p', label: 'P', configured: true, models }], default_provider: 'p', default_model: 'm' }),
    );
    session.put({ opening: false });
    const { host, gone } = await render(pane(session, true));
    await type(box(), 'hi');
    await act(async () => void box().form?.requestSubmit());
    await settle();
    const second = host.querySelectorAll<HTMLSelectElement>('select')[1] as HTMLSelectElement;
    await act(async () => {
      second.value = 'p\nn';
      second.dispatchEvent(new Event('change', { bubbles: true }));
    });
    return gone;
  };
  const ask = async (): Promise<void> => {
    await click(button('Ask both'));
    await settle();
  };

  it('leaves no branch behind', async () => {
    const branches = [json({ id: 'B1' }), refusal(503, 'store_unavailable')];
    server.on('POST', /\/branch/, () => branches.shift() as Response);
    server.on('DELETE', /\/api\/threads/, () => json(null, 204));
    const gone = await begin(new ChatSession('g', 'A'));
    await ask();
    expect(server.of('DELETE', /\/api\/threads/).map((a) => a.path)).toEqual([expect.stringContaining('/B1')]);
    await gone();
  });

  it('finds the branch whose answer was lost until something is said', async () => {
    server.on('POST', /\/branch/, offline);
    const session = new ChatSession('g', 'A');
    const gone = await begin(session);
    await ask();
    await ask();
    session.put({ turns: [newTurn('user', 'more')] });
    await ask();
    const keys = server.of('POST', /\/branch/).map((a) => a.key);
    expect([keys.length, keys[0] === keys[1], keys[1] === keys[2]]).toEqual([3, true, false]);
    await gone();
  });
});

describe('a playground', () => {
  const page = (path: string) => {
    const { hook, navigate, searchHook, history } = memoryLocation({ path, record: true });
    return {
      navigate,
      history,
      node: (
        <QueryClientProvider client={queries}>
          <Router hook={hook} searchHook={searchHook}>
            <Playground id="g" />
          </Router>
        </QueryClientProvider>
      ),
    };
  };

  it('keeps what is written in a new session while one looks at another page', async () => {
    const first = await render(page('/agents/g/playground').node);
    await settle();
    await type(box(), 'half a question');
    await first.gone();
    const again = await render(page('/agents/g/playground').node);
    await settle();
    expect(box().value).toBe('half a question');
    await type(box(), '');
    await again.gone();
  });

  it('shows the session that was chosen last, also when another one was chosen just before', async () => {
    const said = (id: string) => () =>
      json({ messages: [{ id, role: 'user', content: `said in ${id}`, created_at: '' }], next_cursor: null });
    for (const id of ['P', 'X']) {
      server.on('GET', new RegExp(`/api/threads/${id}`), () => json({ id }));
      server.on('GET', new RegExp(`/chat/threads/${id}\\?`), said(id));
    }
    const { node, navigate, history } = page('/agents/g/playground?thread=P');
    const { host, gone } = await render(node);
    await settle();
    for (const late of [false, true])
      await act(async () => {
        flushSync(() => navigate('/agents/g/playground?thread=X'));
        // The other session is there before, or after, one goes back to the first.
        if (late) await Promise.resolve();
        flushSync(() => navigate('/agents/g/playground?thread=P'));
      });
    await settle();
    expect(history.at(-1)).toBe('/agents/g/playground?thread=P');
    expect([host.textContent?.includes('said in P'), host.textContent?.includes('said in X')]).toEqual([true, false]);
    await gone();
  });

  it('says that a session cannot be read, and reads it when asked again', async () => {
    server.on('GET', /\/api\/threads\/A/, () => refusal(500, 'internal'));
    const { host, gone } = await render(page('/agents/g/playground?thread=A').node);
    await settle();
    expect(host.querySelector('.msgs')?.textContent).toContain('internal');
    server.on('GET', /\/api\/threads\/A/, () => json({ id: 'A', open_pause: null }));
    server.on('GET', /\/chat\/threads\/A\?/, () =>
      json({ messages: [{ id: 'm1', role: 'user', content: 'stored words', created_at: '' }], next_cursor: null }),
    );
    await click(button('Retry'));
    await settle();
    expect(host.querySelector('.msgs')?.textContent).toContain('stored words');
    await gone();
  });
});

describe('instructions that are saved to the agent', () => {
  it('keep what is typed while they are saved', async () => {
    let saved: (r: Response) => void = () => undefined;
    server.on('PATCH', /\/api\/agents\/g/, () => new Promise<Response>((ok) => (saved = ok)));
    const session = new ChatSession('g', null);
    session.put({ overrides: { instructions: 'one', variables: { a: 1 }, temperature: null, model: null } });
    const { host, gone } = await render(
      <QueryClientProvider client={queries}>
        <ChatContext value={session}>
          <Side agent={agent} />
        </ChatContext>
      </QueryClientProvider>,
    );
    await click([...host.querySelectorAll<HTMLElement>('[role=tab]')].find((x) => x.textContent === 'Instructions') as HTMLElement);
    await click(button('Save to agent'));
    await type(host.querySelector('textarea') as HTMLTextAreaElement, 'one two');
    saved(json({ ...agent, instructions: 'one', revision: 2 }));
    await settle();
    expect(session.store.getState().overrides).toMatchObject({ instructions: 'one two', variables: { a: 1 } });
    // The page shows what is saved at once, not what was before.
    expect(queries.getQueryData(['/api/agents', 'g'])).toMatchObject({ instructions: 'one', revision: 2 });
    await gone();
  });
});

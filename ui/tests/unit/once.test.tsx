// @vitest-environment jsdom
import { beforeEach, describe, expect, it } from 'vitest';
import { add, make, remove } from '../../src/api/client';
import { messagesOf } from '../../src/pages/playground/messages';
import { fromMessages } from '../../src/pages/playground/turns';
import { ListField } from '../../src/parts/form';
import { FormSession } from '../../src/parts/form-session';
import type { Message } from '../../src/api/types';
import { render, type } from './dom';
import { json, offline, refusal, Server } from './fake-server';

let server: Server;
beforeEach(() => {
  server = new Server();
});

describe('what is made', () => {
  const keys = (): (string | null)[] => server.of('POST', /\/api\//).map((a) => a.key);
  const tried = (body: unknown, path = '/api/workflows') => make(path, body).catch(() => null);

  it('has the same key when its answer was lost, cut or late, and another one once it is known', async () => {
    const cut = () => new Response('{"id":', { status: 201 });
    const busy = () => refusal(409, 'idempotency_in_progress');
    const made = () => json({ id: 'w' }, 201);
    server.on(
      'POST',
      /workflows/,
      offline,
      () => refusal(502, 'bad_gateway'),
      cut,
      busy,
      () => refusal(401, 'unauthenticated'),
      made,
      made,
    );
    for (let n = 0; n < 7; n++) await tried({ name: 'A' });
    expect(keys()[0]).toMatch(/^[!-~]{16,}$/);
    expect(new Set(keys().slice(0, 6)).size).toBe(1);
    expect(keys()[6]).not.toBe(keys()[0]);
  });

  it('has a key of its own where something else is asked for, where it was refused, and where something was deleted since', async () => {
    server.on('POST', /workflows|agents/, () => refusal(422, 'validation_failed'), offline);
    server.on('DELETE', /workflows/, () => json(null, 204));
    await tried({ name: 'A' });
    await tried({ name: 'A' });
    await tried({ name: 'B' });
    await tried({ name: 'A' }, '/api/agents');
    await remove('/api/workflows/w');
    await tried({ name: 'B' });
    expect(new Set(keys()).size).toBe(5);
  });

  it('keeps its key when something is deleted while it is under way', async () => {
    let fail: (cause: unknown) => void = () => undefined;
    server.on(
      'POST',
      /workflows/,
      () => new Promise<Response>((_, no) => (fail = no)),
      () => json({ id: 'w' }, 201),
    );
    server.on('DELETE', /workflows/, () => json(null, 204));
    const first = tried({ name: 'C' });
    await Promise.resolve();
    await remove('/api/workflows/x');
    fail(new TypeError('failed'));
    await first;
    await tried({ name: 'C' });
    expect(new Set(keys()).size).toBe(1);
  });

  it('may be a file', async () => {
    // The server of these tests reads JSON alone.
    const sent: RequestInit[] = [];
    globalThis.fetch = ((_: string, init: RequestInit) => {
      sent.push(init);
      return sent.length === 1 ? offline() : Promise.resolve(json({ id: 'd' }, 202));
    }) as typeof fetch;
    const file = new File(['text'], 'a.txt', { lastModified: 5 });
    await add('/api/knowledge-bases/k/documents', file).catch(() => null);
    await add('/api/knowledge-bases/k/documents', file);
    await add('/api/knowledge-bases/k/documents', new File(['text'], 'b.txt', { lastModified: 5 }));
    const all = sent.map((init) => (init.headers as Record<string, string>)['Idempotency-Key']);
    expect([all[0] === all[1], all[1] === all[2], (sent[1]?.body as FormData).get('file')]).toEqual([true, false, file]);
  });
});

describe('a new form whose answer was lost', () => {
  interface Thing {
    id: string;
    revision: number;
    locked: boolean;
    name: string;
  }
  const fresh: Thing = { id: '', revision: 0, locked: false, name: '' };
  const form = (): FormSession<Thing> => FormSession.of<Thing>('things', `new${Math.random()}`);
  const asked = (): unknown[] => server.asked.filter((a) => a.method !== 'GET').map((a) => [a.method, a.body.name]);

  it('finds what it made, and changes it to what was typed since', async () => {
    const one = form();
    server.on('POST', /things/, offline, () => json({ ...fresh, id: 't', revision: 1, name: 'One' }, 201));
    server.on('PUT', /things\/t/, () => json({ ...fresh, id: 't', revision: 2, name: 'One more' }));
    one.type({ name: 'One' }, fresh);
    expect(await one.save(fresh)).toBe(null);
    one.type({ name: 'One more' }, fresh);
    expect(await one.save(fresh)).toMatchObject({ id: 't', revision: 2, name: 'One more' });
    expect(asked()).toEqual([
      ['POST', 'One'],
      ['POST', 'One'],
      ['PUT', 'One more'],
    ]);
    expect(new Set(server.of('POST', /things/).map((a) => a.key)).size).toBe(1);
  });

  it('does not make it again where the change is lost, too', async () => {
    const one = form();
    server.on('POST', /things/, offline, () => json({ ...fresh, id: 't', revision: 1, name: 'One' }, 201));
    server.on('PUT', /things\/t/, offline, () => json({ ...fresh, id: 't', revision: 2, name: 'Two' }));
    one.type({ name: 'One' }, fresh);
    await one.save(fresh);
    one.type({ name: 'Two' }, fresh);
    await one.save(fresh);
    expect(await one.save(fresh)).toMatchObject({ id: 't', name: 'Two' });
    expect(asked().map((a) => (a as string[])[0])).toEqual(['POST', 'POST', 'PUT', 'PUT']);
  });

  it('is sent as it is now where what was lost is refused', async () => {
    const one = form();
    server.on(
      'POST',
      /things/,
      offline,
      () => refusal(422, 'validation_failed'),
      () => json({ ...fresh, id: 't', revision: 1, name: 'Two' }, 201),
    );
    one.type({ name: '' }, fresh);
    await one.save(fresh);
    one.type({ name: 'Two' }, fresh);
    expect(await one.save(fresh)).toMatchObject({ id: 't', name: 'Two' });
  });
});

describe('a list as text', () => {
  it('keeps arguments that have commas, quotes, blanks at an end, or nothing in them', async () => {
    let value = ['--format=a,b', 'plain', '', ' x', 'say "hi"', '"q"', 'c:\\d'];
    const shown = (): HTMLInputElement => document.querySelector('.in') as HTMLInputElement;
    const list = (): Promise<{ gone: () => Promise<void> }> =>
      render(<ListField label="args" value={value} onChange={(next) => (value = next)} />);
    const before = [...value];
    const first = await list();
    expect(shown().value).toBe('"--format=a,b", plain, "", " x", say "hi", "\\"q\\"", c:\\d');
    await type(shown(), `${shown().value}, more , "x, \\"y\\"",, "un"even, "a\\q"`);
    shown().focus();
    shown().blur();
    expect(value).toEqual([...before, 'more', 'x, "y"', '"un"even', '"a\\q"']);
    await first.gone();
  });
});

describe('a long session', () => {
  it('shows its newest messages', async () => {
    server.on('GET', /\/chat\/threads\/A/, ({ path }) => {
      const page = Number(new URL(path, 'http://x').searchParams.get('cursor') ?? 0);
      const messages = Array.from({ length: 100 }, (_, n) => ({ id: `m${page * 100 + n}` }));
      return json({ messages, next_cursor: page < 24 ? String(page + 1) : null });
    });
    const all = await messagesOf('g', 'A');
    expect([all.length, all[0]?.id, all.at(-1)?.id]).toEqual([2000, 'm500', 'm2499']);
  });

  it('says what an answer warned of', () => {
    const warning = { code: 'fallback', message: 'another one was asked' };
    const message = { id: 'm', role: 'assistant', content: 'Hi', created_at: '', trace_id: 'T', meta: { warnings: [warning] } };
    expect(fromMessages([message as unknown as Message])[0]?.warnings).toEqual([warning]);
    expect(fromMessages([{ ...message, meta: {} } as unknown as Message])[0]?.warnings).toEqual([]);
  });
});

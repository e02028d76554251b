// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { add, make, remove } from '../../src/api/client';
import { branchOf } from '../../src/pages/playground/branch';
import { messagesOf } from '../../src/pages/playground/messages';
import { fromMessages } from '../../src/pages/playground/turns';
import { ListField } from '../../src/parts/form';
import { FormSession } from '../../src/parts/form-session';
import type { Message } from '@wfstudio/client';
import { render, type } from './dom';
import { json, offline, refusal, Server } from './fake-server';

let server: Server;
beforeEach(() => {
  server = new Server();
});
afterEach(() => {
  vi.useRealTimers();
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

  it('has another key once the server says that the first one was for something else', async () => {
    const reused = () => refusal(422, 'idempotency_key_reused');
    server.on('POST', /workflows/, offline, reused, () => json({ id: 'w' }, 201));
    await tried({ name: 'D' });
    await tried({ name: 'D' });
    expect(await tried({ name: 'D' })).toEqual({ id: 'w' });
    expect([keys()[0] === keys()[1], keys()[1] === keys()[2]]).toEqual([true, false]);
  });
});

describe('a copy', () => {
  const lost = (): void => {
    vi.useFakeTimers({ toFake: ['Date'] });
    server.on('POST', /./, offline);
  };
  const keys = (): Set<string | null> => new Set(server.of('POST', /./).map((a) => a.key));
  const tried = (path: string, body?: unknown) => make(path, body).catch(() => null);

  it('whose answer was lost is found for two minutes; later what it is made of may have changed', async () => {
    lost();
    await tried('/api/workflows/a/duplicate');
    vi.advanceTimersByTime(119_000);
    await tried('/api/workflows/a/duplicate');
    expect(keys().size).toBe(1);
    vi.advanceTimersByTime(1_000);
    await tried('/api/workflows/a/duplicate');
    expect([keys().size, server.asked.at(-1)?.body]).toEqual([2, {}]);
  });

  it('is not made twice, however late, where all of it was sent', async () => {
    lost();
    await tried('/api/agents', { name: 'Late' });
    vi.advanceTimersByTime(3_600_000);
    await tried('/api/agents', { name: 'Late' });
    expect(keys().size).toBe(1);
  });

  it('of a session is another one when something was said since', async () => {
    lost();
    for (const newest of ['m1', 'm1', 'm2']) await branchOf('s', undefined, newest).catch(() => null);
    const all = server.of('POST', /threads\/s\/branch/);
    expect([all[0]?.key === all[1]?.key, all[1]?.key === all[2]?.key]).toEqual([true, false]);
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

describe('a new form', () => {
  interface Thing {
    id: string;
    revision: number;
    locked: boolean;
    name: string;
  }
  const blank = { revision: 0, locked: false, name: '' } as Thing;
  const stored = (revision: number, name: string, id = 't') => json({ id, revision, locked: false, name }, 201);
  const conflict = (revision: number, name: string) => () =>
    new Response(
      JSON.stringify({ status: 409, code: 'revision_conflict', title: 'c', detail: 'c', current: { ...blank, id: 't', revision, name } }),
      { status: 409 },
    );
  const form = (): FormSession<Thing> => FormSession.of<Thing>('things', `new${Math.random()}`);
  const sent = (): unknown[] => server.asked.filter((a) => a.method !== 'GET').map((a) => [a.method, a.path, a.body.name]);
  /** Its answer is lost, it is found again, and the change to it is in conflict. */
  const inConflict = async (): Promise<FormSession<Thing>> => {
    const one = form();
    server.on('POST', /things/, offline, () => stored(1, 'One'));
    server.on('PUT', /things/, conflict(4, 'Theirs'), () => stored(5, 'Mine'));
    one.type({ name: 'One' }, blank);
    await one.save(blank);
    one.type({ name: 'Mine' }, blank);
    expect(await one.save(blank)).toBe(null);
    expect(one.store.getState()).toMatchObject({ asking: true, base: { id: 't' }, conflict: { name: 'Theirs' } });
    return one;
  };

  it('is sent as it is now where what was lost is too large', async () => {
    const one = form();
    server.on(
      'POST',
      /things/,
      offline,
      () => refusal(413, 'body_too_large'),
      () => stored(1, 'Short'),
    );
    one.type({ name: 'Too long' }, blank);
    await one.save(blank);
    one.type({ name: 'Short' }, blank);
    expect(await one.save(blank)).toMatchObject({ name: 'Short' });
  });

  it('waits for what is still being made, and makes no second one', async () => {
    const one = form();
    server.on(
      'POST',
      /things/,
      offline,
      () => refusal(409, 'idempotency_in_progress'),
      () => stored(1, 'One'),
    );
    server.on('PUT', /things\/t/, () => stored(2, 'Two'));
    one.type({ name: 'One' }, blank);
    await one.save(blank);
    one.type({ name: 'Two' }, blank);
    await one.save(blank);
    expect(await one.save(blank)).toMatchObject({ id: 't', name: 'Two' });
    expect(new Set(server.of('POST', /things/).map((a) => a.key)).size).toBe(1);
  });

  it('is saved over what somebody else made of it, where it is', async () => {
    const one = await inConflict();
    let match: string | undefined;
    const fetched = globalThis.fetch;
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
      match = (init.headers as Record<string, string>)['If-Match'];
      return fetched(url, init);
    });
    expect(await one.saveMine(blank)).toMatchObject({ id: 't', revision: 5 });
    expect([match, one.dirty]).toEqual(['"4"', false]);
    expect(sent().at(-1)).toEqual(['PUT', '/api/things/t', 'Mine']);
  });

  it('does not pass for saved when it is typed back to what was made first', async () => {
    const one = await inConflict();
    one.tell({ asking: false });
    one.type({ name: 'One' }, blank);
    await one.save(blank);
    expect(sent().at(-1)).toEqual(['PUT', '/api/things/t', 'One']);
  });

  it('becomes theirs when that is chosen, and says which it is', async () => {
    const one = await inConflict();
    expect(one.takeTheirs()).toMatchObject({ id: 't', name: 'Theirs' });
    expect([one.dirty, one.store.getState().asking]).toEqual([false, false]);
  });

  it('is made anew where what was made is gone', async () => {
    const one = form();
    server.on(
      'POST',
      /things/,
      offline,
      () => stored(1, 'One'),
      () => stored(1, 'Two', 'u'),
    );
    server.on('PUT', /things\/t/, () => refusal(404, 'not_found'));
    one.type({ name: 'One' }, blank);
    await one.save(blank);
    one.type({ name: 'Two' }, blank);
    await one.save(blank);
    expect(await one.save(blank)).toMatchObject({ id: 'u', name: 'Two' });
  });

  it('that was given up is not written over by the next one', async () => {
    const one = form();
    server.on('POST', /things/, offline, () => stored(1, 'B', 'b'));
    one.type({ name: 'A' }, blank);
    await one.save(blank);
    one.discard();
    one.type({ name: 'B' }, blank);
    expect(await one.save(blank)).toMatchObject({ id: 'b', name: 'B' });
    expect(sent()).toEqual([
      ['POST', '/api/things', 'A'],
      ['POST', '/api/things', 'B'],
    ]);
  });

  it('that was given up while it was saved leaves the next one alone, whatever came of it', async () => {
    const one = form();
    for (const late of [() => stored(1, 'A', 'a'), () => refusal(422, 'validation_failed')]) {
      let tell: (r: Response) => void = () => undefined;
      server.on(
        'POST',
        /things/,
        () => new Promise<Response>((ok) => (tell = ok)),
        () => stored(1, 'B', 'b'),
      );
      one.type({ name: `A${late.length}` }, blank);
      const first = one.save(blank);
      await Promise.resolve();
      one.discard();
      one.type({ name: 'B' }, blank);
      const second = one.save(blank);
      tell(late());
      expect(await first).toBe(null);
      expect([one.store.getState().change, one.store.getState().errors]).toEqual([{ name: 'B' }, {}]);
      expect(await second).toMatchObject({ id: 'b', name: 'B' });
      one.discard();
    }
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

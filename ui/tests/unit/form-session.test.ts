// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { queries } from '../../src/api/queries';
import { FormSession } from '../../src/parts/form-session';
import { leave, useLeaving, watchLeaving } from '../../src/parts/unsaved';
import { json, pass, refusal, Server } from './fake-server';

interface Agent {
  id: string;
  revision: number;
  locked: boolean;
  name: string;
  instructions: string;
  description: string;
}
const stored = (more: Partial<Agent> = {}): Agent => ({
  id: 'a',
  revision: 3,
  locked: false,
  name: 'Agent',
  instructions: 'one',
  description: '',
  ...more,
});

describe('a form', () => {
  let server: Server;
  let form: FormSession<Agent>;
  let id = 0;
  const now = () => form.store.getState();
  const closing = (): boolean => {
    const event = new Event('beforeunload', { cancelable: true });
    window.dispatchEvent(event);
    return event.defaultPrevented;
  };
  const conflict = (theirs: Agent) => () =>
    new Response(JSON.stringify({ status: 409, code: 'revision_conflict', title: 'c', detail: 'c', current: theirs }), { status: 409 });

  beforeEach(() => {
    vi.useFakeTimers();
    server = new Server();
    id += 1;
    form = FormSession.of<Agent>('agents', `a${id}`);
  });
  afterEach(() => {
    form.discard();
    vi.useRealTimers();
  });

  it('keeps what is typed while it is saved, as unsaved', async () => {
    let tell: (r: Response) => void = () => undefined;
    server.on('PUT', /agents/, () => new Promise<Response>((ok) => (tell = ok)));
    form.type({ instructions: 'one two', description: 'd' }, stored());
    const saved = form.save(null);
    await pass(1);
    form.type({ instructions: 'one two three' }, stored());
    tell(json(stored({ revision: 4, instructions: 'one two', description: 'd' })));
    await saved;
    expect([now().change, now().base?.revision, form.dirty, closing()]).toEqual([{ instructions: 'one two three' }, 4, true, true]);
    server.on('PUT', /agents/, () => json(stored({ revision: 5, instructions: 'one two three' })));
    await form.save(null);
    expect([form.dirty, closing(), server.of('PUT', /agents/).at(-1)?.body.instructions]).toEqual([false, false, 'one two three']);
  });

  it('is shown as it was saved where its page has the slug in its address, also when that was changed', async () => {
    queries.setQueryData(['/api/agents', `a${id}`], stored());
    server.on('PUT', /agents/, () => json(stored({ revision: 4, name: 'New' })));
    form.type({ name: 'New' }, stored());
    await form.save(null);
    expect(queries.getQueryData(['/api/agents', `a${id}`])).toMatchObject({ revision: 4, name: 'New' });
  });

  it('is saved by one request at a time', async () => {
    const tell: ((r: Response) => void)[] = [];
    server.on('PUT', /agents/, () => new Promise<Response>((ok) => tell.push(ok)));
    form.type({ instructions: 'a' }, stored());
    const first = form.save(null);
    await pass(1);
    form.type({ instructions: 'b' }, stored());
    const second = form.save(null);
    await pass(1);
    expect(tell).toHaveLength(1);
    tell[0]?.(json(stored({ revision: 4, instructions: 'a' })));
    await first;
    await pass(1);
    tell[1]?.(json(stored({ revision: 5, instructions: 'b' })));
    await second;
    expect(server.of('PUT', /agents/).map((a) => a.body.instructions)).toEqual(['a', 'b']);
    expect(form.dirty).toBe(false);
  });

  it('loses nothing when a conflict is put off, and saves mine over what was shown alone', async () => {
    server.on('PUT', /agents/, conflict(stored({ revision: 7, instructions: 'theirs' })), () =>
      json(stored({ revision: 8, instructions: 'mine' })),
    );
    form.type({ instructions: 'mine' }, stored());
    await form.save(null);
    expect([now().asking, now().conflict?.instructions]).toEqual([true, 'theirs']);
    form.tell({ asking: false });
    expect([now().change, form.dirty, form.typed()]).toEqual([{ instructions: 'mine' }, true, 'mine']);
    let match: string | null = null;
    const fetched = globalThis.fetch;
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
      match = (init.headers as Record<string, string>)['If-Match'] ?? null;
      return fetched(url, init);
    });
    await form.saveMine(null);
    expect([match, form.dirty, now().conflict]).toEqual(['"7"', false, null]);
  });

  it('takes theirs only when asked to', async () => {
    server.on('PUT', /agents/, conflict(stored({ revision: 7, instructions: 'theirs' })));
    form.type({ instructions: 'mine' }, stored());
    await form.save(null);
    form.takeTheirs();
    expect([now().change, now().conflict]).toEqual([{}, null]);
  });

  it('is there again after leaving the page, also when it was being saved', async () => {
    const gone = form.show();
    let tell: (r: Response) => void = () => undefined;
    server.on('PUT', /agents/, () => new Promise<Response>((ok) => (tell = ok)));
    form.type({ instructions: 'a' }, stored());
    const saved = form.save(null);
    await pass(1);
    gone();
    const again = FormSession.of<Agent>('agents', `a${id}`);
    expect(again).toBe(form);
    again.type({ instructions: 'b' }, stored());
    tell(json(stored({ revision: 4, instructions: 'a' })));
    await saved;
    expect([again.store.getState().change, again.store.getState().base?.revision]).toEqual([{ instructions: 'b' }, 4]);
  });

  it('keeps what is refused', async () => {
    server.on('PUT', /agents/, () => refusal(503, 'unavailable'));
    form.type({ instructions: 'mine' }, stored());
    await form.save(null);
    expect([now().change, now().busy]).toEqual([{ instructions: 'mine' }, false]);
  });

  it('asks before it is left', () => {
    const gone = watchLeaving(() => form.dirty);
    let left = 0;
    leave(() => (left += 1));
    form.type({ instructions: 'mine' }, stored());
    leave(() => (left += 1));
    expect([left, useLeaving.getState().go === null]).toEqual([1, false]);
    useLeaving.setState({ go: null });
    gone();
    leave(() => (left += 1));
    expect(left).toBe(2);
  });
});

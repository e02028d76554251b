// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ChatSession } from '../../src/pages/playground/session';
import { json, pass, refusal, run, Server, stream } from './fake-server';

vi.mock('../../src/parts/markdown', () => ({ readyMarkdown: async () => undefined }));

type Told = [string, Record<string, unknown>];
const BEGAN: Told[] = [
  ['thread', { trace_id: 'T', thread_id: 'A', agent_id: 'g' }],
  ['token', { delta: 'Hel' }],
];
const DONE: Told = ['done', { trace_id: 'T', thread_id: 'A', status: 'completed', reply: 'Hello', message_id: 'm' }];
const ASKS: Told = [
  'tool_approval_required',
  { trace_id: 'T', pause_id: 'p', pending_tools: [{ name: 'f', arguments: {}, call_id: 'c' }] },
];
const pause = { pause_id: 'p', node_id: '', step_id: null, reason: 'tool_approval', pending_tools: [], created_at: '' };
const said = /\/chat\/stream/;
const tail = /\/events\/stream/;

/** A stored session, and the newest run on it. */
function stored(server: Server, thread: string, status: string, more: Record<string, unknown> = {}): void {
  const id = `run-${thread}`;
  server.on('GET', new RegExp(`/api/threads/${thread}`), () =>
    json({ id: thread, open_pause: status.startsWith('awaiting') ? { trace_id: id, pause_id: 'p', reason: 'tool_approval' } : null }),
  );
  server.on('GET', new RegExp(`/threads/${thread}\\?`), () => json({ messages: [], next_cursor: null }));
  server.on('GET', new RegExp(`/threads/${thread}/runs`), () => json({ data: [{ id, status }], next_cursor: null }));
  server.on('GET', new RegExp(`/api/runs/${id}`), () =>
    json(run(id, status, { input: { message: `asked in ${thread}`, attachments: [] }, ...more })),
  );
  server.on('GET', new RegExp(`/${id}/events/stream`), () =>
    stream(
      BEGAN.map(([n, d]) => [n, { ...d, trace_id: id, thread_id: thread }]),
      'hold',
    ),
  );
}

describe('a conversation', () => {
  let server: Server;
  let chat: ChatSession;
  const now = () => chat.store.getState();
  const told = () => now().turns.map((x) => [x.role, x.text, x.state]);

  beforeEach(() => {
    vi.useFakeTimers();
    server = new Server();
    chat = new ChatSession('g', null);
  });
  afterEach(() => {
    chat.dispose();
    vi.useRealTimers();
  });

  it('puts a message that was refused back in the box, before what was written since, and says why', async () => {
    server.on('POST', said, () => refusal(429, 'too_many_runs', { 'Retry-After': '1' }));
    void chat.send('first', []);
    chat.box.setState({ text: 'second' });
    await pass(10_000);
    expect([told(), now().busy, now().refused?.code]).toEqual([[], false, 'too_many_runs']);
    expect(chat.box.getState().text).toBe('first\nsecond');
  });

  it('shows a turn once that is asked for and stored while the session is still being read', async () => {
    stored(server, 'A', 'completed');
    const at = { created_at: '2026-11-20T20:00:00Z', trace_id: 'T' };
    const messages = [
      { id: '1', role: 'user', content: 'hi', ...at },
      { id: 'm', role: 'assistant', content: 'Hello', ...at },
    ];
    const early = [
      { id: '0', role: 'user', content: 'before', ...at, trace_id: 'S' },
      { id: 'n', role: 'assistant', content: 'Well', ...at, trace_id: 'S' },
    ];
    let go: (answer: Response) => void = () => undefined;
    server.on('GET', /\/threads\/A\?/, () => new Promise<Response>((answer) => (go = answer)));
    server.on('GET', /\/api\/threads\/A/, () => json({ id: 'A', open_pause: null }));
    server.on('POST', said, () => stream([...BEGAN, DONE]));
    chat.dispose();
    chat = new ChatSession('g', 'A');
    const opened = chat.open();
    void chat.send('hi', []);
    await pass(10);
    go(json({ messages: [...early, ...messages], next_cursor: null }));
    await pass(10);
    await opened;
    expect(told().map(([role, text]) => [role, text])).toEqual([
      ['user', 'before'],
      ['assistant', 'Well'],
      ['user', 'hi'],
      ['assistant', 'Hello'],
    ]);
  });

  it('ends a turn whose end was only learnt by asking', async () => {
    server.on('POST', said, () => stream(BEGAN, 'cut'));
    server.on('GET', tail, () => refusal(503, 'store_unavailable'));
    server.on('GET', /\/api\/runs\/T/, () => json(run('T', 'completed', { reply: 'Hello' })));
    void chat.send('hi', []);
    await pass(60_000);
    expect([told().at(-1), now().busy]).toEqual([['assistant', 'Hello', 'done'], false]);
  });

  it('keeps what an answer warns of, also where its end was only learnt by asking', async () => {
    const warnings = [{ code: 'answer_cut', message: 'cut' }];
    server.on('POST', said, () => stream([...BEGAN, ['done', { ...DONE[1], finish: 'length', warnings }]]));
    void chat.send('hi', []);
    await pass(500);
    expect(now().turns.at(-1)?.warnings).toEqual(warnings);
    const other = new ChatSession('g', null);
    server.on('POST', said, () => stream(BEGAN, 'cut'));
    server.on('GET', tail, () => refusal(503, 'store_unavailable'));
    server.on('GET', /\/api\/runs\/T/, () =>
      json({ ...run('T', 'completed', { reply: 'Hello' }), steps: [{ superseded: false, warnings }] }),
    );
    void other.send('hi', []);
    await pass(60_000);
    expect(other.store.getState().turns.at(-1)?.warnings).toEqual(warnings);
    other.dispose();
  });

  it('shows question and answer again after a reload in the middle, and goes on', async () => {
    stored(server, 'A', 'running');
    server.on('GET', /\/run-A\/events\/stream/, () => stream([...BEGAN, DONE]));
    chat = new ChatSession('g', 'A');
    await Promise.all([chat.open(), pass(500)]);
    expect([told(), now().busy]).toEqual([
      [
        ['user', 'asked in A', 'stored'],
        ['assistant', 'Hello', 'done'],
      ],
      false,
    ]);
  });

  it('streams on after a reload', async () => {
    stored(server, 'A', 'running');
    chat = new ChatSession('g', 'A');
    void chat.open();
    await pass(500);
    expect([told().at(-1), now().busy]).toEqual([['assistant', 'Hel', 'streaming'], true]);
  });

  it('keeps the question of a turn that failed, and what it failed of', async () => {
    const calls = [{ call_id: 'c', name: 'pay', arguments: {}, node_id: '' }];
    stored(server, 'A', 'failed', { error: { code: 'in_doubt', message: 'nobody knows', node_id: null, calls } });
    server.on('GET', /\/run-A\/events\/stream/, () =>
      stream([
        ...BEGAN.map(([n, d]): Told => [n, { ...d, trace_id: 'run-A' }]),
        ['error', { trace_id: 'run-A', code: 'in_doubt', message: 'nobody knows' }],
      ]),
    );
    chat = new ChatSession('g', 'A');
    await Promise.all([chat.open(), pass(500)]);
    expect([told()[0], told()[1]]).toEqual([
      ['user', 'asked in A', 'stored'],
      ['assistant', 'Hel', 'failed'],
    ]);
    expect(now().turns[1]?.error?.calls).toEqual(calls);
    server.on('POST', /\/api\/runs\/run-A\/retry\/stream/, () => stream([DONE], 'end', 9));
    void chat.settle('run-A', [{ call_id: 'c', action: 'skip' }]);
    await pass(500);
    expect([server.of('POST', /\/retry/)[0]?.body, told().at(-1)]).toEqual([
      { in_doubt: [{ call_id: 'c', action: 'skip' }] },
      ['assistant', 'Hello', 'done'],
    ]);
  });

  it('tells what is in doubt of the turn that it is of, not of the one that was begun meanwhile', async () => {
    server.on('POST', said, () => stream([...BEGAN, ['error', { trace_id: 'T', code: 'in_doubt', message: 'nobody knows' }]]));
    let tell: (r: Response) => void = () => undefined;
    server.on('GET', /\/api\/runs\/T/, () => new Promise<Response>((ok) => (tell = ok)));
    void chat.send('first', []);
    await pass(500);
    server.on('POST', said, () => stream([['thread', { trace_id: 'U', thread_id: 'A' }]], 'hold'));
    void chat.send('second', []);
    await pass(500);
    tell(json(run('T', 'failed', { error: { code: 'in_doubt', message: 'nobody knows', node_id: null, calls: [] } })));
    await pass(500);
    expect(now().turns.at(-1)).toMatchObject({ state: 'streaming', trace: 'U', error: null });
  });

  it('asks nothing on behalf of a session that was left meanwhile', async () => {
    stored(server, 'A', 'awaiting_tool_approval', { pauses: [pause] });
    let tell: (r: Response) => void = () => undefined;
    server.on('GET', /\/api\/runs\/run-A/, () => new Promise<Response>((ok) => (tell = ok)));
    const first = new ChatSession('g', 'A');
    void first.open();
    await pass(10);
    first.dispose();
    stored(server, 'B', 'completed');
    chat = new ChatSession('g', 'B');
    void chat.open();
    tell(json(run('run-A', 'awaiting_tool_approval', { pauses: [pause] })));
    await pass(500);
    expect([now().thread, now().pause, first.store.getState().pause]).toEqual(['B', null, null]);
  });

  it('answers the run that asked, once', async () => {
    server.on('POST', said, () => stream([...BEGAN, ASKS]));
    server.on('POST', /\/resume\/stream/, () =>
      stream([['tool_approval_resolved', { trace_id: 'T', pause_id: 'p', approved: true }], DONE], 'end', 9),
    );
    void chat.send('hi', []);
    await pass(100);
    const asked = now().pause;
    expect([asked?.run, told().at(-1)?.[2]]).toEqual(['T', 'waiting']);
    if (!asked) return;
    void chat.answer(asked, { approval: 'approve' });
    void chat.answer(asked, { approval: 'approve' });
    await pass(100);
    expect(server.of('POST', /resume/).map((a) => a.path)).toEqual([expect.stringContaining('/api/runs/T/resume/stream')]);
    expect([now().pause, told().at(-1)]).toEqual([null, ['assistant', 'Hello', 'done']]);
  });

  it('asks again when the answer could not be sent', async () => {
    server.on('POST', said, () => stream([...BEGAN, ASKS]));
    server.on('POST', /\/resume\/stream/, () => refusal(422, 'validation_failed'));
    void chat.send('hi', []);
    await pass(100);
    const asked = now().pause;
    const end = asked ? await chat.answer(asked, { approval: 'approve' }) : null;
    expect([end?.kind, now().pause?.pause_id, now().answering, now().busy]).toEqual(['refused', 'p', false, false]);
  });

  it('keeps what was said when it is not followed any more, and can be followed again', async () => {
    server.on('POST', said, () => stream(BEGAN, 'cut'));
    server.on('GET', tail, () => refusal(403, 'forbidden'));
    void chat.send('hi', []);
    await pass(5000);
    expect([told().at(-1), now().busy]).toEqual([['assistant', 'Hel', 'lost'], false]);
    server.on('GET', /\/api\/runs\/T/, () => json(run('T', 'running')));
    server.on('GET', tail, () => stream([...BEGAN, DONE]));
    await Promise.all([chat.attach('T'), pass(500)]);
    expect(told().map(([role, text]) => [role, text])).toEqual([
      ['user', 'hi'],
      ['assistant', 'Hello'],
    ]);
  });
});

describe('stopping a turn that has not begun yet', () => {
  it('stops its run once there is one, and does not say that it rests before', async () => {
    vi.useFakeTimers();
    const server = new Server();
    let begin: (r: Response) => void = () => undefined;
    server.on('POST', said, () => new Promise<Response>((ok) => (begin = ok)));
    server.on('POST', /\/cancel/, () => json({ status: 'cancelled' }, 202));
    const chat = new ChatSession('g', null);
    void chat.send('hi', []);
    void chat.stop();
    await pass(5000);
    expect([chat.store.getState().busy, chat.store.getState().turns.at(-1)?.state]).toEqual([true, 'streaming']);
    begin(stream(BEGAN, 'hold'));
    await pass(500);
    expect(server.of('POST', /\/cancel/).map((a) => a.path)).toEqual([expect.stringContaining('/api/runs/T/cancel')]);
    chat.dispose();
    vi.useRealTimers();
  });
});

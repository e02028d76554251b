/** What pictures are taken of: every route, and every state of a page that data alone does not show. */
import { api, make, streamed } from './browser.mjs';
import { places } from './places.mjs';

const reply =
  (json, status = 200) =>
  (route) =>
    route.fulfill({ status, contentType: status < 400 ? 'application/json' : 'application/problem+json', body: JSON.stringify(json) });
const nothing = reply({ data: [], next_cursor: null });
const problem = (status, code, message, more = {}) =>
  reply(
    { type: `urn:studio:problem:${code}`, title: message, status, detail: message, code, message, request_id: 'req_7f3a91', ...more },
    status,
  );
const broken = problem(500, 'internal', 'The database could not be read.');
const never = () => new Promise(() => undefined);
/** The studio's own answer, changed on its way. */
const changed = (change) => async (route) => {
  const response = await route.fetch();
  const body = await response.json();
  change(body);
  await route.fulfill({ response, json: body });
};
const first = (css) => (page) => page.locator(css).first().click();
const key =
  (...keys) =>
  async (page) => {
    await page.locator('#canvas').focus();
    for (const k of keys) await page.keyboard.press(k);
  };
const nth = (css, n) => (page) => page.locator(css).nth(n).click();

const lists = ['workflows', 'agents', 'tools', 'mcp-servers', 'knowledge-bases', 'runs'];
const pageOf = { 'mcp-servers': 'mcp', 'knowledge-bases': 'knowledge', runs: 'traces' };

const node = (id, type, x, y, title, data = {}) => ({ id, type, position: { x, y }, title, data });
const SCRIPT = { provider: 'script', model: 'demo' };
/** Two branches, of which one waits for a person. */
const graphOf = ({ agent, asking, knowledge }) => ({
  version: 1,
  viewport: { x: 0, y: 0, zoom: 1 },
  annotations: [
    {
      id: 'note_1',
      type: 'note',
      position: { x: 20, y: 90 },
      data: {
        text: '**Why two branches?**\n\nThe reply is drafted while the refund waits for a person, so approving never costs the customer time.',
      },
    },
  ],
  nodes: [
    node('start_1', 'start', 20, 380, 'Start'),
    node('agent_triage', 'agent', 150, 350, 'Triage', {
      config_mode: 'existing',
      agent_id: agent,
      message: '{{input}}',
      memory: 'none',
      output_key: 'triage',
    }),
    node('fork_1', 'fork', 430, 380, 'Fork', { branches: ['refund', 'reply'] }),
    node('agent_refund', 'agent', 644, 90, 'Refund actions', {
      config_mode: 'existing',
      agent_id: asking,
      message: '{{input}}',
      memory: 'none',
      output_key: 'refund_result',
    }),
    node('llm_credit', 'llm', 944, 190, 'Offer store credit', {
      ...SCRIPT,
      prompt: 'Offer store credit for {{input}}',
      output_key: 'credit',
    }),
    node('rag_policy', 'rag', 644, 520, 'Refund policy', {
      knowledge_base_id: knowledge,
      query: '{{input}}',
      top_k: 6,
      output_key: 'rag_context',
    }),
    node('llm_reply', 'llm', 904, 500, 'Draft reply', {
      ...SCRIPT,
      prompt: '{{input}}\n{{rag_context.context}}',
      output_key: 'draft_reply',
      stream: true,
    }),
    node('join_1', 'join', 1224, 380, 'Join', { output_key: 'parallel_results' }),
    node('stop_1', 'stop', 1354, 380, 'Stop', { reply: '{{draft_reply}}' }),
  ],
  edges: [
    ['start_1', 'agent_triage'],
    ['agent_triage', 'fork_1'],
    ['fork_1', 'join_1'],
    ['fork_1', 'agent_refund', 'refund'],
    ['fork_1', 'rag_policy', 'reply'],
    ['agent_refund', 'join_1'],
    ['agent_refund', 'llm_credit', 'rejected'],
    ['llm_credit', 'join_1'],
    ['rag_policy', 'llm_reply'],
    ['llm_reply', 'join_1'],
    ['join_1', 'stop_1'],
  ].map(([source, target, sourceHandle = 'default'], n) => ({ id: `e${n}`, source, target, sourceHandle, targetHandle: 'default' })),
});

/** A workflow with branches, and runs of it that wait, are done, failed and were cancelled; what is there already is taken. */
async function runs(x) {
  const all = (await api('/api/workflows?limit=100')).data;
  const flow =
    all.find((w) => w.name === 'Parallel refund approval') ??
    (await make('/api/workflows', { name: 'Parallel refund approval', graph: graphOf(x) }));
  const last = async (workflow, status) =>
    (await api(`/api/runs?limit=100&status=${status}`)).data.find((r) => r.entity_id === workflow)?.id;
  const run = async (workflow, message) => (await streamed(`/workflows/${workflow}/run/stream`, { message })).trace;
  const order = 'Where is my refund for order 10482? The lamp arrived broken.';
  let done = await last(flow.id, 'completed');
  if (!done) {
    done = await run(flow.id, order);
    await streamed(`/api/runs/${done}/resume/stream`, { approval: 'approve' });
  }
  const waiting = (await last(flow.id, 'awaiting_tool_approval')) ?? (await run(flow.id, order));
  const weak =
    all.find((w) => w.name === 'Gate without a key') ??
    (await make('/api/workflows', {
      name: 'Gate without a key',
      graph: {
        version: 1,
        annotations: [],
        viewport: { x: 0, y: 0, zoom: 1 },
        nodes: [
          node('start_1', 'start', 40, 200, 'Start'),
          node('llm_1', 'llm', 240, 180, 'Draft', { ...SCRIPT, prompt: '{{input}}', output_key: 'draft' }),
          node('tool_1', 'tool', 560, 180, 'Look up', { tool_ref: `tool:${x.tool}`, parameters: { order_id: '' }, output_key: 'order' }),
          node('stop_1', 'stop', 860, 200, 'Stop', { reply: '{{order}}' }),
        ],
        edges: [
          ['start_1', 'llm_1'],
          ['llm_1', 'tool_1'],
          ['tool_1', 'stop_1'],
        ].map(([source, target], n) => ({ id: `e${n}`, source, target, sourceHandle: 'default', targetHandle: 'default' })),
      },
    }));
  const failed = (await last(weak.id, 'failed')) ?? (await run(weak.id, 'Where is order 10482?'));
  let stopped = await last(x.workflow, 'cancelled');
  if (!stopped) {
    stopped = await run(x.workflow, 'Write to Linus');
    await make(`/workflows/traces/${stopped}/cancel`, {});
  }
  return { flow: flow.id, done, waiting, weak: weak.id, failed, stopped };
}

/** A run as it looks in the middle: one branch waits, the other one writes. */
async function running(id) {
  const answer = await api(`/api/runs/${id}?include=graph&snapshots=none`);
  const step = answer.steps.find((s) => s.node_id === 'llm_reply');
  if (!step) return null;
  const begun = Date.now() - 8_400;
  const shift = (text) => (text ? new Date(Date.parse(text) - Date.parse(answer.trace.started_at) + begun).toISOString() : text);
  for (const s of answer.steps) {
    s.started_at = shift(s.started_at);
    s.finished_at = shift(s.finished_at);
  }
  Object.assign(step, { status: 'running', finished_at: null, duration_ms: null, output: null, total_tokens: 0 });
  Object.assign(answer.trace, { status: 'running', started_at: shift(answer.trace.started_at), finished_at: null });
  const words =
    'Hi Marina, thanks for your patience. Your order 10482 arrived on 4 November, which is inside our 30-day window, so you qualify for a full refund to your original'.match(
      /\S+\s*/g,
    );
  const told = words
    .map(
      (delta, n) =>
        `id: ${9000 + n}\nevent: token\ndata: ${JSON.stringify({ trace_id: id, step_id: step.id, node_id: 'llm_reply', delta, branch_id: 'reply', branch_path: ['reply'] })}\n\n`,
    )
    .join('');
  return [
    [/\/events\/stream/, (route) => route.fulfill({ status: 200, contentType: 'text/event-stream', body: told })],
    [/\?snapshots=none$/, never],
    [/include=graph/, reply(answer)],
  ];
}

export async function scenes() {
  const { all, ids } = await places({ withIds: true });
  const path = Object.fromEntries(all.map((p) => [p.name, p.path]));
  const x = await runs(ids);
  const flow = `/workflows/${x.flow}/edit`;
  const trace = `/traces/${x.done}`;
  const steps = (await api(`/api/runs/${x.done}`)).steps;
  const reply_ = steps.find((s) => s.node_id === 'llm_reply')?.id ?? steps.at(-1).id;
  const live = await running(x.waiting);
  const chats = await talked(ids.agent);
  const documents = /\/documents(\?|$)/;
  const file = {
    id: 'd',
    mime_type: 'application/pdf',
    size_bytes: 182_044,
    chunk_count: 0,
    total_tokens: 0,
    created_at: new Date(Date.now() - 60_000).toISOString(),
  };
  const states = [
    ...lists.flatMap((kind) => {
      const page = `/${pageOf[kind] ?? kind}`;
      const url = new RegExp(`/api/${kind}(\\?|$)`);
      return [
        { name: `${page.slice(1)}-empty`, path: page, answer: [[url, nothing]] },
        { name: `${page.slice(1)}-loading`, path: page, answer: [[url, never]], loading: true },
        { name: `${page.slice(1)}-error`, path: page, answer: [[url, broken]] },
      ];
    }),
    // What any page may have to say.
    {
      name: 'signed-out',
      path: '/workflows',
      act: async (page) => {
        await page.route(/\/api\//, problem(401, 'unauthenticated', 'Sign in first.'));
        await page.evaluate(() => dispatchEvent(new Event('visibilitychange')));
        await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
        await page.locator('.strip').waitFor({ timeout: 40_000 });
      },
    },
    {
      name: 'refused',
      path: '/agents',
      answer: [[/\/api\/agents(\?|$)/, problem(403, 'forbidden', 'You may not see this.', { gate: 'viewStudio' })]],
    },
    {
      name: 'switched-off',
      path: '/usage',
      answer: [[/\/api\/usage/, problem(404, 'flag_disabled', 'This is switched off.', { flag: 'usage.enabled' })]],
    },
    {
      name: 'offline',
      path: '/traces',
      act: async (page) => {
        await page.route(/\/api\//, (route) => route.abort());
        await page.evaluate(() => dispatchEvent(new Event('visibilitychange')));
        await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
        await page.locator('.strip').waitFor({ timeout: 40_000 });
      },
    },
    { name: 'palette', path: '/workflows', act: (page) => page.keyboard.press('Control+k') },
    {
      name: 'palette-document',
      path: '/workflows',
      act: async (page) => {
        await page.keyboard.press('Control+k');
        await page.locator('[role=combobox]').fill('ret');
        await page.waitForTimeout(500);
      },
    },
    { name: 'menu-language', path: '/workflows', act: first('.navfoot .btn'), wide: true },
    { name: 'menu-theme', path: '/workflows', act: nth('.navfoot .btn', 1), wide: true },
    { name: 'phone-menu', path: '/workflows', act: first('.phonebar button'), phone: true },
    {
      name: 'page-missing',
      path: '/agents',
      act: (page) =>
        page.evaluate(() => {
          history.pushState(null, '', 'nowhere/else');
          dispatchEvent(new PopStateEvent('popstate'));
        }),
    },
    // Workflows and the editor.
    {
      name: 'first-run',
      path: '/workflows',
      answer: [
        [/\/api\/workflows(\?|$)/, nothing],
        [/\/api\/agents(\?|$)/, nothing],
        [/\/api\/runs(\?|$)/, nothing],
      ],
    },
    { name: 'workflows-new', path: '/workflows', act: first('.top .btn.pri') },
    { name: 'workflows-menu', path: '/workflows', act: first('td .btn.ico') },
    {
      name: 'workflows-delete',
      path: '/workflows',
      act: async (page) => {
        await page.locator('td .btn.ico').first().click();
        await page.locator('.menu .mi').last().click();
      },
    },
    { name: 'editor-missing', path: '/workflows/0199a000-0000-7000-8000-00000000ffff/edit' },
    { name: 'editor-loading', path: flow, answer: [[/\/api\/graph\/schema/, never]], loading: true },
    { name: 'editor-error', path: flow, answer: [[/\/api\/graph\/schema/, broken]] },
    { name: 'editor-branches', path: flow },
    { name: 'editor-node', path: `${flow}?node=agent_refund` },
    { name: 'editor-node-llm', path: `${flow}?node=llm_reply` },
    { name: 'editor-node-json', path: `${flow}?node=agent_refund`, act: (page) => page.locator('#inspector [role=tab]').last().click() },
    { name: 'editor-node-menu', path: `${flow}?node=llm_reply`, act: first('#inspector .ih .btn') },
    {
      name: 'editor-only',
      path: `${flow}?node=llm_reply`,
      act: async (page) => {
        await page.locator('#inspector .ih .btn').first().click();
        await page.locator('.menu .mi').nth(4).click();
      },
    },
    { name: 'editor-several', path: flow, act: key('Control+a') },
    {
      name: 'editor-added',
      alone: true,
      path: `${flow}?node=llm_reply`,
      act: async (page) => {
        await key('/')(page);
        await page.keyboard.press('Enter');
      },
    },
    { name: 'editor-palette', path: path.editor, act: key('/') },
    { name: 'editor-outline', path: flow, act: key('o') },
    {
      name: 'editor-json',
      path: flow,
      act: async (page) => {
        await key('j')(page);
        await page.waitForTimeout(900);
      },
    },
    {
      name: 'editor-find',
      path: flow,
      act: async (page) => {
        await key('Control+f')(page);
        await page.locator('dialog input').fill('draft_reply');
      },
    },
    { name: 'editor-history', path: flow, act: (page) => page.locator('.top .seg [role=radio]').last().click() },
    {
      name: 'editor-problems',
      alone: true,
      path: `/workflows/${x.weak}/edit`,
      act: async (page) => {
        await page
          .locator('.pi', { hasText: /^(LLM|Modelo)/ })
          .first()
          .click()
          .catch(() => undefined);
        await key('p')(page);
        await page.waitForTimeout(900);
      },
    },
    { name: 'editor-state', path: flow, act: (page) => page.locator('.dock [role=tab]').nth(1).click() },
    {
      name: 'editor-attach',
      alone: true,
      path: flow,
      act: async (page) => {
        await page
          .locator('.dock input[type=file]')
          .setInputFiles({ name: 'lamp-damage.txt', mimeType: 'text/plain', buffer: Buffer.from('broken') });
        await page.locator('#composer').fill('Where is my refund?');
      },
    },
    {
      name: 'editor-conflict',
      alone: true,
      path: flow,
      answer: [
        [
          /\/draft$/,
          (route) =>
            route.request().method() === 'PUT'
              ? problem(412, 'revision_conflict', 'Someone else saved this draft.')(route)
              : route.request().method() === 'GET'
                ? reply({ graph: graphOf(ids), revision: 7, draft_revision: 7, updated_at: new Date().toISOString() })(route)
                : route.continue(),
        ],
      ],
      act: async (page) => {
        await page.locator('.pi').nth(7).click();
        await page.waitForTimeout(1600);
      },
    },
    { name: 'editor-approval', path: `${flow}?trace=${x.waiting}&node=agent_refund` },
    { name: 'editor-approval-events', path: `${flow}?trace=${x.waiting}`, act: (page) => page.locator('.dl-r [role=tab]').nth(1).click() },
    ...(live ? [{ name: 'editor-running', path: `${flow}?trace=${x.waiting}&node=llm_reply`, answer: live, loading: true }] : []),
    { name: 'editor-ran', path: `${flow}?trace=${x.done}&node=llm_reply` },
    { name: 'editor-failed', path: `/workflows/${x.weak}/edit?trace=${x.failed}&node=tool_1` },
    { name: 'editor-cancelled', path: `/workflows/${ids.workflow}/edit?trace=${x.stopped}` },
    { name: 'keys', path: path.editor, act: key('?') },
    // Traces.
    { name: 'traces-waiting', path: '/traces?status=awaiting_input,awaiting_tool_approval' },
    { name: 'traces-failed', path: '/traces?status=failed,cancelled' },
    {
      name: 'traces-picked',
      path: '/traces',
      act: async (page) => {
        await page.locator('td input').nth(0).check();
        await page.locator('td input').nth(1).check();
      },
      wide: true,
    },
    { name: 'trace-loading', path: trace, answer: [[/\/api\/runs\/[0-9a-f-]{36}(\?|$)/, never]], loading: true },
    { name: 'trace-error', path: trace, answer: [[/\/api\/runs\/[0-9a-f-]{36}(\?|$)/, broken]] },
    { name: 'trace-branches', path: `${trace}?step=${reply_}` },
    { name: 'trace-start', path: `${trace}?step=start` },
    ...['state', 'messages', 'usage', 'raw'].map((tab) => ({ name: `trace-${tab}`, path: `${trace}?step=${reply_}&tab=${tab}` })),
    { name: 'trace-steps', path: trace, act: first('.hdr [role=radio]') },
    { name: 'trace-approval', path: `/traces/${x.waiting}` },
    { name: 'trace-failed', path: `/traces/${x.failed}` },
    { name: 'trace-cancelled', path: `/traces/${x.stopped}` },
    { name: 'trace-branches-graph', path: `${trace}?view=graph` },
    {
      name: 'trace-queued',
      path: trace,
      answer: [
        [
          /\/api\/runs\/[0-9a-f-]{36}(\?|$)/,
          changed((b) => {
            Object.assign(b.trace, {
              status: 'queued',
              started_at: null,
              finished_at: null,
              duration_ms: null,
              created_at: new Date(Date.now() - 42_000).toISOString(),
            });
            b.steps = [];
            b.spans = [];
          }),
        ],
      ],
    },
    {
      name: 'trace-running',
      path: trace,
      answer: [
        [
          /\/api\/runs\/[0-9a-f-]{36}(\?|$)/,
          changed((b) => {
            const from = Date.now() - 9_000 - Date.parse(b.trace.started_at);
            for (const s of [b.trace, ...b.steps, ...b.spans])
              for (const k of ['started_at', 'finished_at', 'created_at']) if (s[k]) s[k] = new Date(Date.parse(s[k]) + from).toISOString();
            b.steps = b.steps.filter((s) => !['join', 'stop'].includes(s.node_type));
            Object.assign(b.steps.at(-1), { status: 'running', finished_at: null });
            Object.assign(b.trace, { status: 'running', finished_at: null });
          }),
        ],
      ],
    },
    // Agents and the playground.
    { name: 'agent-error', path: path.agent, answer: [[/\/api\/agents\/[^/]+$/, broken]] },
    { name: 'agent-invalid', path: '/agents/new', act: first('.top .btn.pri') },
    { name: 'agent-changed', path: path.agent, act: (page) => page.locator('form textarea').first().fill('Answer in two sentences.') },
    { name: 'playground-talked', path: `/agents/${chats.agent}/playground?thread=${chats.thread}` },
    { name: 'playground-tools', path: path['playground-waiting'], act: nth('.pside [role=tab]', 2) },
    { name: 'playground-variables', path: path.playground, act: first('.cmpz .btn >> nth=1') },
    { name: 'playground-instructions', path: path.playground, act: first('.pside [role=tab] >> nth=1') },
    {
      name: 'playground-compare',
      path: path.playground,
      act: async (page) => {
        await page.locator('.top .btn[aria-pressed]').click();
        await page.locator('#chatbox').fill('And when will it come?');
        await page.keyboard.press('Enter');
      },
    },
    {
      name: 'playground-compared',
      path: `/agents/${ids.agent}/playground`,
      act: async (page) => {
        await page.locator('.top .btn[aria-pressed]').click();
        await page.locator('#chatbox').fill('And when will it come?');
        await page.keyboard.press('Enter');
        await page.locator('.am .grid2 select').nth(1).selectOption('script\necho');
        await page.locator('.am .card .btn.pri').click();
        await page.locator('.cmp .md').nth(1).waitFor();
        await page.waitForTimeout(800);
      },
    },
    {
      name: 'playground-edit',
      path: path.playground,
      act: async (page) => {
        await page.locator('.um').first().hover();
        await page.locator('.um .btn').first().click();
      },
    },
    {
      name: 'playground-attach',
      path: path['playground-empty'],
      act: async (page) => {
        await page
          .locator('.cmpz input[type=file]')
          .setInputFiles({ name: 'lamp-damage.png', mimeType: 'image/png', buffer: Buffer.from('89504e470d0a1a0a', 'hex') });
      },
    },
    // Tools, servers, knowledge.
    { name: 'tool-invalid', path: '/tools/new', act: first('.top .btn.pri') },
    { name: 'tool-builder', path: '/tools/new', act: nth('.form .seg [role=radio]', 1) },
    { name: 'tool-search', path: '/tools/new', act: nth('.form .seg [role=radio]', 2) },
    {
      name: 'tool-tried',
      path: path.tool,
      act: async (page) => {
        await page.locator('aside .btn').last().click();
        await page.waitForTimeout(1500);
      },
    },
    { name: 'mcp-stdio', path: '/mcp/new', act: nth('.form .seg [role=radio]', 2) },
    {
      name: 'mcp-failed',
      path: path['mcp-server'],
      answer: [[/\/test$/, reply({ ok: false, protocol_version: null, tools: [], error: 'The server answered with status 503.' })]],
      act: first('aside .btn'),
    },
    {
      name: 'mcp-tools',
      path: path['mcp-server'],
      answer: [
        [
          /\/test$/,
          reply({
            ok: true,
            protocol_version: '2025-11-25',
            tools: [
              { name: 'get_order', description: 'Reads one order by its number.', input_schema: {} },
              { name: 'cancel_order', description: 'Cancels an order that was not sent yet.', input_schema: {} },
            ],
            error: null,
          }),
        ],
      ],
      act: first('aside .btn'),
    },
    { name: 'knowledge-new', path: '/knowledge', act: first('.top .btn.pri') },
    {
      name: 'knowledge-asked',
      path: path['knowledge-base'],
      act: async (page) => {
        await page.locator('aside textarea').first().fill('How long may I return a lamp?');
        await page.locator('aside .btn.pri').click();
      },
    },
    {
      name: 'knowledge-nothing',
      path: path['knowledge-base'],
      answer: [[/\/search$/, reply({ results: [], chunk_count: 0, top_score: null })]],
      act: async (page) => {
        await page.locator('aside textarea').first().fill('Who won?');
        await page.locator('aside .btn.pri').click();
      },
    },
    { name: 'knowledge-write', path: path['knowledge-base'], act: first('.tools-line .btn >> nth=1') },
    { name: 'knowledge-no-documents', path: path['knowledge-base'], answer: [[documents, nothing]] },
    {
      name: 'knowledge-reading',
      path: path['knowledge-base'],
      answer: [
        [
          documents,
          reply({
            data: [
              { ...file, id: 'a', name: 'catalogue.pdf', status: 'processing', error: null },
              {
                ...file,
                id: 'b',
                name: 'scan.pdf',
                status: 'failed',
                error: 'This PDF holds pictures only; no text could be read.',
              },
              { ...file, id: 'c', name: 'faq.md', status: 'completed', chunk_count: 14, total_tokens: 2210, error: null },
            ],
            next_cursor: null,
          }),
        ],
      ],
    },
    // Usage and settings.
    { name: 'usage-loading', path: '/usage', answer: [[/\/api\/usage\?/, never]], loading: true },
    { name: 'usage-error', path: '/usage', answer: [[/\/api\/usage\?/, broken]] },
    { name: 'usage-entity', path: '/usage?by=entity&show=tokens' },
    { name: 'usage-range', path: '/usage', act: (page) => page.locator('.us .btn, .us .field').first().click() },
    {
      name: 'usage-tip',
      path: '/usage',
      act: async (page) => {
        await page.locator('.pl').focus();
        for (let n = 0; n < 10; n++) await page.keyboard.press('ArrowLeft');
      },
    },
    { name: 'usage-api', path: '/usage', act: first('.top .btn >> nth=1') },
    { name: 'settings-loading', path: '/settings', answer: [[/\/api\/settings/, never]], loading: true },
    { name: 'settings-error', path: '/settings', answer: [[/\/api\/settings/, broken]] },
    { name: 'settings-none', path: '/settings', act: (page) => page.locator('.tools-line input').fill('zzzz') },
  ];
  return [...all, ...states];
}

/** The session with the most in it, else the one that is there anyway. */
async function talked(agent) {
  let best = null;
  for (const a of [(await api('/api/agents?limit=100')).data.find((one) => one.slug === 'support-assistant')?.id, agent].filter(Boolean)) {
    for (const one of (await api(`/agents/${a}/chat/threads`)).data)
      if (!best || one.message_count > best.count) best = { agent: a, thread: one.id, count: one.message_count };
  }
  return best;
}

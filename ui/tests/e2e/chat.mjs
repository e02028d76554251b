/** The playground: first words, Markdown, files, an edited message as a branch, two models, stopping, approving, sessions. */
import { api, axe, base, launch, make, open, picture, reports, soon } from './browser.mjs';

const turns = (page) => page.locator('.msgcol > .um').count();

async function converse(page, agent, wrong) {
  const said = [];
  const expect = (truth, text) => {
    if (truth) said.push(text);
    else wrong.push(`not so: ${text}`);
  };
  const box = page.locator('#chatbox');
  const say = async (text) => {
    await box.fill(text);
    await page.keyboard.press('Enter');
  };
  const answered = (n) =>
    page
      .locator('.am .who a[href*="/traces/"]')
      .nth(n - 1)
      .waitFor();
  const threads = async () => (await api(`/agents/${agent}/chat/threads`)).data;

  await page.goto(`${base}/agents/${agent}/playground`);
  await page.locator('.empty .btn').first().click();
  await answered(1);
  expect(await soon(async () => (await turns(page)) === 1), 'a suggestion begins a session');
  await page.setInputFiles('.cmpz input[type=file]', { name: 'note.md', mimeType: 'text/markdown', buffer: Buffer.from('# A note\n') });
  await page.locator('.cmpz .att').waitFor();
  await page.setInputFiles('.cmpz input[type=file]', { name: 'page.html', mimeType: 'text/html', buffer: Buffer.from('<p>no</p>') });
  await page.locator('.toast.fail').waitFor();
  await say('Here is **a note**');
  await answered(2);
  await page.locator('.um .att', { hasText: 'note.md' }).waitFor();
  expect(
    await soon(async () => (await page.locator('.cmpz .att').count()) === 0),
    'a file goes along, one of a type that is not accepted is not sent',
  );
  await page.locator('.am .md strong', { hasText: 'a note' }).waitFor();
  said.push('an answer is Markdown');

  await soon(() => new URL(page.url()).searchParams.has('thread'));
  const first = new URL(page.url()).searchParams.get('thread');
  const bubble = page.locator('.msgcol > .um').last();
  await bubble.hover();
  await bubble.locator('.umrow .btn').click();
  await page.locator('.um.edit textarea').fill('Here is something else');
  await page.keyboard.press('Enter');
  await page.locator('.am', { hasText: 'something else' }).waitFor();
  const thread = () => new URL(page.url()).searchParams.get('thread');
  await soon(() => thread() && thread() !== first);
  const branch = thread();
  expect(branch !== first && (await soon(async () => (await turns(page)) === 2)), 'an edited message is sent in a branch');
  const kept = await api(`/agents/${agent}/chat/threads/${first}`);
  expect(kept.messages.length === 4 && kept.messages[2].content.includes('a note'), 'the session it left stays as it was');

  const before = (await threads()).length;
  await page.locator('.top .btn[aria-pressed]').click();
  await say('Compare this');
  const selects = page.locator('.am .grid2 select');
  await selects.nth(0).waitFor();
  await selects.nth(0).selectOption('script\necho');
  await selects.nth(1).selectOption('script\ndemo');
  for (const a of await axe(page)) wrong.push(`compare, picking: axe: ${a}`);
  await page.locator('.am .card .btn.pri').click();
  const columns = page.locator('.cmp');
  await columns.nth(1).locator('.st.ok').waitFor();
  await columns.nth(0).locator('.st.ok').waitFor();
  expect(
    (await columns.nth(0).locator('.ch b').textContent()) === 'echo' && (await page.locator('.cmp .note-box').count()) === 0,
    'each model answered in its column',
  );
  for (const a of await axe(page)) wrong.push(`compare, answered: axe: ${a}`);
  await columns.nth(0).locator('.ca .btn').first().click();
  await page.locator('.um', { hasText: 'Compare this' }).waitFor();
  expect(await soon(async () => (await turns(page)) === 3), 'the kept answer goes on from the same history');
  expect(await soon(async () => (await threads()).length === before + 1), 'the other one left no session behind');
  return said;
}

async function approve(page, agent, wrong) {
  await page.goto(`${base}/agents/${agent}/playground`);
  await page.locator('#chatbox').fill('Refund A-100');
  await page.keyboard.press('Enter');
  await page.locator('.appr').waitFor();
  for (const a of await axe(page)) wrong.push(`asking: axe: ${a}`);
  await page.reload();
  await page.locator('.appr').waitFor();
  await page.locator('.appr .btn.pri').click();
  await page.locator('.am .tc').waitFor();
  await page.locator('.appr').waitFor({ state: 'detached' });
  if (!/refund/i.test(await page.locator('.am .md').last().textContent())) wrong.push('the approved tool did not lead to an answer');
  await page.locator('.tl2 .ti.on').hover();
  await page.locator('.tl2 li:has(.ti.on) .menuanchor .btn').click();
  await page.locator('[role=menuitem]').last().click();
  await page.locator('.dialog .btn.dng').click();
  await page.locator('.msgcol > .empty').waitFor();
  return ['a waiting session asks again after a reload, is approved, and is deleted'];
}

/** A message that is not taken is back in the box; one written in another session, while an answer comes, goes to that one. */
async function apart(page, agent, wrong) {
  const stream = /chat\/stream$/;
  const box = page.locator('#chatbox');
  const say = async (text) => {
    await box.fill(text);
    await page.keyboard.press('Enter');
  };
  await page.goto(`${base}/agents/${agent}/playground`);
  await page.route(stream, (route) =>
    route.fulfill({
      status: 429,
      headers: { 'Retry-After': '1', 'Content-Type': 'application/problem+json' },
      body: JSON.stringify({ status: 429, code: 'too_many_runs', title: 'Too many runs', detail: 'too many runs' }),
    }),
  );
  await say('Not now');
  await page.locator('.note-box.fail[role=alert]', { hasText: 'too many runs' }).waitFor();
  if (!(await soon(async () => (await box.inputValue()) === 'Not now'))) wrong.push('a message that was refused is not back in the box');
  await page.unroute(stream);
  const [other] = (await api(`/agents/${agent}/chat/threads`)).data;
  await page.route(stream, () => new Promise(() => undefined), { times: 1 });
  await say('Never answered');
  await page.locator('.um', { hasText: 'Never answered' }).waitFor();
  await page.locator('.tl2 .ti').first().click();
  await page.waitForURL(new RegExp(other.id));
  const [sent] = await Promise.all([page.waitForRequest(stream), say('For this session')]);
  if (sent.postDataJSON().thread_id !== other.id) wrong.push('a message goes to another session than the one that is marked');
  await page.locator('.am', { hasText: 'For this session' }).waitFor();
  return ['a refused message is kept and told of', 'a session chosen while an answer comes is the one that is talked to'];
}

export async function chat() {
  const agent = await make('/api/agents', { name: 'Gate talk', provider: 'script', model: 'echo', instructions: 'Repeat.' });
  const asking =
    (await api('/api/agents?limit=100')).data.find((a) => a.slug === 'refund-actions-agent') ??
    (await make('/api/agents', {
      name: 'Gate refunds',
      provider: 'script',
      model: 'demo',
      slug: 'refund-actions-agent',
      instructions: 'Refund.',
      tools: [{ ref: 'toolkit:demo', only: ['issue_refund'] }],
      require_tool_approval: true,
    }));
  const browser = await launch();
  const { page, heard } = await open(browser);
  const wrong = [];
  let said = [];
  try {
    said = [
      ...(await converse(page, agent.id, wrong)),
      ...(await approve(page, asking.id, wrong)),
      ...(await apart(page, agent.id, wrong)),
    ];
  } catch (error) {
    await picture(page, 'chat-failed');
    wrong.push(error.message.split('\n').slice(0, 3).join(' '));
  }
  wrong.push(
    ...heard.filter((h) => !/429/.test(h)).map((h) => `console: ${h}`),
    ...(await reports(page).catch(() => [])).map((r) => `policy: ${r}`),
  );
  await browser.close();
  await api(`/api/agents/${agent.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  return { said, wrong };
}

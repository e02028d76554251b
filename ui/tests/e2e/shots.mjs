/** Pictures of every route and state, for eyes: node tests/e2e/shots.mjs FOLDER [name …]; both themes, both languages, wide and phone. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { base, launch, open } from './browser.mjs';
import { places } from './places.mjs';

const [folder, ...wanted] = process.argv.slice(2);
if (!folder) { console.error('which folder?'); process.exit(1); }

const reply = (json, status = 200) => (route) => route.fulfill({ status, contentType: status < 400 ? 'application/json' : 'application/problem+json', body: JSON.stringify(json) });
const nothing = reply({ data: [], next_cursor: null });
const broken = reply({ type: 'urn:studio:problem:store_unavailable', title: 'Store unavailable', status: 500, detail: 'The database could not be read.', code: 'internal', message: 'The database could not be read.', request_id: 'req_7f3a91' }, 500);
const never = () => new Promise(() => undefined);
const lists = ['workflows', 'agents', 'tools', 'mcp-servers', 'knowledge-bases', 'runs'];
const pageOf = { 'mcp-servers': 'mcp', 'knowledge-bases': 'knowledge', runs: 'traces' };
const first = (css) => (page) => page.locator(css).first().click();

/** States of pages that data alone does not show: what is answered instead, and what a person does. */
function states(all) {
  const path = Object.fromEntries(all.map((p) => [p.name, p.path]));
  return [
    ...lists.flatMap((kind) => {
      const page = `/${pageOf[kind] ?? kind}`;
      const url = new RegExp(`/api/${kind}(\\?|$)`);
      return [{ name: `${page.slice(1)}-empty`, path: page, answer: [[url, nothing]] }, { name: `${page.slice(1)}-loading`, path: page, answer: [[url, never]], loading: true }, { name: `${page.slice(1)}-error`, path: page, answer: [[url, broken]] }];
    }),
    { name: 'first-run', path: '/workflows', answer: [[/\/api\/workflows(\?|$)/, nothing], [/\/api\/agents(\?|$)/, nothing], [/\/api\/runs(\?|$)/, nothing]] },
    { name: 'usage-loading', path: '/usage', answer: [[/\/api\/usage\?/, never]], loading: true }, { name: 'usage-error', path: '/usage', answer: [[/\/api\/usage\?/, broken]] }, { name: 'settings-loading', path: '/settings', answer: [[/\/api\/settings/, never]], loading: true },
    { name: 'usage-tip', path: '/usage', act: async (page) => { await page.locator('.pl').focus(); await page.keyboard.press('ArrowLeft'); } }, { name: 'usage-api', path: '/usage', act: first('.top .btn >> nth=1') },
    { name: 'workflows-new', path: '/workflows', act: first('.top .btn.pri') }, { name: 'workflows-menu', path: '/workflows', act: first('td .btn.ico') }, { name: 'knowledge-new', path: '/knowledge', act: first('.top .btn.pri') },
    { name: 'palette', path: '/workflows', act: (page) => page.keyboard.press('Control+k') }, { name: 'editor-palette', path: path.editor, act: async (page) => { await page.locator('#canvas').focus(); await page.keyboard.press('/'); } },
    { name: 'agent-error', path: path.agent, answer: [[/\/api\/agents\/[^/]+$/, broken]] }, { name: 'tool-invalid', path: '/tools/new', act: first('.top .btn.pri') },
    { name: 'tool-tried', path: path.tool, act: async (page) => { await page.locator('aside .btn').last().click(); await page.waitForTimeout(1500); } },
    { name: 'mcp-failed', path: path['mcp-server'], answer: [[/\/test$/, reply({ ok: false, protocol_version: null, tools: [], error: 'The server answered with status 503.' })]], act: first('aside .btn') },
    { name: 'mcp-tools', path: path['mcp-server'], answer: [[/\/test$/, reply({ ok: true, protocol_version: '2025-11-25', tools: [{ name: 'get_order', description: 'Reads one order by its number.', input_schema: {} }, { name: 'cancel_order', description: 'Cancels an order that was not sent yet.', input_schema: {} }], error: null })]], act: first('aside .btn') },
    { name: 'knowledge-asked', path: path['knowledge-base'], act: async (page) => { await page.locator('aside textarea').first().fill('How long may I return a lamp?'); await page.locator('aside .btn.pri').click(); } },
    { name: 'knowledge-write', path: path['knowledge-base'], act: first('.tools-line .btn >> nth=1') },
    { name: 'playground-variables', path: path.playground, act: first('.cmpz .btn >> nth=1') }, { name: 'playground-instructions', path: path.playground, act: first('.pside [role=tab] >> nth=1') },
    { name: 'playground-compare', path: path.playground, act: async (page) => { await page.locator('.top .btn[aria-pressed]').click(); await page.locator('#chatbox').fill('And when will it come?'); await page.keyboard.press('Enter'); } },
    { name: 'playground-edit', path: path.playground, act: async (page) => { await page.locator('.um').first().hover(); await page.locator('.um .btn').first().click(); } },
    { name: 'keys', path: path.editor, act: async (page) => { await page.locator('#canvas').focus(); await page.keyboard.press('?'); } },
    { name: 'phone-menu', path: '/workflows', act: first('.phonebar button'), phone: true },
  ];
}

const browser = await launch();
const all = await places();
const scenes = [...all, ...states(all)].filter((s) => wanted.length === 0 || wanted.some((w) => s.name === w || (w.endsWith('*') && s.name.startsWith(w.slice(0, -1)))));
const looks = [['wide', { width: 1440, height: 900 }], ['phone', { width: 390, height: 844 }]].flatMap(([size, shape]) => ['en', 'pt_BR'].flatMap((locale) => [false, true].map((dark) => ({ size, locale, dark, ...shape }))));
const chosen = (process.env.LOOKS ?? '').split(',').filter(Boolean);
for (const look of looks) {
  const label = `${look.size}-${look.locale}-${look.dark ? 'dark' : 'light'}`;
  if (chosen.length && !chosen.includes(label)) continue;
  await mkdir(join(folder, label), { recursive: true });
  const { context, page, settle } = await open(browser, look);
  for (const scene of scenes) {
    if (scene.phone && look.size !== 'phone') continue;
    for (const [url, answer] of scene.answer ?? []) await page.route(url, answer);
    await page.goto(base + scene.path, { waitUntil: 'commit' });
    if (scene.loading) await page.waitForTimeout(900);
    else await settle(8_000);
    page.setDefaultTimeout(3_000);
    try { await scene.act?.(page); if (scene.act) { await page.waitForTimeout(350); await settle(4_000); } } catch (error) { console.log(`${label} ${scene.name}: ${error.message.split('\n')[0]}`); }
    await page.screenshot({ path: join(folder, label, `${scene.name}.png`) });
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  }
  await context.close();
}
await browser.close();

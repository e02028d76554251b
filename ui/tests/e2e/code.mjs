/** Templates are found and installed; code is read, copied, exported, overwritten; classes and files are looked at and imported; what is switched off says so. */
import { api, axe, base, launch, make, open, picture, soon } from './browser.mjs';
import { fill } from './places.mjs';

const settings = (flags) => async (route) => {
  const answer = await (await route.fetch()).json();
  await route.fulfill({ json: { ...answer, flags: { ...answer.flags, ...flags } } });
};
const idIn = (page, kind) => new RegExp(`/${kind}/([^/?]+)`).exec(page.url())?.[1];

async function templates({ page, expect, made }) {
  await page.goto(`${base}/workflows`);
  await page.locator('.nav a[href$="/templates"]').click();
  await page.locator('.tplcard').first().waitFor();
  await page.getByRole('radio', { name: 'Advanced' }).click();
  expect(await soon(() => /complexity=advanced/.test(page.url())), 'the level is in the address');
  await page.getByRole('searchbox').fill('refund');
  await page.waitForURL(/q=refund/);
  await page.locator('.tplcard').nth(1).waitFor({ state: 'detached' });
  expect(await soon(async () => (await page.locator('.tplcard').count()) === 1), 'filters narrow together');
  await page.reload();
  await page.locator('.tplcard').first().waitFor();
  expect(await soon(async () => (await page.locator('.tplcard').count()) === 1), 'a reload keeps the filters');
  await page.locator('.tplcard h3 button').focus();
  await page.keyboard.press('Enter');
  await page.locator('dialog .picture > svg').waitFor();
  expect(await soon(async () => (await page.locator('dialog .tplagents li').count()) === 2), 'the agents that it makes or uses are told');
  for (const a of await axe(page)) expect(false, `template: axe: ${a}`);
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  expect(await soon(() => page.evaluate(() => !!document.activeElement?.closest('.tplcard'))), 'Escape gives the focus back');
  await page.keyboard.press('Enter');
  await page.locator('dialog input').fill('Gate install');
  await page.keyboard.press('Enter');
  await page.locator('#canvas').waitFor();
  made.push(`/api/workflows/${idIn(page, 'workflows')}`);
  expect(
    await soon(async () => (await page.locator('.crumb h1').textContent()) === 'Gate install'),
    'an install leads to the editor, under its name',
  );
  const there = (await api('/api/agents?limit=100')).data.filter((a) => a.slug === 'refund-actions-agent');
  expect(there.length === 1, 'an agent that is there is used');
  await page.goto(`${base}/templates?type=agents&template=agent/refund-actions-agent`);
  await page.locator('dialog .note-box').waitFor();
  await page.locator('dialog .btn.pri').click();
  await page.waitForURL(/\/agents\/[^/]+\/playground/);
  expect(idIn(page, 'agents') === there[0].id, 'an agent that is there leads to its playground');
  await page.goto(`${base}/templates?q=zzzz`);
  await page.locator('.empty .btn').click();
  await page.locator('.tplcard').first().waitFor();
}

async function code({ page, expect, made }) {
  const agent = await make('/api/agents', {
    name: `Gate code ${Date.now().toString(36)}`,
    provider: 'script',
    model: 'demo',
    instructions: 'First.',
  });
  made.push(`/api/agents/${agent.id}`);
  const source = page.locator('dialog pre.source');
  await page.goto(`${base}/agents/${agent.id}`);
  await page.locator('.top').getByRole('button', { name: 'Code' }).click();
  await source.waitFor();
  for (const a of await axe(page)) expect(false, `code: axe: ${a}`);
  const first = await source.textContent();
  await page.locator('dialog select').selectOption('python');
  await page.waitForURL(/code=python/);
  await page.locator('.codefacts', { hasText: /\.py/ }).waitFor();
  await page.locator('dialog select').selectOption('php');
  await page.locator('.codefacts', { hasText: /\.php/ }).waitFor();
  expect(await soon(async () => (await source.textContent()) === first), 'the language changes the text, and back');
  await page.locator('dialog').getByRole('button', { name: 'Export', exact: true }).click();
  await page.locator('.codepath').waitFor();
  expect(/Agent/.test(await page.locator('.codepath .mono').textContent()), 'the class path is told after an export');
  await page.keyboard.press('Escape');
  await page.locator('.form textarea').first().fill('Second.');
  await page.locator('.top').getByRole('button', { name: 'Code' }).click();
  await page.locator('dialog .note-box.wait').waitFor();
  await page.getByRole('button', { name: 'Save & Export' }).click();
  await page.locator('.codefoot.ask').waitFor();
  expect(await soon(async () => (await api(`/api/agents/${agent.id}`)).instructions === 'Second.'), 'Save & Export saves first');
  expect(await soon(() => page.evaluate(() => !!document.activeElement?.closest('.codefoot.ask'))), 'a file that is there is asked about');
  await page.keyboard.press('Enter');
  await page.locator('.codefoot.ask').waitFor({ state: 'detached' });
  await page.locator('dialog').getByRole('button', { name: 'Export', exact: true }).click();
  await page.locator('.codefoot.ask .dng').click();
  await page.locator('.codefoot.ask').waitFor({ state: 'detached' });
  await page.getByText('Second.').last().waitFor();
  expect(!(await page.locator('dialog .note-box.fail').count()), 'Overwrite replaces it');
  const stored = await api(`/api/agents/${agent.id}`);
  expect(!!stored.class_path, 'the definition keeps its class path');
  await page.locator('dialog .dialoghead button').click();
  await page.locator('.form textarea').first().fill('Third.');
  await page.keyboard.press('Control+s');
  await page.getByText('Saved', { exact: true }).first().waitFor();
  expect(
    await soon(async () => (await api(`/api/agents/${agent.id}`)).instructions === 'Third.'),
    'an export is no conflict for the next save',
  );
}

/** A draft becomes a version, and that is what is written. */
async function draft({ page, expect, made }) {
  const workflow = await make('/api/workflows', { name: `Gate draft ${Date.now().toString(36)}` });
  made.push(`/api/workflows/${workflow.id}`);
  const graph = structuredClone(workflow.graph);
  graph.nodes[0].title = 'Begin here';
  await api(`/api/workflows/${workflow.id}/draft`, { method: 'PUT', body: JSON.stringify({ graph }) });
  await page.goto(`${base}/workflows/${workflow.id}/edit?code=php`);
  const source = page.locator('dialog pre.source');
  await source.waitFor();
  expect(!(await source.textContent()).includes('Begin here'), 'the text is that of the saved version');
  await page.getByRole('button', { name: 'Save & Export' }).click();
  await page.locator('.codepath').waitFor();
  await source.filter({ hasText: 'Begin here' }).waitFor();
  const stored = await api(`/api/workflows/${workflow.id}`);
  expect(stored.revision === workflow.revision + 1 && !!stored.class_path, 'Save & Export makes a version of a draft');
  await page.keyboard.press('Escape');
  await page.locator('.savednote', { hasText: `version ${stored.revision}` }).waitFor();
  expect(true, 'the editor goes on with that version');
}

async function switched({ page, expect }) {
  const tool = (await api('/api/tools?limit=1')).data[0];
  await page.route(/\/api\/settings$/, settings({ canExport: false, canPreview: true, canImport: true, templates: false }));
  await page.goto(`${base}/tools/${tool.id}?code=php`);
  await page.locator('dialog pre.source').waitFor();
  expect(
    await soon(async () => (await page.locator('dialog .codefoot [aria-disabled=true]').count()) === 2),
    'without canExport both exports are off, the text is there',
  );
  expect(await soon(async () => !(await page.locator('.nav a[href$="/templates"]').count())), 'templates that are off are in no menu');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.route(/\/api\/settings$/, settings({ canExport: true, canPreview: false, canImport: true }));
  await page.goto(`${base}/tools/${tool.id}?code=php`);
  await page.locator('dialog .note-box', { hasText: 'codegen.preview' }).waitFor();
  expect(!(await page.locator('dialog pre.source').count()), 'without canPreview no text is shown');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.route(/\/api\/settings$/, settings({ canExport: false, canPreview: false, canImport: false }));
  await page.goto(`${base}/tools/${tool.id}?code=php`);
  await page.locator('.top [aria-disabled=true]', { hasText: 'Code' }).waitFor();
  expect(!(await page.locator('dialog').count()), 'without codegen the panel does not open');
  await page.goto(`${base}/workflows?import=code`);
  await page.locator('.top [aria-disabled=true]', { hasText: 'Import' }).waitFor();
  expect(!(await page.locator('dialog').count()), 'without codegen nothing is imported');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
}

async function imports({ page, expect, made }) {
  const { data } = await api('/api/registry/classes');
  const one = data.find((x) => x.kind === 'workflow');
  const before = (await api('/api/workflows?limit=100')).data.length;
  if (one) {
    await page.goto(`${base}/workflows`);
    await page.locator('.top').getByRole('button', { name: 'Import to Studio' }).click();
    await page.locator('.importlist li', { hasText: one.label }).getByRole('link').click();
    await page.locator('.classcanvas [data-id="start_1"]').waitFor();
    await page.locator('.classside pre.source').waitFor();
    await page.locator('#canvas').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Delete');
    expect((await page.locator('[data-id="start_1"]').count()) === 1, 'a preview cannot be changed');
    expect((await api('/api/workflows?limit=100')).data.length === before, 'a preview stores nothing');
    await page.locator('.top').getByRole('button', { name: 'Import to Studio' }).click();
    await page.waitForURL(/\/edit/);
    await page.locator('#canvas').waitFor();
    made.push(`/api/workflows/${idIn(page, 'workflows')}`);
    expect((await api('/api/workflows?limit=100')).data.length === before + 1, 'an import makes a copy and opens it');
  }
  await page.goto(`${base}/workflows?import=json`);
  const text = page.locator('dialog textarea');
  await text.fill('{');
  await page.locator('dialog .btn.pri').click();
  await page.locator('dialog .err').waitFor();
  await text.fill('{"version": 1, "nodes": [], "edges": []}');
  await page.locator('dialog .btn.pri').click();
  await page.locator('dialog .issuelist li, dialog .note-box.fail').first().waitFor();
  expect(true, 'what cannot be imported says why');
  const graph = {
    version: 1,
    nodes: [
      { id: 'start_1', type: 'start', position: { x: 0, y: 0 }, title: 'Start', data: {} },
      { id: 'stop_1', type: 'stop', position: { x: 240, y: 0 }, title: 'Stop', data: { reply: '{{input}}' } },
    ],
    edges: [{ id: 'e1', source: 'start_1', target: 'stop_1', sourceHandle: 'default', targetHandle: 'default' }],
  };
  await page
    .locator('dialog input[type=file]')
    .setInputFiles({ name: 'Gate file.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(graph)) });
  await page.locator('dialog .hint', { hasText: 'Gate file.json' }).waitFor();
  await page.locator('dialog .btn.pri').click();
  await page.waitForURL(/\/edit/);
  await page.locator('#canvas').waitFor();
  made.push(`/api/workflows/${idIn(page, 'workflows')}`);
  expect(
    await soon(async () => (await page.locator('.crumb h1').textContent()) === 'Gate file'),
    'a bare graph takes the name of its file',
  );
}

export async function codegen() {
  await fill();
  const browser = await launch();
  const { context, page, heard } = await open(browser);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']).catch(() => undefined);
  const wrong = [];
  const said = [];
  const made = [];
  const expect = (truth, text) => {
    if (truth) said.push(text);
    else wrong.push(`not so: ${text}`);
  };
  for (const part of [templates, code, draft, switched, imports]) {
    try {
      await part({ page, expect, made });
    } catch (error) {
      await picture(page, `codegen-${part.name}-failed`);
      wrong.push(`${part.name}: ${error.message.split('\n').slice(0, 3).join(' ')}`);
    }
  }
  await browser.close();
  for (const path of made) await api(`${path}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  return { said, wrong: [...wrong, ...heard.filter((h) => !/status of (409|422)/.test(h)).map((h) => `console: ${h}`)] };
}

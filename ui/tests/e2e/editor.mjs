/** Tidying glides unless motion is unwanted; fields tell what they held in the last run; problems speak the page's language; traces are filtered. */
import { api, base, launch, open, picture, streamed } from './browser.mjs';

const node = (id, type, x, y, data) => ({ id, type, position: { x, y }, title: id, data });
const edge = (source, target) => ({ id: `${source}-${target}`, source, target, sourceHandle: 'default', targetHandle: 'default' });

/** Where a node is drawn in every frame until it rests. */
const path = (page, id) => page.evaluate((name) => new Promise((tell) => {
  const seen = [];
  const began = performance.now();
  const look = () => {
    seen.push(new DOMMatrix(getComputedStyle(document.querySelector(`.react-flow__node[data-id="${name}"]`)).transform).f);
    if (performance.now() - began < 1500) requestAnimationFrame(look); else tell([...new Set(seen)]);
  };
  document.querySelector('.top [aria-label="Tidy layout"]').click();
  look();
}), id);

export async function editor() {
  const { default_provider: provider, default_model: model } = await api('/api/providers');
  const graph = { version: 1, nodes: [node('start_1', 'start', 0, 0, {}), node('llm_1', 'llm', 260, 500, { provider, model, prompt: 'Say: {{input}}', output_key: 'said' }), node('stop_1', 'stop', 700, 900, { reply: '{{said}}' })], edges: [edge('start_1', 'llm_1'), edge('llm_1', 'stop_1')], annotations: [], viewport: { x: 0, y: 0, zoom: 1 } };
  const workflow = await api('/api/workflows', { method: 'POST', body: JSON.stringify({ name: 'Glides', graph }) });
  await streamed(`/workflows/${workflow.id}/run/stream`, { message: 'a lamp' });
  const browser = await launch();
  const { page, heard } = await open(browser);
  const said = [];
  const wrong = [];
  const expect = (ok, what) => (ok ? said.push(what) : wrong.push(`not: ${what}`));
  try {
    await page.goto(`${base}/workflows/${workflow.id}/edit`);
    await page.locator('[data-id="stop_1"]').waitFor();
    await page.locator('[data-id="llm_1"] .n').click({ position: { x: 100, y: 14 } });
    const last = (field) => page.locator(`[data-field="${field}"] .last`);
    await last('prompt').waitFor({ timeout: 10_000 });
    expect(/input.*a lamp/.test(await last('prompt').innerText()), 'the prompt tells what it read in the last run');
    expect(/said.*a lamp/.test(await last('output_key').innerText()), 'and the key what was written');
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    const glided = await path(page, 'stop_1');
    expect(glided.length > 3, `nodes glide when the graph is tidied (${glided.length} places)`);
    await page.locator('#canvas').focus();
    await page.keyboard.press('Control+z');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.keyboard.press('f');
    await page.locator('.react-flow__node[data-id="stop_1"]').waitFor();
    const jumped = await path(page, 'stop_1');
    expect(jumped.length <= 2 && jumped.at(-1) === glided.at(-1), `and jump where motion is unwanted (${jumped.join(', ')} after ${glided.at(-1)})`);
    const asked = [];
    page.on('request', (request) => { if (request.method() === 'POST') asked.push(request.url()); });
    await page.route(/run\/stream/, () => new Promise(() => undefined));
    await page.locator('#composer').fill('slowly');
    await page.locator('#composer').press('Enter');
    await page.getByRole('button', { name: /Stop watching/ }).click();
    await page.getByText('The run goes on.').waitFor();
    expect(await page.locator('#composer').isEnabled() && await page.getByRole('radio', { name: 'Design', checked: true }).count() === 1 && !asked.some((url) => /cancel/.test(url)), 'who stops watching does not stop the run');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    const [run] = (await api(`/api/runs?entity_id=${workflow.id}&status=completed`)).data;
    await page.goto(`${base}/workflows/${workflow.id}/edit?trace=${run.id}`);
    await page.locator('.tl .tr').first().waitFor();
    expect(/^Start/.test(await page.locator('.tl .tr').first().innerText()), 'a timeline begins at the start');
    await page.locator('.dl-r [role=tab]').nth(1).click();
    await page.locator('.ev', { hasText: 'trace_completed' }).waitFor();
    said.push('the events of a stored run are told again');
    await page.goto(`${base}/workflows/${workflow.id}/edit?node=llm_1`);
    await page.locator('#inspector h2').waitFor();
    const put = async () => { await page.locator('#canvas').focus(); await page.keyboard.press('/'); await page.locator('.quickadd input').fill('LLM'); await page.keyboard.press('Enter'); await page.locator('#inspector h2', { hasText: /LLM/ }).waitFor(); return page.locator('.react-flow__node.selected').boundingBox(); };
    const one = await put();
    await page.locator('.react-flow__node[data-id="llm_1"] .n').click({ position: { x: 100, y: 14 } });
    const other = await put();
    expect(one && other && (other.y >= one.y + one.height || other.y + other.height <= one.y), 'what is added at a taken place stands beside it');
    const listed = async (query) => { await page.goto(`${base}/workflows/${workflow.id}/traces?${query}`); await page.locator('td a.rowlink, .empty').first().waitFor(); return page.locator('td a.rowlink').count(); };
    expect(await listed(`model=${model}&version=1&cost=0`) === 1, 'traces are filtered by model, version and cost');
    expect(await listed('model=another') === 0 && await listed('cost=1000') === 0 && await listed('version=7') === 0, 'by the host, and what does not match is not there');
    const context = (await open(browser, { locale: 'pt_BR' })).page;
    await context.goto(`${base}/tools/new`);
    await context.locator('.top .btn.pri').click();
    expect(/obrigatório/.test(await context.locator('.err').first().innerText()), 'a refusal is told in the language of the page');
  } catch (error) {
    wrong.push(error.message.split('\n')[0]);
    await picture(page, 'editor-failed');
  } finally {
    await browser.close();
    await api(`/api/workflows/${workflow.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  }
  return { said, wrong: [...wrong, ...heard.map((h) => `console: ${h}`)] };
}

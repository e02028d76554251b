/** A test run stops before a node, takes a pinned answer, and one node runs alone; the workflow stays as it is. */
import { api, base, launch, open, picture } from './browser.mjs';

export async function trials() {
  const node = (id, type, x, data) => ({ id, type, position: { x, y: 100 }, title: id, data });
  const edge = (source, target) => ({ id: `${source}-${target}`, source, target, sourceHandle: 'default', targetHandle: 'default' });
  const { default_provider: provider, default_model: model } = await api('/api/providers');
  const graph = {
    version: 1,
    nodes: [
      node('start_1', 'start', 0, {}),
      node('llm_1', 'llm', 250, { provider, model, prompt: '{{input}}' }),
      node('set_1', 'set_state', 600, { key: 'seen', value: 'saw {{llm_response}}' }),
      node('stop_1', 'stop', 900, {}),
    ],
    edges: [edge('start_1', 'llm_1'), edge('llm_1', 'set_1'), edge('set_1', 'stop_1')],
    annotations: [],
    viewport: { x: 0, y: 0, zoom: 1 },
  };
  const workflow = await api('/api/workflows', { method: 'POST', body: JSON.stringify({ name: 'Trials', graph }) });
  const browser = await launch();
  const { page, heard } = await open(browser);
  const said = [];
  const wrong = [];
  const expect = (ok, what) => (ok ? said.push(what) : wrong.push(`not: ${what}`));
  const menu = async (id, entry) => {
    await page.locator(`[data-id="${id}"] .n`).click({ position: { x: 100, y: 14 } });
    await page.locator('#inspector .ih').getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: entry }).click();
  };
  const latest = async () => api(`/api/runs/${(await api(`/api/runs?entity_id=${workflow.id}&limit=1`)).data[0].id}`);
  const ended = async () => {
    for (let n = 0; n < 60; n++) {
      const run = await latest();
      if (run.trace.status === 'completed') return run;
      await page.waitForTimeout(100);
    }
    return latest();
  };
  try {
    await page.goto(`${base}/workflows/${workflow.id}/edit`);
    await page.locator('[data-id="llm_1"]').waitFor();
    await menu('llm_1', 'Pin the answer…');
    await page.getByRole('dialog').locator('textarea').fill('exactly {{this}}');
    await page.getByRole('dialog').getByRole('button', { name: 'Pin', exact: true }).click();
    expect((await page.locator('[data-id="llm_1"] .mark.pin').count()) === 1, 'a pinned node is marked');
    await page.locator('[data-id="set_1"] .n').click({ position: { x: 100, y: 14 } });
    await page.locator('#canvas').focus();
    await page.keyboard.press('b');
    expect((await page.locator('[data-id="set_1"] .mark.stop').count()) === 1, 'a stop is marked');
    await page.locator('#composer').fill('go there');
    await page.locator('#composer').press('Enter');
    const go = page.locator('[data-id="set_1"] .ask button');
    await go.waitFor({ timeout: 15_000 });
    said.push('the run stops at the node');
    await go.click();
    const { trace } = await ended();
    expect(trace.output?.llm_response === 'exactly {{this}}', `the pinned answer is written as it is (${JSON.stringify(trace.output)})`);
    expect(trace.output?.seen === 'saw exactly {{this}}' && trace.output?.input === 'go there', 'the run went on with its input');
    await menu('set_1', 'Run only this node…');
    await page.getByRole('dialog').getByRole('button', { name: 'Run this node' }).click();
    await page.waitForTimeout(500);
    const alone = await ended();
    expect(
      alone.steps.map((s) => s.node_id).join() === 'set_1,trial-stop',
      `one node runs alone (${alone.steps.map((s) => s.node_id).join()})`,
    );
    expect(alone.trace.output?.seen === 'saw exactly {{this}}', 'on the state it had');
    const after = await api(`/api/workflows/${workflow.id}`);
    expect(after.graph.nodes.length === 4 && after.revision === workflow.revision, 'the workflow stays as it is');
  } catch (error) {
    wrong.push(error.message.split('\n')[0]);
    await picture(page, 'trials-failed');
  } finally {
    await browser.close();
    await api(`/api/workflows/${workflow.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  }
  return { said, wrong: [...wrong, ...heard.map((h) => `console: ${h}`)] };
}

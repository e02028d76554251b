/** A tab killed in the middle of editing loses nothing that was done a second before; two tabs or two people never overwrite each other silently. */
import { api, base, launch, open } from './browser.mjs';

export async function loss() {
  const workflow = await api('/api/workflows', { method: 'POST', body: JSON.stringify({ name: 'Loss' }) });
  const browser = await launch();
  const wrong = [];
  const { context, page } = await open(browser);
  await context.route('**/draft', (route) => (route.request().method() === 'PUT' ? route.abort() : route.continue()));
  await page.goto(`${base}/workflows/${workflow.id}/edit`);
  await page.locator('[data-id="start_1"] .n').click();
  await page.locator('#inspector input').first().fill('Kept name');
  await page.waitForTimeout(900);
  await page.close({ runBeforeUnload: false });
  await context.unroute('**/draft');
  const again = await context.newPage();
  await again.goto(`${base}/workflows/${workflow.id}/edit`);
  await again
    .getByText('Kept name')
    .first()
    .waitFor({ timeout: 10_000 })
    .catch(() => wrong.push('the edit was lost with the tab'));
  await again.waitForTimeout(1500);
  const draft = await api(`/api/workflows/${workflow.id}/draft`).catch(() => null);
  if (!JSON.stringify(draft ?? {}).includes('Kept name')) wrong.push('the kept edit did not reach the server');
  await again.close();
  await two(browser, context, workflow, wrong);
  await browser.close();
  await api(`/api/workflows/${workflow.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  return { wrong };
}

const rename = async (page, name) => {
  await page.locator('[data-id="start_1"] .n').click();
  await page.locator('#inspector input').first().fill(name);
};
const kept = async (workflow, name, tries = 30) => {
  for (let n = 0; n < tries; n++) {
    if (JSON.stringify(await api(`/api/workflows/${workflow.id}/draft`).catch(() => null)).includes(name)) return true;
    await new Promise((done) => setTimeout(done, 100));
  }
  return false;
};

/** A second tab reads until it takes over; a second person is told of the other's draft before theirs goes anywhere. */
async function two(browser, context, workflow, wrong) {
  const address = `${base}/workflows/${workflow.id}/edit`;
  const first = await context.newPage();
  await first.goto(address);
  await first.locator('[data-id="start_1"]').waitFor();
  const second = await context.newPage();
  await second.goto(address);
  await second
    .locator('.strip button')
    .waitFor({ timeout: 5000 })
    .catch(() => wrong.push('a second tab is not told of the first'));
  await second.locator('[data-id="start_1"] .n').click();
  if (await second.locator('#inspector input').first().isEnabled()) wrong.push('a second tab may write beside the first');
  await second.locator('.strip button').first().click();
  await first
    .locator('.strip button')
    .waitFor({ timeout: 5000 })
    .catch(() => wrong.push('the first tab writes on after another took over'));
  const other = await open(browser);
  await other.page.goto(address);
  await other.page.locator('[data-id="start_1"]').waitFor();
  await rename(second, 'Of the first');
  if (!(await kept(workflow, 'Of the first'))) wrong.push('the tab that took over cannot write');
  await rename(other.page, 'Of the second');
  await other.page
    .getByRole('dialog')
    .waitFor({ timeout: 5000 })
    .catch(() => wrong.push('a stale draft is not told of'));
  if (!(await kept(workflow, 'Of the first', 1))) wrong.push('a stale draft overwrote a newer one');
  await other.page.getByRole('dialog').getByRole('button').last().click();
  if (!(await kept(workflow, 'Of the second'))) wrong.push("choosing one's own draft does not keep it");
  await other.context.close();
}

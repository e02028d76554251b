/** A tab killed in the middle of editing loses nothing that was done a second before; two tabs or two people never overwrite each other silently. */
import { api, base, launch, open, soon } from './browser.mjs';

export async function loss() {
  const workflow = await api('/api/workflows', { method: 'POST', body: JSON.stringify({ name: 'Loss' }) });
  const browser = await launch();
  const wrong = [];
  const { context, page } = await open(browser);
  let sent = 0;
  await context.route('**/draft', (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    sent++;
    return route.abort();
  });
  await page.goto(`${base}/workflows/${workflow.id}/edit`);
  await page.locator('[data-id="start_1"] .n').click();
  await page.locator('#inspector input').first().fill('Kept name');
  // It is sent most of a second after it was made.
  if (!(await soon(() => sent > 0))) wrong.push('an edit is not sent');
  await page.waitForTimeout(200);
  await page.close({ runBeforeUnload: false });
  await context.unroute('**/draft');
  const again = await context.newPage();
  await again.goto(`${base}/workflows/${workflow.id}/edit`);
  await again
    .getByText('Kept name')
    .first()
    .waitFor()
    .catch(() => wrong.push('the edit was lost with the tab'));
  if (!(await kept(workflow, 'Kept name'))) wrong.push('the kept edit did not reach the server');
  await again.close();
  await two(browser, context, workflow, wrong);
  await slow(browser, wrong);
  await updated(browser, workflow, wrong).catch((error) => wrong.push(error.message.split('\n')[0]));
  await browser.close();
  await api(`/api/workflows/${workflow.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  return { wrong };
}

const rename = async (page, name) => {
  await page.locator('[data-id="start_1"] .n').click();
  await page.locator('#inspector input').first().fill(name);
};
const holds = async (workflow, name) => JSON.stringify(await api(`/api/workflows/${workflow.id}/draft`).catch(() => null)).includes(name);
const kept = (workflow, name) => soon(() => holds(workflow, name));

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
    .waitFor()
    .catch(() => wrong.push('a second tab is not told of the first'));
  await second.locator('[data-id="start_1"] .n').click();
  if (await second.locator('#inspector input').first().isEnabled()) wrong.push('a second tab may write beside the first');
  await rename(first, 'Of the writer');
  await second.locator('.strip button').first().click();
  await first
    .locator('.strip button')
    .waitFor()
    .catch(() => wrong.push('the first tab writes on after another took over'));
  const other = await open(browser);
  await other.page.goto(address);
  await other.page.locator('[data-id="start_1"]').waitFor();
  await second
    .locator('#inspector h2', { hasText: 'Of the writer' })
    .waitFor()
    .catch(() => wrong.push('the tab that took over does not begin with the last edit of the other'));
  await rename(second, 'Of the first');
  if (!(await kept(workflow, 'Of the first'))) wrong.push('the tab that took over cannot write');
  await rename(other.page, 'Of the second');
  await other.page
    .getByRole('dialog')
    .waitFor()
    .catch(() => wrong.push('a stale draft is not told of'));
  if (!(await holds(workflow, 'Of the first'))) wrong.push('a stale draft overwrote a newer one');
  await other.page.getByRole('dialog').getByRole('button').last().click();
  if (!(await kept(workflow, 'Of the second'))) wrong.push("choosing one's own draft does not keep it");
  await other.context.close();
}

/** Requests that take their time: a version is what was on screen, and what is edited meanwhile is not lost; another document stays as it is. */
async function slow(browser, wrong) {
  const one = await api('/api/workflows', { method: 'POST', body: JSON.stringify({ name: 'Slow' }) });
  const other = await api('/api/workflows', { method: 'POST', body: JSON.stringify({ name: 'Quick' }) });
  const { page } = await open(browser);
  const address = (workflow) => `${base}/workflows/${workflow.id}/edit`;
  const late = (ms) => async (route) => {
    await new Promise((go) => setTimeout(go, ms));
    await route.continue().catch(() => undefined);
  };
  const version = async () => JSON.stringify((await api(`/api/workflows/${one.id}`)).graph);
  await page.goto(address(one));
  await page.locator('[data-id="start_1"]').waitFor();
  await page.route(/\/draft$/, (route) => (route.request().method() === 'PUT' ? late(600)(route) : route.continue()));
  await rename(page, 'First name');
  await page.waitForTimeout(900);
  await rename(page, 'Second name');
  await page.keyboard.press('Control+s');
  await page
    .getByText(/Saved as version/)
    .waitFor()
    .catch(() => wrong.push('a version is not saved while a draft is on its way'));
  if (!(await version()).includes('Second name')) wrong.push('a version is saved without the last edit');
  await page.route(/\/draft\/save$/, late(800));
  await rename(page, 'Third name');
  await page.keyboard.press('Control+s');
  await page.waitForTimeout(1000);
  await rename(page, 'Fourth name');
  if (!(await kept(one, 'Fourth name'))) wrong.push('what is edited while a version is saved is not sent');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.reload();
  await page
    .getByText('Fourth name')
    .first()
    .waitFor()
    .catch(() => wrong.push('what is edited while a version is saved is lost'));
  await page.route(new RegExp(`/api/workflows/${one.id}$`), late(1500));
  await page.goto(`${base}/workflows`);
  await page.locator('td a.rowlink', { hasText: 'Slow' }).first().click();
  await page.waitForTimeout(200);
  await page.goBack();
  await page.locator('td a.rowlink', { hasText: 'Quick' }).first().click();
  await page.locator('[data-id="start_1"]').waitFor();
  await page.waitForTimeout(2500);
  if (!(await page.locator('h1').innerText()).includes('Quick'))
    wrong.push('a workflow that opens late is shown at the address of another');
  if (await api(`/api/workflows/${other.id}/draft`).catch(() => null)) wrong.push('a workflow nobody touched has a draft');
  await page.context().close();
  for (const w of [one, other]) await api(`/api/workflows/${w.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
}

/** Parts of the pages that are gone since an update: the canvas stays, and a reload is offered. */
async function updated(browser, workflow, wrong) {
  const { page } = await open(browser);
  await page.route(/\/assets\/inspector-.*\.js$/, (route) => route.fulfill({ status: 404, body: '' }));
  await page.goto(`${base}/workflows/${workflow.id}/edit`);
  await page.locator('[data-id="start_1"] .n').click();
  await page
    .locator('.broken', { hasText: 'The studio was updated' })
    .waitFor()
    .catch(() => wrong.push('a panel that is gone does not say that the studio was updated'));
  if (!(await page.locator('[data-id="start_1"]').count())) wrong.push('a panel that is gone takes the canvas with it');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page
    .locator('.broken')
    .getByRole('button', { name: 'Reload' })
    .click()
    .catch(() => wrong.push('no reload is offered'));
  await page.locator('[data-id="start_1"] .n').click();
  await page
    .locator('#inspector h2')
    .waitFor()
    .catch(() => wrong.push('a reload does not bring the panel'));
  await page.context().close();
}

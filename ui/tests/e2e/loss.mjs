/** A tab killed in the middle of editing loses nothing that was done a second before. */
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
  await page.waitForTimeout(300);
  await page.close({ runBeforeUnload: false });
  await context.unroute('**/draft');
  const again = await context.newPage();
  await again.goto(`${base}/workflows/${workflow.id}/edit`);
  await again.getByText('Kept name').first().waitFor({ timeout: 10_000 }).catch(() => wrong.push('the edit was lost with the tab'));
  await again.waitForTimeout(1500);
  const draft = await api(`/api/workflows/${workflow.id}/draft`).catch(() => null);
  if (!JSON.stringify(draft ?? {}).includes('Kept name')) wrong.push('the kept edit did not reach the server');
  await browser.close();
  await api(`/api/workflows/${workflow.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  return { wrong };
}

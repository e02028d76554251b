/** Every route in both themes and languages: no policy report, no console error, nothing for axe. */
import { api, axe, base, launch, open, reports } from './browser.mjs';

const first = async (path) => (await api(path)).data[0]?.id;

async function places() {
  const workflow = (await first('/api/workflows')) ?? (await api('/api/workflows', { method: 'POST', body: JSON.stringify({ name: 'Gate' }) })).id;
  const agent = (await first('/api/agents')) ?? (await api('/api/agents', { method: 'POST', body: JSON.stringify({ name: 'Gate agent', instructions: 'Be brief.' }) })).id;
  const tool = (await first('/api/tools')) ?? (await api('/api/tools', { method: 'POST', body: JSON.stringify({ name: 'look_up', description: 'Looks up', kind: 'webhook', input_schema: { type: 'object', properties: {} }, config: { method: 'GET', url: 'https://example.com/' } }) })).id;
  const base_ = (await first('/api/knowledge-bases')) ?? (await api('/api/knowledge-bases', { method: 'POST', body: JSON.stringify({ name: 'Gate base' }) })).id;
  const server = await first('/api/mcp-servers');
  const runs = (await api('/api/runs?limit=50')).data;
  const trace = runs.find((r) => r.entity_type === 'workflow')?.id;
  return [
    '/workflows', `/workflows/${workflow}/edit`, `/workflows/${workflow}/traces`, '/traces', ...(trace ? [`/traces/${trace}`, `/traces/${trace}?view=graph`, `/workflows/${workflow}/edit?trace=${trace}`] : []),
    ...(runs.length > 1 ? [`/traces/compare?a=${runs[0].id}&b=${runs[1].id}`] : []), '/traces/0199a000-0000-7000-8000-00000000ffff',
    '/agents', '/agents/new', `/agents/${agent}`, `/agents/${agent}/playground`, '/tools', '/tools/new', `/tools/${tool}`, '/mcp', '/mcp/new', ...(server ? [`/mcp/${server}`] : []),
    '/knowledge', `/knowledge/${base_}`, `/knowledge/${base_}?tab=settings`, '/usage', '/usage?view=table', '/settings', '/nowhere',
  ];
}

export async function routes({ quick = false } = {}) {
  const browser = await launch();
  const wrong = [];
  let checked = 0;
  const paths = await places();
  for (const dark of [false, true]) {
    for (const locale of quick ? [dark ? 'pt_BR' : 'en'] : ['en', 'pt_BR']) {
      const { context, page, heard } = await open(browser, { dark, locale });
      for (const path of paths) {
        heard.length = 0;
        await page.goto(base + path, { waitUntil: 'load' });
        await page.locator(path === '/nowhere' ? 'h1' : '#page h1').first().waitFor({ timeout: 15_000 }).catch(() => wrong.push(`${path}: no heading`));
        await page.waitForLoadState('networkidle', { timeout: 6_000 }).catch(() => undefined);
        await page.waitForTimeout(250);
        const name = `${path} ${dark ? 'dark' : 'light'} ${locale}`;
        const expected = /ffff$|nowhere/.test(path) ? heard.filter((h) => !/status of 404/.test(h)) : heard;
        for (const h of expected) wrong.push(`${name}: console: ${h}`);
        for (const r of await reports(page)) wrong.push(`${name}: policy: ${r}`);
        for (const a of await axe(page)) wrong.push(`${name}: axe: ${a}`);
        checked += 1;
      }
      await context.close();
    }
  }
  for (const width of [390, 320]) {
    const { context, page, heard } = await open(browser, { width, height: 844 });
    for (const path of paths) {
      heard.length = 0;
      await page.goto(base + path, { waitUntil: 'load' });
      await page.locator(path === '/nowhere' ? 'h1' : '#page h1').first().waitFor({ timeout: 15_000 }).catch(() => wrong.push(`${path} at ${width}: no heading`));
      await page.waitForTimeout(500);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (over > 1) wrong.push(`${path} at ${width}: ${over} px too wide`);
      for (const a of width === 390 ? await axe(page) : []) wrong.push(`${path} at ${width}: axe: ${a}`);
      checked += 1;
    }
    await context.close();
  }
  await browser.close();
  return { checked, wrong };
}

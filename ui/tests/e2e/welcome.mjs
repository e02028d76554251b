/** A first visitor without a key: every example is made, run to its end, read; the guide leads on. */
import { api, axe, base, launch, open, picture } from './browser.mjs';

/** What to write, and what the person does when the run waits. */
const EXAMPLES = [
  {
    say: 'Refund A-100',
    wait: async (page) => {
      await page.locator('.appr .btn.pri').first().click();
    },
  },
  { say: 'My order is late' },
  {
    say: 'I would like a demo',
    wait: async (page) => {
      await page.locator('.appr textarea').first().fill('ada@example.com');
      await page.locator('.appr .btn.pri').first().click();
    },
  },
];

const NOTHING = /\/api\/workflows\?(?!.*draft)|\/api\/workflows$/;

export async function welcome() {
  const browser = await launch();
  const { page, heard } = await open(browser);
  const wrong = [];
  const said = [];
  const made = [];
  try {
    for (const [n, example] of EXAMPLES.entries()) {
      await page.route(NOTHING, (route) =>
        route.request().method() === 'GET' ? route.fulfill({ json: { data: [], next_cursor: null } }) : route.continue(),
      );
      await page.goto(`${base}/workflows`);
      await page.locator('.startcard').nth(n).waitFor();
      if (n === 0) for (const a of await axe(page)) wrong.push(`first run: axe: ${a}`);
      const name = await page.locator('.startcard h3').nth(n).textContent();
      await page.locator('.startcard .btn').nth(n).click();
      await page.locator('#canvas').waitFor();
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      made.push(/workflows\/([^/]+)\/edit/.exec(page.url())?.[1]);
      await page.locator('#composer').fill(example.say);
      await page.keyboard.press('Enter');
      if (example.wait) {
        await page.locator('.appr').first().waitFor();
        await example.wait(page);
      }
      await page.locator('.reply').waitFor();
      const trace = await page.locator('a[href*="/traces/"]').last().getAttribute('href');
      said.push(`${name}: ${(await page.locator('.reply').textContent()).slice(0, 60).replaceAll('\n', ' ')}`);
      if (!trace) wrong.push(`${name}: no way to its trace`);
    }
    await page.evaluate(() => localStorage.removeItem('studio.guide'));
    await page.goto(`${base}/workflows`);
    const next = page.locator('.guide .next a');
    await next.waitFor();
    said.push(`next: ${await next.textContent()}`);
    await next.click();
    await page.locator('#page h1').waitFor();
    await page.goto(`${base}/workflows`);
    await page.locator('.guide .btn').click();
    await page.locator('.guide').waitFor({ state: 'detached' });
  } catch (error) {
    await picture(page, 'welcome-failed');
    wrong.push(error.message.split('\n').slice(0, 3).join(' '));
  }
  await browser.close();
  for (const id of made) if (id) await api(`/api/workflows/${id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  return { said, wrong: [...wrong, ...heard.map((h) => `console: ${h}`)] };
}

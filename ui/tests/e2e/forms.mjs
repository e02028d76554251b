/** Forms: what was typed is there after leaving the page, a wrong field is told and focused, two people saving are told apart. */
import { api, base, launch, make, open, picture } from './browser.mjs';

export async function forms() {
  const agent = await make('/api/agents', { name: 'Gate form', provider: 'script', model: 'demo' });
  const browser = await launch();
  const { page, heard } = await open(browser);
  page.setDefaultTimeout(10_000);
  const wrong = [];
  const said = [];
  const expect = (truth, text) => {
    if (truth) said.push(text);
    else wrong.push(`not so: ${text}`);
  };
  const instructions = page.locator('.form textarea').first();
  const stored = async () => (await api(`/api/agents/${agent.id}`)).instructions;
  try {
    await page.goto(`${base}/agents/${agent.id}`);
    await instructions.fill('Typed, not saved.');
    await page.locator('.crumb a').first().click();
    await page.locator('td a.rowlink').first().waitFor();
    await page.goBack();
    expect((await instructions.inputValue()) === 'Typed, not saved.', 'what was typed is there after leaving the page');
    await page.keyboard.press('Control+s');
    await page.locator('.toast').first().waitFor();
    expect((await stored()) === 'Typed, not saved.', 'Ctrl S saves');
    await instructions.fill('Mine.');
    await api(`/api/agents/${agent.id}`, { method: 'PATCH', body: JSON.stringify({ instructions: 'Theirs.' }) });
    await page.locator('.top .btn.pri').click();
    await page.locator('.dialog').waitFor();
    await page.locator('.dialog .btn.pri').click();
    await page.locator('.dialog').waitFor({ state: 'detached' });
    expect((await stored()) === 'Mine.', 'two people saving are told apart');
    await page.goto(`${base}/tools/new`);
    await page.locator('.form input').first().fill('not a name!');
    await page.locator('.top .btn.pri').click();
    await page.locator('.form .err').first().waitFor();
    await page.waitForTimeout(100);
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-invalid') === 'true'), 'a wrong field is told and focused');
  } catch (error) {
    await picture(page, 'forms-failed');
    wrong.push(error.message.split('\n').slice(0, 3).join(' '));
  }
  await browser.close();
  await api(`/api/agents/${agent.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  return { said, wrong: [...wrong, ...heard.filter((h) => !/status of (409|422)/.test(h)).map((h) => `console: ${h}`)] };
}

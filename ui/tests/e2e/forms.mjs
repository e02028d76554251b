/** Forms: what was typed is there after leaving the page, a wrong field is told and focused, two people saving are told apart. */
import { api, base, launch, make, open, picture, soon } from './browser.mjs';

export async function forms() {
  const agent = await make('/api/agents', { name: 'Gate form', provider: 'script', model: 'demo' });
  const browser = await launch();
  const { page, heard } = await open(browser);
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
    await page.locator('.dialog', { hasText: 'Unsaved changes' }).waitFor();
    said.push('leaving with unsaved changes asks');
    await page.getByRole('button', { name: 'Leave' }).click();
    await page.locator('td a.rowlink').first().waitFor();
    await page.goBack();
    expect(
      await soon(async () => (await instructions.inputValue()) === 'Typed, not saved.'),
      'what was typed is there after leaving the page',
    );
    await page.keyboard.press('Control+s');
    await page.locator('.toast').first().waitFor();
    expect(await soon(async () => (await stored()) === 'Typed, not saved.'), 'Ctrl S saves');
    await instructions.fill('Mine.');
    await api(`/api/agents/${agent.id}`, { method: 'PATCH', body: JSON.stringify({ instructions: 'Theirs.' }) });
    await page.locator('.top .btn.pri').click();
    await page.locator('.dialog').waitFor();
    expect(/Typed, not saved.*Theirs/.test(await page.locator('.dialog .diff').last().innerText()), 'a conflict tells what they changed');
    await page.keyboard.press('Escape');
    await page.locator('.dialog').waitFor({ state: 'detached' });
    expect((await instructions.inputValue()) === 'Mine.', 'Escape at a conflict keeps what is typed');
    await page.locator('.top .btn.pri').click();
    await page.locator('.dialog').waitFor();
    await page.locator('.dialog .btn.pri').click();
    await page.locator('.dialog').waitFor({ state: 'detached' });
    expect(await soon(async () => (await stored()) === 'Mine.'), 'two people saving are told apart');
    const own = new RegExp(`/api/agents/${agent.id}$`);
    let asked;
    const saving = new Promise((go) => (asked = go));
    let answer;
    const answered = new Promise((go) => (answer = go));
    await page.route(own, async (route) => {
      if (route.request().method() === 'PUT') {
        asked();
        await answered;
      }
      await route.continue();
    });
    await instructions.fill('one two');
    await instructions.press('Control+s');
    await saving;
    await instructions.press('End');
    await page.keyboard.type(' three');
    const saved = page.waitForResponse((response) => own.test(response.url()) && response.request().method() === 'PUT');
    answer();
    await saved;
    expect(await soon(async () => (await stored()) === 'one two'), 'what was there when it was saved is stored');
    await page.waitForTimeout(400);
    expect(
      (await instructions.inputValue()) === 'one two three' && (await page.getByText('Unsaved changes').count()) === 1,
      'what is typed while it is saved stays, and is marked as unsaved',
    );
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await instructions.press('Control+s');
    await page.getByText('Unsaved changes').waitFor({ state: 'detached' });
    const kb = await make('/api/knowledge-bases', { name: 'Gate base' });
    await page.goto(`${base}/knowledge/${kb.id}`);
    await page.route(/\/documents$/, (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 413,
            headers: { 'Content-Type': 'application/problem+json' },
            body: JSON.stringify({ status: 413, code: 'too_large', title: 'Too large', detail: 'the document is too large' }),
          })
        : route.continue(),
    );
    await page.getByRole('button', { name: 'Write text' }).click();
    await page.locator('.dialog input').fill('faq.md');
    await page.locator('.dialog textarea').fill('A long text.');
    await page.locator('.dialog .btn.pri').click();
    await page.locator('.dialog [role=alert]', { hasText: 'too large' }).waitFor();
    expect((await page.locator('.dialog textarea').inputValue()) === 'A long text.', 'a refused document stays in its dialog');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.locator('.dialog .btn.pri').click();
    await page.locator('.dialog').waitFor({ state: 'detached' });
    await api(`/api/knowledge-bases/${kb.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
    await page.goto(`${base}/tools/new`);
    await page.locator('.form input').first().fill('not a name!');
    await page.locator('.top .btn.pri').click();
    await page.locator('.form .err').first().waitFor();
    expect(
      await soon(() => page.evaluate(() => document.activeElement?.getAttribute('aria-invalid') === 'true')),
      'a wrong field is told and focused',
    );
  } catch (error) {
    await picture(page, 'forms-failed');
    wrong.push(error.message.split('\n').slice(0, 3).join(' '));
  }
  await browser.close();
  await api(`/api/agents/${agent.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  return { said, wrong: [...wrong, ...heard.filter((h) => !/status of (409|413|422)/.test(h)).map((h) => `console: ${h}`)] };
}

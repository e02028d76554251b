/** Without a pointer: build a chat workflow, run it, approve a tool, read its trace. */
import { api, base, launch, open, picture, soon } from './browser.mjs';

/** What a key did has been drawn. */
const drawn = (page) =>
  page.evaluate(
    () =>
      new Promise((done) => {
        requestAnimationFrame(() => requestAnimationFrame(done));
      }),
  );

async function tabTo(page, test, most = 90) {
  for (let n = 0; n < most; n++) {
    if (await page.evaluate(test)) return;
    await page.keyboard.press('Tab');
    await drawn(page);
  }
  throw new Error(`Tab never reached ${test}`);
}

async function walkTo(page, id) {
  for (let n = 0; n < 20; n++) {
    if (await page.locator(`[data-id="${id}"].selected`).count()) return;
    await page.keyboard.press('Tab');
    await drawn(page);
  }
  throw new Error(`Tab never reached the node ${id}`);
}

export async function keyboard() {
  const agents = (await api('/api/agents?limit=100')).data;
  const agent =
    agents.find((a) => a.slug === 'refund-actions-agent') ??
    (await api('/api/agents', {
      method: 'POST',
      body: JSON.stringify({
        name: 'Gate refunds',
        slug: 'refund-actions-agent',
        instructions: 'Refund.',
        tools: [{ ref: 'toolkit:demo', only: ['issue_refund'] }],
        require_tool_approval: true,
      }),
    }));
  const browser = await launch();
  const { page, heard } = await open(browser);
  const said = [];
  try {
    await page.goto(`${base}/workflows`);
    await page.locator('h1').first().waitFor();
    // The page listens for keys once it has been drawn.
    const opened = page.locator('.palette input');
    await soon(async () => {
      await page.keyboard.press('Control+k');
      return opened
        .waitFor({ timeout: 5000 })
        .then(() => true)
        .catch(() => false);
    });
    await opened.waitFor();
    await page.keyboard.type('New workflow');
    await page.keyboard.press('Enter');
    await page.locator('.dialog input:focus').waitFor();
    await page.keyboard.type('Keyboard chat');
    await page.keyboard.press('Enter');
    await page.locator('#canvas').waitFor();
    await page.locator('[data-id="start_1"]').waitFor();
    said.push('made a workflow');
    await tabTo(page, "document.activeElement?.id === 'canvas'");
    await page.keyboard.press('/');
    await page.locator('.quickadd input').waitFor();
    await page.keyboard.type('Agent');
    await page.keyboard.press('Enter');
    await page.locator('[data-id="agent_1"]').waitFor();
    await page.keyboard.press('Escape');
    await walkTo(page, 'start_1');
    await page.keyboard.press('c');
    await walkTo(page, 'agent_1');
    await page.keyboard.press('Enter');
    await page.keyboard.press('c');
    await walkTo(page, 'stop_1').catch(async () => {
      await page.keyboard.press('Shift+Tab');
      await walkTo(page, 'stop_1');
    });
    await page.keyboard.press('Enter');
    said.push('connected start, agent and stop');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    if (!(await soon(() => page.evaluate(() => !document.activeElement?.closest('#canvas')), 10_000)))
      throw new Error('Escape twice and Tab do not leave the canvas');
    await page.locator('#canvas').focus();
    await walkTo(page, 'agent_1');
    // The first time this part of the pages has to be fetched; the key looks for it only for a while.
    await page.locator('#inspector .ib input').first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => !!document.activeElement?.matches('#inspector .ib input'));
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.activeElement?.id === 'canvas');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => !!document.activeElement?.matches('#inspector .ib input'));
    said.push('left the canvas with three keys, reached the first field of the inspector with one, went back with Escape');
    await tabTo(page, "document.activeElement?.getAttribute('role') === 'radio' && !!document.activeElement.closest('#insp-panel')");
    await page.keyboard.press('ArrowLeft');
    await tabTo(page, "!!document.activeElement?.closest('[data-field=agent_id]')");
    await page.keyboard.type(agent.name);
    await tabTo(page, "!!document.activeElement?.closest('[data-field=require_tool_approval]')");
    await page.keyboard.press('Space');
    await page.keyboard.press('Control+s');
    await page.getByText(/Saved as version/).waitFor();
    said.push('saved a version');
    await page.keyboard.press('Control+Enter');
    await page.locator('#composer:focus').waitFor();
    await page.keyboard.type(process.env.E2E_MESSAGE ?? 'refund please');
    await page.keyboard.press('Enter');
    await page.locator('.appr').first().waitFor();
    said.push('the run waits for approval');
    await tabTo(page, "!!document.activeElement?.closest('.appr') && document.activeElement.matches('button')");
    await page.keyboard.press('a');
    await page.locator('.reply').waitFor();
    said.push('approved; the run completed');
    await tabTo(page, 'document.activeElement?.matches(\'a[href*="/traces/"]\') === true', 160);
    await page.keyboard.press('Enter');
    await page.locator('[role=treegrid]').waitFor();
    await tabTo(page, "document.activeElement?.getAttribute('role') === 'treegrid'");
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await page.locator('[role=row][aria-selected=true]').waitFor();
    await page.locator('#step-panel').waitFor();
    said.push('read the trace');
    return { said, wrong: heard.map((h) => `console: ${h}`) };
  } catch (error) {
    await picture(page, 'keyboard-failed');
    return { said, wrong: [error.message.split('\n')[0], ...heard] };
  } finally {
    await browser.close();
  }
}

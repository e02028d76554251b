/** Tidying glides unless motion is unwanted; fields tell what they held in the last run; problems speak the page's language; traces are filtered. */
import { api, base, launch, open, picture, soon, streamed } from './browser.mjs';

const node = (id, type, x, y, data) => ({ id, type, position: { x, y }, title: id, data });
const edge = (source, target) => ({ id: `${source}-${target}`, source, target, sourceHandle: 'default', targetHandle: 'default' });

/** Where a node is drawn in every frame until it has moved and rests. */
const path = (page, id) =>
  page.evaluate(
    (name) =>
      new Promise((tell) => {
        const seen = [];
        let moved = performance.now();
        const began = moved;
        const look = () => {
          const at = new DOMMatrix(getComputedStyle(document.querySelector(`.react-flow__node[data-id="${name}"]`)).transform).f;
          const now = performance.now();
          if (at !== seen.at(-1)) {
            seen.push(at);
            moved = now;
          }
          const rests = seen.length > 1 && now - moved > 500;
          if (!rests && now - began < 60_000) requestAnimationFrame(look);
          else tell(seen);
        };
        document.querySelector('.top [aria-label="Tidy layout"]').click();
        look();
      }),
    id,
  );

/** How far down a node is drawn, if it is. */
const place = (page, id) =>
  page.evaluate((name) => {
    const node = document.querySelector(`.react-flow__node[data-id="${name}"]`);
    return node && new DOMMatrix(getComputedStyle(node).transform).f;
  }, id);

/** Where a node may be seen: the canvas but for a panel over it. */
const seen = (page, id) =>
  page.evaluate((name) => {
    const canvas = document.getElementById('canvas').getBoundingClientRect();
    const side = document.querySelector('.ed > .insp')?.getBoundingClientRect();
    const at = document.querySelector(`.react-flow__node[data-id="${name}"]`)?.getBoundingClientRect();
    return (
      !!at &&
      at.left >= canvas.left &&
      at.top >= canvas.top &&
      at.right <= Math.min(canvas.right, side?.left ?? Infinity) &&
      at.bottom <= canvas.bottom
    );
  }, id);

/** Panels that come beside the canvas, or over it on narrower screens. */
async function covered(page, url) {
  const wrong = [];
  for (const width of [1440, 1100]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(url);
    const node = page.locator('.react-flow__node[data-id="stop_1"]');
    const whole = async (when) => {
      for (const id of ['start_1', 'llm_1', 'stop_1']) await expectSoon(() => seen(page, id), `${width}: ${id} is seen ${when}`, wrong);
    };
    await node.waitFor();
    await whole('when the graph is opened');
    for (const key of ['o', 'j']) {
      await page.locator('#canvas').focus();
      await page.keyboard.press(key);
      await page.locator('.ed > .insp').waitFor();
      await whole(`beside the panel of ${key}`);
      await page.locator('#canvas').focus();
      await page.keyboard.press(key);
      await page.locator('.ed > .insp').waitFor({ state: 'detached' });
      await whole(`when the panel of ${key} is gone`);
    }
    await page.getByRole('button', { name: /Zoom to 100/ }).click();
    const at = await node.boundingBox();
    const pane = await page.locator('#canvas').boundingBox();
    await page.mouse.move(pane.x + 60, pane.y + 300);
    await page.mouse.down();
    await page.mouse.move(pane.x + 60 + (pane.x + pane.width - 40 - at.x - at.width), pane.y + 300 + (pane.y + pane.height / 2 - at.y), {
      steps: 4,
    });
    await page.mouse.up();
    await node.locator('.n').click({ position: { x: 30, y: 20 } });
    await page.locator('#inspector h2').waitFor();
    await expectSoon(() => seen(page, 'stop_1'), `${width}: the node that opens the inspector is not under it`, wrong);
    await page.getByRole('radio', { name: 'History' }).click();
    await expectSoon(() => seen(page, 'stop_1'), `${width}: nor under the history`, wrong);
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  return wrong;
}

async function expectSoon(test, what, wrong) {
  if (!(await soon(test, 20_000))) wrong.push(`not: ${what}`);
}

export async function editor() {
  const { default_provider: provider, default_model: model } = await api('/api/providers');
  const graph = {
    version: 1,
    nodes: [
      node('start_1', 'start', 0, 0, {}),
      node('llm_1', 'llm', 160, 300, { provider, model, prompt: 'Say: {{input}}', output_key: 'said' }),
      node('stop_1', 'stop', 420, 520, { reply: '{{said}}' }),
    ],
    edges: [edge('start_1', 'llm_1'), edge('llm_1', 'stop_1')],
    annotations: [],
    viewport: { x: 0, y: 0, zoom: 1 },
  };
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
    await last('prompt').waitFor();
    expect(await soon(async () => /input.*a lamp/.test(await last('prompt').innerText())), 'the prompt tells what it read in the last run');
    expect(await soon(async () => /said.*a lamp/.test(await last('output_key').innerText())), 'and the key what was written');
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    const undo = async () => {
      await page.locator('#canvas').focus();
      await page.keyboard.press('Control+z');
      await page.keyboard.press('f');
      if (!(await soon(async () => (await place(page, 'stop_1')) === before)))
        throw new Error('a tidied graph is not as it was once that is undone');
    };
    const before = await place(page, 'stop_1');
    let glided = await path(page, 'stop_1');
    // It takes a sixth of a second, in which a busy machine may draw hardly anything.
    for (let n = 0; n < 20 && glided.length <= 3; n++) {
      await undo();
      glided = await path(page, 'stop_1');
    }
    expect(glided.length > 3, `nodes glide when the graph is tidied (${glided.length} places)`);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await undo();
    const jumped = await path(page, 'stop_1');
    expect(
      jumped.length <= 2 && jumped.at(-1) === glided.at(-1),
      `and jump where motion is unwanted (${jumped.join(', ')} after ${glided.at(-1)})`,
    );
    const asked = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') asked.push(request.url());
    });
    await page.route(/run\/stream/, () => new Promise(() => undefined));
    await page.locator('#composer').fill('slowly');
    await page.locator('#composer').press('Enter');
    await page.getByRole('button', { name: /Stop watching/ }).click();
    await page.getByText('The run goes on.').waitFor();
    expect(
      (await page.locator('#composer').isEnabled()) &&
        (await page.getByRole('radio', { name: 'Design', checked: true }).count()) === 1 &&
        !asked.some((url) => /cancel/.test(url)),
      'who stops watching does not stop the run',
    );
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    const [run] = (await api(`/api/runs?entity_id=${workflow.id}&status=completed`)).data;
    await page.goto(`${base}/workflows/${workflow.id}/edit?trace=${run.id}`);
    await page.locator('.tl .tr').first().waitFor();
    expect(/^Start/.test(await page.locator('.tl .tr').first().innerText()), 'a timeline begins at the start');
    await page.locator('.dl-r [role=tab]').nth(1).click();
    await page.locator('.ev', { hasText: 'trace_completed' }).waitFor();
    said.push('the events of a stored run are told again');
    const faults = await covered(page, `${base}/workflows/${workflow.id}/edit`);
    wrong.push(...faults);
    if (faults.length === 0) said.push('no panel covers the chosen node, and a fitted graph stays fitted');
    await page.goto(`${base}/workflows/${workflow.id}/edit?node=llm_1`);
    await page.locator('#inspector h2').waitFor();
    const put = async () => {
      await page.locator('#canvas').focus();
      await page.keyboard.press('/');
      await page.locator('.quickadd input').fill('LLM');
      await page.keyboard.press('Enter');
      await page.locator('#inspector h2', { hasText: /LLM/ }).waitFor();
      return page.locator('.react-flow__node.selected').boundingBox();
    };
    const one = await put();
    await page.locator('.react-flow__node[data-id="llm_1"] .n').click({ position: { x: 100, y: 14 } });
    const other = await put();
    expect(
      one && other && (other.y >= one.y + one.height || other.y + other.height <= one.y),
      'what is added at a taken place stands beside it',
    );
    const listed = async (query) => {
      await page.goto(`${base}/workflows/${workflow.id}/traces?${query}`);
      await page.locator('td a.rowlink, .empty').first().waitFor();
      return page.locator('td a.rowlink').count();
    };
    expect((await listed(`model=${model}&version=1&cost=0`)) === 1, 'traces are filtered by model, version and cost');
    expect(
      (await listed('model=another')) === 0 && (await listed('cost=1000')) === 0 && (await listed('version=7')) === 0,
      'by the host, and what does not match is not there',
    );
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

/** A graph of 400 nodes, most of it drawn and not mounted, answers to the pointer as a small one does. */
import { api, base, launch, open, picture } from './browser.mjs';
import { graphOf } from './large.mjs';

export async function crowd() {
  const workflow = await api('/api/workflows', { method: 'POST', body: JSON.stringify({ name: 'Crowd' }) });
  await api(`/api/workflows/${workflow.id}/draft`, { method: 'PUT', body: JSON.stringify({ graph: graphOf(400) }) });
  const browser = await launch();
  const wrong = [];
  const said = [];
  const { page, heard } = await open(browser);
  const spot = (x, y) =>
    page.evaluate(
      ([fx, fy]) => {
        const [, tx, ty, zoom] = /translate\((-?[\d.]+)px, (-?[\d.]+)px\) scale\(([\d.]+)\)/
          .exec(document.querySelector('.react-flow__viewport').style.transform)
          .map(Number);
        const box = document.querySelector('.react-flow').getBoundingClientRect();
        return { x: box.x + tx + fx * zoom, y: box.y + ty + fy * zoom, zoom };
      },
      [x, y],
    );
  const draft = async (test) => {
    for (let n = 0; n < 40; n++) {
      const { graph } = await api(`/api/workflows/${workflow.id}/draft`);
      if (test(graph)) return true;
      await page.waitForTimeout(100);
    }
    return false;
  };
  const expect = (ok, what) => (ok ? said.push(what) : wrong.push(`not: ${what}`));
  try {
    await page.goto(`${base}/workflows/${workflow.id}/edit`);
    await page.locator('.crowd').waitFor({ state: 'attached' });
    await page.waitForTimeout(600);
    expect((await page.locator('.react-flow__node').count()) === 0, 'from afar nothing is mounted');

    let at = await spot(5 * 300 + 60, 3 * 170 + 30);
    await page.mouse.move(at.x - 2, at.y);
    await page.mouse.click(at.x, at.y);
    await page
      .getByRole('heading', { name: 'Step 155', exact: true })
      .waitFor({ timeout: 5000 })
      .then(() => expect(true, 'a click on a drawn node chooses it'))
      .catch(() => expect(false, 'a click on a drawn node chooses it'));

    await page.mouse.move(at.x, at.y);
    await page.mouse.down();
    await page.mouse.move(at.x + 10, at.y + 20, { steps: 4 });
    await page.mouse.move(at.x + 20, at.y + 60, { steps: 6 });
    await page.mouse.up();
    expect(
      await draft((g) => {
        const n = g.nodes.find((x) => x.id === 'n155');
        return n.position.y > 3 * 170 + 20;
      }),
      'a drawn node can be dragged',
    );

    await page.mouse.click((await spot(-60, -60)).x, (await spot(-60, -60)).y);
    at = await spot(-50, -40);
    const to = await spot(10 * 300 + 260, 4 * 170 + 150);
    await page.keyboard.down('Shift');
    await page.mouse.move(at.x, at.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 8 });
    await page.mouse.up();
    await page.keyboard.up('Shift');
    const chosen = await page.locator('#inspector h2').first().textContent();
    expect(/55|54/.test(chosen ?? ''), `a marquee chooses what it meets (${chosen})`);
    await page.keyboard.press('Escape');

    const zoomed = await spot(30 * 300 + 100, 5 * 170 + 30);
    await page.mouse.move(zoomed.x, zoomed.y);
    await page.mouse.dblclick(zoomed.x, zoomed.y);
    await page.waitForTimeout(500);
    const mounted = await page.locator('.react-flow__node').count();
    expect(mounted > 3 && mounted < 120, `nearby, nodes are mounted (${mounted})`);

    const handle = await page.locator('[data-id="n280"] .react-flow__handle.source').first().boundingBox();
    const aim = await page.locator('[data-id="n281"] .react-flow__handle.target').first().boundingBox();
    await page.mouse.click((handle.x + aim.x) / 2 + 5, handle.y + 5.5);
    await page
      .locator('.react-flow__edge.selected')
      .waitFor({ timeout: 3000 })
      .then(() => said.push('a click on a drawn edge chooses it'))
      .catch(() => wrong.push('not: a click on a drawn edge chooses it'));
    const end = await page.locator('.react-flow__edgeupdater-target').boundingBox();
    const other = await page.locator('[data-id="n331"] .react-flow__handle.target').first().boundingBox();
    if (end && other) {
      await page.mouse.move(end.x + end.width / 2, end.y + end.height / 2);
      await page.mouse.down();
      await page.mouse.move(other.x, other.y - 30, { steps: 5 });
      await page.mouse.move(other.x + other.width / 2, other.y + other.height / 2, { steps: 5 });
      await page.mouse.up();
      expect(
        await draft(
          (g) =>
            g.edges.some((e) => e.source === 'n280' && e.target === 'n331') &&
            !g.edges.some((e) => e.source === 'n280' && e.target === 'n281'),
        ),
        'the end of an edge can be put elsewhere',
      );
    } else wrong.push('not: a chosen edge has an end to take');
  } catch (error) {
    wrong.push(error.message.split('\n')[0]);
    await picture(page, 'crowd-failed');
  } finally {
    await browser.close();
    await api(`/api/workflows/${workflow.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  }
  return { said, wrong: [...wrong, ...heard.map((h) => `console: ${h}`)] };
}

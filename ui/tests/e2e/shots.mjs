/** Pictures of every route and state, for eyes: node tests/e2e/shots.mjs FOLDER [name …]; both themes, both languages, wide, narrow and phone. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { base, launch, open } from './browser.mjs';
import { scenes as allScenes } from './scenes.mjs';

const [folder, ...wanted] = process.argv.slice(2);
if (!folder) {
  console.error('which folder?');
  process.exit(1);
}

/** Scrolls a page that goes on below the window to its end; true when there was more to see. */
function toEnd() {
  const long = [...document.querySelectorAll('#page, #page *, .page')].filter(
    (e) => e.scrollHeight > e.clientHeight + 60 && e.clientHeight > 300 && /auto|scroll/.test(getComputedStyle(e).overflowY),
  );
  for (const e of long) e.scrollTop = e.scrollHeight;
  return long.length > 0;
}

const browser = await launch();
const scenes = (await allScenes()).filter(
  (s) => wanted.length === 0 || wanted.some((w) => s.name === w || (w.endsWith('*') && s.name.startsWith(w.slice(0, -1)))),
);
const looks = [
  ['wide', { width: 1440, height: 900 }],
  ['medium', { width: 1100, height: 800 }],
  ['narrow', { width: 800, height: 900 }],
  ['phone', { width: 390, height: 844 }],
].flatMap(([size, shape]) => ['en', 'pt_BR'].flatMap((locale) => [false, true].map((dark) => ({ size, locale, dark, ...shape }))));
const chosen = (process.env.LOOKS ?? '').split(',').filter(Boolean);
for (const look of looks) {
  const label = `${look.size}-${look.locale}-${look.dark ? 'dark' : 'light'}`;
  if (chosen.length && !chosen.includes(label)) continue;
  await mkdir(join(folder, label), { recursive: true });
  const shared = await open(browser, look);
  for (const scene of scenes) {
    if ((scene.phone && look.size !== 'phone') || (scene.wide && look.size !== 'wide')) continue;
    // What changes a draft keeps it to itself.
    const { context, page, settle } = scene.alone ? await open(browser, look) : shared;
    if (scene.alone) await page.route(/\/draft$/, (route) => (route.request().method() === 'PUT' ? undefined : route.continue()));
    for (const [url, answer] of scene.answer ?? []) await page.route(url, answer);
    await page.goto(base + scene.path, { waitUntil: 'commit' });
    if (scene.loading) {
      await page
        .locator('.skel:visible, .tok, #inspector h2')
        .first()
        .waitFor({ timeout: 15_000 })
        .catch(() => undefined);
      await page.waitForTimeout(900);
    } else await settle(15_000);
    page.setDefaultTimeout(8_000);
    if (/[?&]node=/.test(scene.path))
      await page
        .locator('#inspector h2')
        .waitFor()
        .catch(() => undefined);
    else if (!scene.loading)
      await page
        .locator('.ed > .insp:not(:has(h2))')
        .waitFor({ state: 'detached' })
        .catch(() => undefined);
    try {
      await scene.act?.(page);
      if (scene.act) {
        await page.waitForTimeout(350);
        await settle(4_000);
      }
    } catch (error) {
      console.log(`${label} ${scene.name}: ${error.message.split('\n')[0]}`);
    }
    // What is looked for may be missing; a picture and a page only come late on a busy machine.
    page.setDefaultTimeout(60_000);
    await page.screenshot({ path: join(folder, label, `${scene.name}.png`) });
    if (!scene.act && !scene.loading && (await page.evaluate(toEnd))) {
      await settle(4_000);
      await page.screenshot({ path: join(folder, label, `${scene.name}-end.png`) });
    }
    if (scene.alone) await context.close();
    else await page.unrouteAll({ behavior: 'ignoreErrors' });
  }
  await shared.context.close();
}
await browser.close();

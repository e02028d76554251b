/** Every route in both themes and languages, and at phone widths: no policy report, no console error, nothing for axe, no dead link. */
import { api, axe, base, launch, open, reports } from './browser.mjs';
import { places } from './places.mjs';

const said = (heard, place) => (place.missing ? heard.filter((h) => !/status of 404/.test(h)) : heard);

/** One language: each route is loaded once, looked at in light, then in dark. */
async function inBoth(browser, locale, all, light, links) {
  const { context, page, heard, settle } = await open(browser, { locale });
  const wrong = [];
  for (const place of all) {
    const name = `${place.path} ${locale}`;
    heard.length = 0;
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(base + place.path, { waitUntil: 'commit' });
    const late = await settle();
    if (late) wrong.push(`${name}: ${late}`);
    if (!light) for (const a of await axe(page)) wrong.push(`${name} light: axe: ${a}`);
    for (const href of await page.evaluate(() =>
      [...document.querySelectorAll('a[href]')].filter((a) => a.origin === location.origin).map((a) => a.href.split('#')[0]),
    ))
      if (!links.has(href)) links.set(href, name);
    await page.emulateMedia({ colorScheme: 'dark' });
    await settle();
    if (!light) for (const a of await axe(page, { colours: true })) wrong.push(`${name} dark: axe: ${a}`);
    for (const h of said(heard, place)) wrong.push(`${name}: console: ${h}`);
    for (const r of await reports(page)) wrong.push(`${name}: policy: ${r}`);
  }
  await context.close();
  return wrong;
}

async function onPhones(browser, all) {
  const { context, page, settle } = await open(browser, { width: 390, height: 844 });
  const wrong = [];
  for (const place of all) {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(base + place.path, { waitUntil: 'commit' });
    const late = await settle();
    if (late) wrong.push(`${place.path} at 390: ${late}`);
    for (const a of await axe(page)) wrong.push(`${place.path} at 390: axe: ${a}`);
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      const over = await page.evaluate(
        () =>
          new Promise((tell) => {
            requestAnimationFrame(() => requestAnimationFrame(() => tell(document.documentElement.scrollWidth - window.innerWidth)));
          }),
      );
      if (over > 1) wrong.push(`${place.path} at ${width}: ${over} px too wide`);
    }
  }
  await context.close();
  return wrong;
}

/** What a link leads to answers, and inside the mount. */
async function dead(links) {
  const wrong = [];
  for (const [href, from] of links) {
    if (/\/(nowhere|0199a000-)|[?]class=None/.test(href)) continue;
    if (!href.startsWith(`${base}/`)) wrong.push(`${from}: the link ${href} leaves the mount`);
    else if ((await fetch(href, { headers: { Accept: 'text/html' } })).status !== 200) wrong.push(`${from}: the link ${href} is dead`);
  }
  return wrong;
}

/** `light`: another mount of what was looked at whole before; reports, errors and links only. */
export async function routes({ light = false } = {}) {
  const browser = await launch();
  try {
    const all = await places();
    const links = new Map();
    const work = [inBoth(browser, 'en', all, light, links), inBoth(browser, 'pt_BR', all, light, links)];
    const wrong = (await Promise.all(work)).flat();
    if (!light) wrong.push(...(await onPhones(browser, all)));
    wrong.push(...(await dead(links)));
    await api('/api/runs/counts');
    return { checked: all.length * (light ? 4 : 6), wrong, told: [`${links.size} links`] };
  } finally {
    await browser.close();
  }
}

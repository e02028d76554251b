/** Opens Chromium the same way for every gate, hears what a page complains of, and knows when a page is ready. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export const base = (process.env.STUDIO_URL ?? 'http://127.0.0.1:8787/studio').replace(/\/$/, '');
const axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

// The shell is the same engine without the browser's own pages: pages load in two thirds of the time.
const shell = '/usr/bin/chromium-headless-shell';
const program = process.env.CHROMIUM ?? (existsSync(shell) ? shell : '/usr/bin/chromium');

/** `more`: what a gate wants of the browser beyond what all do. */
export const launch = (more = []) =>
  chromium.launch({
    executablePath: program,
    timeout: 180_000,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  });

export async function open(browser, { dark = false, locale = 'en', width = 1440, height = 900, scale = 1 } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  });
  await context.addInitScript((chosen) => {
    localStorage.setItem('studio.locale', chosen);
    window.cspReports = [];
    document.addEventListener('securitypolicyviolation', (e) =>
      window.cspReports.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile ?? ''}:${e.lineNumber}`),
    );
  }, locale);
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const heard = [];
  // A workflow without a draft answers 404, which the browser itself logs.
  page.on('console', (m) => {
    if (m.type() === 'error' && !/\/draft$/.test(m.location().url)) heard.push(`${m.text()} ${m.location().url}`);
  });
  page.on('pageerror', (e) => heard.push(`page error: ${e.message}`));
  return { context, page, heard, settle: settler(page) };
}

/** A page is ready when its heading is there, nothing it asked for is outstanding and no skeleton is left; open event streams do not count. */
function settler(page) {
  const asked = new Set();
  const done = (request) => asked.delete(request);
  page.on('request', (request) => {
    if (!/event-stream/.test(request.headers().accept ?? '')) asked.add(request);
  });
  page.on('requestfinished', done);
  page.on('requestfailed', done);
  page.on('framenavigated', (frame) => {
    if (frame === page.mainFrame()) asked.clear();
  });
  return async (most = PATIENCE) => {
    const end = Date.now() + most;
    let quiet = 0;
    while (quiet < 3) {
      const shown = await page
        .evaluate(
          () =>
            new Promise((tell) => {
              const look = () =>
                tell(
                  !!document.querySelector('h1') &&
                    !document.querySelector('#page .skel') &&
                    document.fonts.status === 'loaded' &&
                    document
                      .getAnimations()
                      .every((a) => a.playState !== 'running' || a.effect?.getComputedTiming().iterations === Infinity),
                );
              setTimeout(look, 50);
            }),
        )
        .catch(() => false);
      quiet = shown && asked.size === 0 ? quiet + 1 : 0;
      if (Date.now() > end)
        return `not ready after ${most} ms: ${shown ? '' : 'heading missing or skeleton shown; '}${[...asked].map((r) => r.url()).join(' ')}`;
    }
    return null;
  };
}

/** What a busy machine may take for anything at all. */
export const PATIENCE = 60_000;
/** Whether it comes to be so. */
export async function soon(test, most = PATIENCE) {
  for (const end = Date.now() + most; ;) {
    if (await test()) return true;
    if (Date.now() > end) return false;
    await new Promise((next) => setTimeout(next, 50));
  }
}

/** What a page looked like when its gate failed, where SHOTS names a folder for that. */
export const picture = (page, name) =>
  process.env.SHOTS && page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) }).catch(() => undefined);

const EVERYTHING = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };
/** What may differ between the themes. */
const COLOURS = { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } };

export async function axe(page, { colours = false } = {}) {
  if (!(await page.evaluate(() => !!window.axe))) await page.evaluate(axeSource);
  const found = await page.evaluate(
    (options) => window.axe.run(document, { resultTypes: ['violations'], ...options }),
    colours ? COLOURS : EVERYTHING,
  );
  return found.violations.map(
    (v) =>
      `${v.id}: ${v.nodes
        .slice(0, 3)
        .map((n) => n.target.join(' '))
        .join(' | ')}`,
  );
}

export const reports = (page) => page.evaluate(() => window.cspReports);

export async function api(path, init = {}) {
  const response = await fetch(base + path, {
    ...init,
    headers: { 'Content-Type': 'application/json', 'X-Requested-With': 'e2e', Origin: new URL(base).origin, ...init.headers },
  });
  if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? null : response.json();
}

export const make = (path, body) => api(path, { method: 'POST', body: JSON.stringify(body) });

/** Sends a run or a chat turn and waits until its stream ends. */
export async function streamed(path, body) {
  const response = await fetch(base + path, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream', Origin: new URL(base).origin },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${text}`);
  return { trace: /"trace_id":"([^"]+)"/.exec(text)?.[1], thread: /"thread_id":"([^"]+)"/.exec(text)?.[1], text };
}

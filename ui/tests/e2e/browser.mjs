/** Opens Chromium the same way for every gate, and hears what a page complains of. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

export const base = (process.env.STUDIO_URL ?? 'http://127.0.0.1:8787/studio').replace(/\/$/, '');
const axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const launch = () => chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

export async function open(browser, { dark = false, locale = 'en', width = 1440, height = 900 } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' });
  await context.addInitScript((chosen) => {
    localStorage.setItem('studio.locale', chosen);
    window.cspReports = [];
    document.addEventListener('securitypolicyviolation', (e) => window.cspReports.push(`${e.violatedDirective} ${e.blockedURI} ${e.sourceFile ?? ''}:${e.lineNumber}`));
  }, locale);
  const page = await context.newPage();
  const heard = [];
  // A workflow without a draft answers 404, which the browser itself logs.
  page.on('console', (m) => { if (m.type() === 'error' && !/\/draft$/.test(m.location().url)) heard.push(`${m.text()} ${m.location().url}`); });
  page.on('pageerror', (e) => heard.push(`page error: ${e.message}`));
  return { context, page, heard };
}

export async function axe(page) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  return found.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(' | ')}`);
}

export const reports = (page) => page.evaluate(() => window.cspReports);

export async function api(path, init = {}) {
  const response = await fetch(base + path, { ...init, headers: { 'Content-Type': 'application/json', 'X-Requested-With': 'e2e', Origin: new URL(base).origin, ...init.headers } });
  if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? null : response.json();
}

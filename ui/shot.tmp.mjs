import { chromium } from 'playwright-core';
const base = process.env.STUDIO_URL ?? 'http://127.0.0.1:8790/studio';
const jobs = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--headless','--no-sandbox','--disable-gpu','--disable-quic','--no-first-run','--disable-background-networking','--disable-component-update','--disable-sync'] });
for (const job of jobs) {
  const ctx = await browser.newContext({ viewport: { width: job.w ?? 1296, height: job.h ?? 810 }, colorScheme: job.dark ? 'dark' : 'light', reducedMotion: 'reduce' });
  if (job.pt) await ctx.addInitScript(() => localStorage.setItem('studio.locale', 'pt_BR'));
  const page = await ctx.newPage();
  page.on('console', (m) => { if (['error','warning'].includes(m.type())) console.log(job.out, m.type(), m.text().slice(0, 400)); });
  page.on('pageerror', (e) => console.log(job.out, 'PAGEERROR', e.message.slice(0, 600)));
  page.on('requestfailed', (r) => console.log(job.out, 'FAILED', r.url(), r.failure()?.errorText));
  page.on('response', (r) => { if (r.status() >= 400) console.log(job.out, r.status(), r.url()); });
  await page.goto(base + job.path, { waitUntil: 'load' });
  await page.waitForTimeout(job.wait ?? 1500);
  if (job.js) { try { const fn = new Function('page', `return (async () => { ${job.js} })()`); await fn(page); } catch (e) { console.log(job.out, 'STEP', e.message.slice(0, 500)); } }
  await page.screenshot({ path: `/tmp/shots/${job.out}.png` });
  await ctx.close();
}
await browser.close();

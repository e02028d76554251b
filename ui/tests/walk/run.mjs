/**
 * Walks by chance through two tabs of the studio. SEED repeats one walk, STEPS or SECONDS say how long, LENGTH how many steps a walk has.
 * PROGRAM is the example host, DIST a folder with other pages than its own, SHOTS a folder for pictures. ONLY names the deeds that are done,
 * IGNORE the kinds of findings that are not counted; GO_ON=1 goes on after one, SHRINK says for how many seconds steps are dropped, TELL=1 tells all.
 * With AGAIN=n a finding counts if one of n further walks with its seed finds it too; one that does not come again is told.
 * ABREAST says how many walks go beside each other in one browser, PACE by how much the waits of pages, line and models are shortened.
 */
import { launch } from '../e2e/browser.mjs';
import { faultyLine } from './faults.mjs';
import { startHost } from './host.mjs';
import { plan, play, shrink } from './walk.mjs';

const { env } = process;
const program = env.PROGRAM ?? new URL('../../../target/debug/examples/axum', import.meta.url).pathname;
process.setMaxListeners(0);
const LENGTH = Number(env.LENGTH ?? 150);
const PACE = Number(env.PACE ?? 3);
const seconds = env.SECONDS ? Number(env.SECONDS) : env.STEPS || env.SEED ? null : 180;
/** When the time is over, walks go no further; without a time, they go as far as they are told. */
const until = seconds === null ? Infinity : Date.now() + seconds * 1000;
const most = env.STEPS ? Number(env.STEPS) : seconds === null ? 0 : Infinity;
/** Without GO_ON, the others stop where one has found something. */
const over = () => Date.now() > until || (!goOn && wrong.length > 0);
const picture = env.SHOTS ?? null;
const ignore = env.IGNORE ? new RegExp(env.IGNORE) : null;
const only = env.ONLY ? new RegExp(env.ONLY) : null;
const goOn = env.GO_ON === '1';

const ABREAST = Number(env.ABREAST ?? (seconds === null ? 1 : 4));

const began = Date.now();
let seed = env.SEED ? Number(env.SEED) : Math.floor(Math.random() * 1e9);
let steps = 0;
let walks = 0;
let spoken = 0;
const wrong = [];
const notes = new Map();
console.log(`walk: from SEED=${seed}, ${LENGTH} steps each, ${ABREAST} beside each other`);

/** No process is made for a page that may come, none for the browser's own pages; the tabs of a walk share one. */
const LEAN = [
  `--disable-features=${[
    'AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,HttpsUpgrades,MediaRouter,PaintHolding,ThirdPartyStoragePartitioning',
    'OptimizationHints,NetworkTimeServiceQuerying,SpareRendererForSitePerProcess,PreloadTopChromeWebUI,WebUIToolbar',
  ]}`,
];

/** A browser that has run long is slower: it is closed once the last walk that began in it has ended. */
let browser = { at: launch(LEAN), walks: 0, open: 0 };
async function borrow() {
  if (browser.walks >= 20) {
    if (!browser.open) await (await browser.at).close();
    browser = { at: launch(LEAN), walks: 0, open: 0 };
  }
  const mine = browser;
  mine.walks++;
  mine.open++;
  return { browser: await mine.at, back: async () => void (--mine.open === 0 && mine !== browser && (await (await mine.at).close())) };
}

async function comesAgain(options, found) {
  const times = Number(env.AGAIN ?? 0);
  for (let n = 0; n < times; n++) {
    const again = await play({ ...options, over: () => false, picture: null });
    if (again.findings.some((f) => f.kind === found.findings[0].kind)) return true;
  }
  return times === 0;
}

async function oneWalk(host, line) {
  const mine = seed++;
  const { browser, back } = await borrow();
  const options = { browser, host, line, pace: PACE, seed: mine, steps: plan(mine, LENGTH), picture, ignore, only, over };
  const result = await play(options);
  steps += result.did;
  walks++;
  for (const note of result.notes) notes.set(note.replace(/ [ab] ?/, ' '), (notes.get(note.replace(/ [ab] ?/, ' ')) ?? 0) + 1);
  const lines = [];
  if (env.TELL === '1') lines.push(...result.done.map((text) => `  ${text}`));
  if (!result.findings.length) {
    lines.push(`SEED=${mine}: ${result.did} steps`);
    if (Date.now() - spoken > 60_000) lines.push(`  ${steps} in ${Math.round((spoken = Date.now()) / 1000 - began / 1000)} s`);
  } else if (!(await comesAgain(options, result))) {
    notes.set(`SEED=${mine}, not found again: ${result.findings[0].kind}: ${result.findings[0].text}`, 1);
  } else {
    wrong.push(mine);
    lines.push(`✗ SEED=${mine}, after ${result.findings[0].at} steps, ${Math.round((Date.now() - began) / 1000)} s`);
    for (const f of result.findings) lines.push(`  ${f.kind}: ${f.text}`);
    if (env.SHRINK !== '0') {
      const small = await shrink({ ...options, over: () => false }, result, Number(env.SHRINK ?? 120));
      lines.push(`  ${small.steps.length} steps are enough: ${small.last.findings.map((f) => `${f.kind}: ${f.text}`)[0]}`);
      lines.push(...small.last.done.map((text) => `    ${text}`));
    } else lines.push(...result.done.slice(-14).map((text) => `    ${text}`), ...result.told.slice(-8).map((text) => `    line: ${text}`));
  }
  console.log(lines.join('\n'));
  await back();
}

/** Each has a host and a line of its own, which it may break. */
async function lane() {
  const host = await startHost(program, PACE);
  const line = await faultyLine(env.DIST, PACE);
  do await oneWalk(host, line);
  while ((goOn || !wrong.length) && steps < most && Date.now() < until);
  line.close();
  await host.close();
}
await Promise.all(Array.from({ length: ABREAST }, lane));
await (await browser.at).close();
console.log(
  `walk: ${steps} steps in ${walks} walks, ${wrong.length} with findings${wrong.length ? ` (${wrong.join(' ')})` : ''}, ` +
    `${Math.round((Date.now() - began) / 1000)} s`,
);
for (const [note, many] of notes) console.log(`  ${many} × ${note}`);
process.exit(wrong.length ? 1 : 0);

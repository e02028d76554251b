/**
 * Walks by chance through two tabs of the studio. SEED repeats one walk, STEPS or SECONDS say how long, LENGTH how many steps a walk has.
 * PROGRAM is the example host, DIST a folder with other pages than its own, SHOTS a folder for pictures. ONLY names the deeds that are done,
 * IGNORE the kinds of findings that are not counted; GO_ON=1 goes on after one, SHRINK says for how many seconds steps are dropped, TELL=1 tells all.
 */
import { launch } from '../e2e/browser.mjs';
import { faultyLine } from './faults.mjs';
import { startHost } from './host.mjs';
import { plan, play, shrink } from './walk.mjs';

const { env } = process;
const program = env.PROGRAM ?? new URL('../../../target/debug/examples/axum', import.meta.url).pathname;
const LENGTH = Number(env.LENGTH ?? 100);
const most = env.STEPS ? Number(env.STEPS) : Infinity;
const until = Date.now() + (env.SECONDS ? Number(env.SECONDS) : env.STEPS ? 1e9 : env.SEED ? 0 : 180) * 1000;
const picture = env.SHOTS ?? null;
const ignore = env.IGNORE ? new RegExp(env.IGNORE) : null;
const only = env.ONLY ? new RegExp(env.ONLY) : null;
const goOn = env.GO_ON === '1';

const began = Date.now();
const host = await startHost(program);
const line = await faultyLine(env.DIST);
let browser = await launch();
let seed = env.SEED ? Number(env.SEED) : Math.floor(Math.random() * 1e9);
let steps = 0;
let walks = 0;
const wrong = [];
const notes = new Map();
do {
  const options = { browser, host, line, seed, steps: plan(seed, LENGTH), picture, ignore, only };
  const result = await play(options);
  steps += result.did;
  walks++;
  for (const note of result.notes) notes.set(note.replace(/ [ab] ?/, ' '), (notes.get(note.replace(/ [ab] ?/, ' ')) ?? 0) + 1);
  if (env.TELL === '1') for (const text of result.done) console.log(`  ${text}`);
  else if (!result.findings.length) console.log(`SEED=${seed}: ${result.did} steps`);
  if (result.findings.length) {
    wrong.push(seed);
    console.log(`✗ SEED=${seed}, after ${result.findings[0].at} steps`);
    for (const f of result.findings) console.log(`  ${f.kind}: ${f.text}`);
    if (env.SHRINK !== '0') {
      const small = await shrink(options, result, Number(env.SHRINK ?? 120));
      console.log(`  ${small.steps.length} steps are enough: ${small.last.findings.map((f) => `${f.kind}: ${f.text}`)[0]}`);
      for (const text of small.last.done) console.log(`    ${text}`);
    } else for (const text of result.done.slice(-12)) console.log(`    ${text}`);
  }
  seed++;
  if (walks % 20 === 0) {
    // A browser that has run long is slower.
    await browser.close();
    browser = await launch();
  }
} while ((goOn || !wrong.length) && steps < most && Date.now() < until);
await browser.close();
line.close();
await host.close();
console.log(
  `walk: ${steps} steps in ${walks} walks, ${wrong.length} with findings${wrong.length ? ` (${wrong.join(' ')})` : ''}, ${Math.round((Date.now() - began) / 1000)} s`,
);
for (const [note, many] of notes) console.log(`  ${many} × ${note}`);
process.exit(wrong.length ? 1 : 0);

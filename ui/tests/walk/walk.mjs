/** Owns one walk: its steps by chance, played in two tabs, then looked over. */
import { join } from 'node:path';
import { chance, pick, weighted } from './chance.mjs';
import { check } from './checks.mjs';
import { DEEDS, WEIGHTS } from './deeds.mjs';
import { pulse } from './pulse.mjs';
import { judgeVersions, learn, look, openTab, WORDS } from './tab.mjs';
import { makeWorld, tidyWorld } from './world.mjs';

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** A step has its own numbers, so that it is the same where others are dropped. */
export function plan(seed, many) {
  const next = chance(seed);
  return Array.from({ length: many }, (_, n) => ({
    n,
    deed: next(),
    tab: next() < 0.7 ? 0 : 1,
    by: [next(), next(), next()],
    wait: pick([0, 0, 0, 0, 0, 40, 120, 350, 900], next()),
  }));
}

/** Of what makes sense where the tab is; a dialog is answered first. */
function deedOf(now, step, only) {
  if (now.dialog) return 'dialog';
  const all = WEIGHTS[now.kind] ?? WEIGHTS.other;
  const some = only ? all.filter(([, name]) => only.test(name)) : all;
  return weighted(some.length ? some : all, step.deed)[1];
}

/** A machine that does much else besides opens a page in its own time. */
const PATIENCE = 600_000;

const short = (error) =>
  String(error?.message ?? error)
    .split('\n')[0]
    .slice(0, 140);

/** What a step is among: what was found, what was done, what hands meant and what was sent. */
function begin({ world, host, line, seed, ignore, pace }) {
  let words = 0;
  const walk = {
    world,
    host,
    line,
    pace,
    findings: [],
    done: [],
    notes: [],
    hostDown: false,
    meant: new Map(),
    sent: new Map(),
    runs: new Map(world.flows.map((f) => [f.id, new Set(f.run ? [f.run] : [])])),
    threads: new Map(),
    made: new Set(),
  };
  const began = Date.now();
  walk.address = `http://127.0.0.1:${line.port}/studio`;
  walk.took = () => ((Date.now() - began) / 1000).toFixed(1);
  walk.word = () => `${seed.toString(36)}x${(words++).toString(36)}`;
  walk.note = (text) => void walk.notes.push(text);
  walk.finding = (kind, text) => {
    if (ignore?.test(kind)) return walk.note(kind);
    if (walk.findings.length < 8) walk.findings.push({ kind, text, at: walk.done.length });
  };
  line.seed = seed;
  line.upstream = host.port;
  line.seen.clear();
  line.told = [];
  line.stored = (kind, id, sent) =>
    [...world.forms, ...world.tools].find((f) => f.id === id)?.was.add(kind === 'agents' ? sent.instructions : sent.description);
  line.set('fine');
  return walk;
}

/** What is looked at in passing. */
function remember(walk, tab, now) {
  if (now.offered) walk.finding('offered again', `tab ${tab.n} offers to send “${now.offered}” again, which has begun`);
  wiped(walk, tab, now);
  if (now.run && now.ready && now.run === now.trace) walk.runs.set(now.id, (walk.runs.get(now.id) ?? new Set()).add(now.run));
}

/** A run that a page shows stays until another one is shown: it is not gone from a page that goes on. */
function wiped(walk, tab, now) {
  const was = tab.shown;
  const here = now.kind === 'editor' && now.ready && now.session;
  if (here && was?.session === now.session && now.status === 'idle')
    walk.finding('wiped', `tab ${tab.n} shows nothing of run ${was.run} any more, which it has shown`);
  tab.shown = here && now.run ? { session: now.session, run: now.run } : here && was?.session === now.session ? was : null;
}

async function stepOf(walk, tab, step, only) {
  walk.line.step = step.n;
  const now = await look(tab);
  if (!now) return null;
  remember(walk, tab, now);
  const deed = deedOf(now, step, only);
  const what = await DEEDS[deed](walk, tab, now, step.by).catch((error) => `${deed} could not: ${short(error)}`);
  await learn(walk, tab);
  judgeVersions(walk);
  return what;
}

/** Gives what was found, what was done, and how many steps that were. */
export async function play({ browser, host, line, seed, steps, picture, ignore, only, pace, over }) {
  const world = await makeWorld(host.base);
  const walk = begin({ world, host, line, seed, ignore, pace });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, deviceScaleFactor: 0.5, reducedMotion: 'reduce' });
  await context.addInitScript(() => {
    // A page of the browser's own, such as the one that says that nobody answers, has no storage.
    if (location.protocol.startsWith('http')) localStorage.setItem('studio.locale', 'en');
  });
  await context.addInitScript(pulse, { pace, words: WORDS });
  let did = 0;
  try {
    const tabs = [];
    for (const n of [0, 1]) {
      const tab = await openTab(context, walk, n);
      tabs.push(tab);
      await tab.page.goto(`${walk.address}/workflows`, { waitUntil: 'commit', timeout: PATIENCE });
    }
    await tabs[0].page.locator('a.rowlink').first().waitFor({ timeout: PATIENCE });
    for (const step of steps) {
      const tab = tabs[step.tab];
      const what = await stepOf(walk, tab, step, only);
      if (what) {
        did++;
        walk.done.push(`${walk.took()} s, step ${step.n}, tab ${step.tab}: ${what}`);
        if (step.wait) await pause(step.wait / pace);
        // What could not be done may be possible once something was answered.
      } else await line.moves(200 / pace);
      if (walk.findings.length || over()) break;
    }
    if (!walk.findings.length) await check(walk, context, tabs);
    if (walk.findings.length && picture)
      for (const tab of tabs)
        if (!tab.page.isClosed()) await tab.page.screenshot({ path: join(picture, `walk-${seed}-${tab.n}.png`) }).catch(() => undefined);
  } catch (error) {
    walk.finding('broken', error.stack?.split('\n').slice(0, 4).join(' ') ?? String(error));
  }
  line.set('fine');
  if (walk.hostDown) await host.up();
  await context.close().catch(() => undefined);
  await tidyWorld(world, walk.made);
  return { findings: walk.findings, done: walk.done, notes: walk.notes, told: line.told, did };
}

/** Drops steps for as long as something of the same kind is found. */
export async function shrink(options, found, seconds) {
  const end = Date.now() + seconds * 1000;
  let steps = options.steps.slice(0);
  let last = found;
  for (let size = Math.ceil(steps.length / 2); size >= 1 && Date.now() < end; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < steps.length && Date.now() < end;) {
      const fewer = [...steps.slice(0, from), ...steps.slice(from + size)];
      const again = fewer.length ? await play({ ...options, steps: fewer, picture: null }) : null;
      if (again?.findings.some((f) => f.kind === found.findings[0].kind)) {
        steps = fewer;
        last = again;
      } else from += size;
    }
  }
  return { steps, last };
}

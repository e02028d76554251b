/** Owns what has to be so: before something is changed, and when everything has come to rest. Nothing is judged by the clock. */
import { checkForm, formAt } from './deeds.mjs';
import { differ, frames, judgeAnswers, judgeVersions, learn, look, openTab, press, rests } from './tab.mjs';
import { agrees, madeAs, same, stored } from './world.mjs';

/** A page that still does something after so long is told of as one that does not rest. */
const NEVER = 300_000;

/** Asks until it is so, or until nothing moves any more: what is wrong then stays wrong. */
async function atRest(walk, tabs, what) {
  const end = Date.now() + NEVER;
  for (let quiet = 0; ;) {
    const wrong = await what();
    if (!wrong) return null;
    const still = walk.line.busy === 0 && (await Promise.all(tabs.map(rests))).every(Boolean) && walk.line.busy === 0;
    quiet = still ? quiet + 1 : 0;
    if (quiet > 3) return wrong;
    if (Date.now() > end) return `${wrong} (after ${NEVER / 1000} s, and it does not rest)`;
    if (!still) await walk.line.moves(100 / walk.pace);
  }
}

/** What one is about to change has to be what was there before, in the document and on the screen. */
export async function before(walk, tab, flow) {
  let wrong = null;
  for (let n = 0; n < 12; n++) {
    await learn(walk, tab);
    const now = await look(tab);
    if (!now || !now.ready || now.id !== flow.id || now.reading || !now.design || now.dialog) return;
    wrong = shows(flow, now);
    if (!wrong) return;
    await frames(tab, 3);
  }
  walk.finding('another document', `tab ${tab.n} ${wrong}`);
}

function shows(flow, now) {
  if (!same(flow.doc, now.doc)) return `has ${flow.mark} otherwise: ${differ(flow.doc, now.doc)}`;
  if (now.far || agrees(now.doc, now.drawn)) return null;
  return `draws ${flow.mark} otherwise: ${differ(now.doc, now.drawn, now.drawn)}`;
}

/** A page that could not be read says so, and may be asked for again. */
const again = (tab) => press(tab, '#page .btn', { text: '^Retry$' });

const running = (tab) =>
  tab.page.evaluate(() =>
    [
      document.title.startsWith('●') && 'the title of the page',
      document.querySelector('.react-flow__node .n.run') && 'a node',
      document.querySelector('.am .st.run, .am .cur') && 'a message',
      document.querySelector('.cmpz .btn .lucide-circle-stop') && 'the button to stop',
    ]
      .filter(Boolean)
      .join(', '),
  );

/** Waits a while for what goes on; what says that it runs when nothing moves any more never ends. */
export async function comesToRest(walk, tab, most = 12) {
  for (let n = 0, quiet = 0; n < most && quiet < 3; n++) {
    const still = walk.line.busy === 0 && (await rests(tab)) && walk.line.busy === 0;
    quiet = still ? quiet + 1 : 0;
    const says = quiet > 2 && (await running(tab).catch(() => ''));
    if (says) walk.finding('says it runs', `tab ${tab.n}: ${says} says that it runs, and nothing is asked for`);
    if (!still) await walk.line.moves(300 / walk.pace);
  }
  return 'wait';
}

async function runs(walk, tab) {
  const wrong = await atRest(walk, [tab], async () => {
    const says = await running(tab).catch(() => '');
    if (!says) return null;
    const now = await look(tab);
    const run =
      now?.kind === 'editor'
        ? now.trace && (await walk.world.api(`/api/runs/${now.trace}?snapshots=none`).catch(() => null))?.trace
        : (await walk.world.api(`/api/runs?entity_type=agent&entity_id=${now?.id}&limit=50`)).data.find((r) => r.thread_id === now?.thread);
    return `${says} says that it runs; the run is ${run ? run.status : 'not there'}`;
  });
  if (wrong) walk.finding('says it runs', `tab ${tab.n}: ${wrong}`);
}

/** The session of a run of an agent. */
async function threadOf(walk, run) {
  if (!walk.threads.has(run))
    walk.threads.set(run, (await walk.world.api(`/api/runs/${run}?snapshots=none`).catch(() => null))?.trace.thread_id ?? null);
  return walk.threads.get(run);
}

/** Nothing of one page is on another: no document, no draft, no run, no question. */
export async function apart(walk, tab) {
  await belongs(walk, tab);
  const wrong = await atRest(walk, [tab], async () => {
    const now = await look(tab);
    const flow = now?.kind === 'editor' && walk.world.flows.find((f) => f.id === now.id);
    if (!flow || !now.holds) return null;
    if (now.holds !== flow.id) return `holds the document of ${now.holds} at ${flow.mark}`;
    if (!now.ready || now.reading || now.dialog) return null;
    if (!flow.hands && now.save === 'dirty') return `says of ${flow.mark} that it is not stored, which nobody has edited`;
    if (now.save !== 'saved') return null;
    const kept = await stored(walk.world, flow.id);
    if (!same(kept.doc, now.doc)) return `says of ${flow.mark} that it is stored, and it is not: ${differ(now.doc, kept.doc)}`;
    return kept.revision === now.revision ? null : `holds revision ${now.revision} of the draft of ${flow.mark}, which is ${kept.revision}`;
  });
  if (wrong) walk.finding('another workflow', `tab ${tab.n} ${wrong}`);
}

/** What was written and is not sent is in the box. */
export async function inBox(walk, tab, text, why) {
  const wrong = await atRest(walk, [tab], async () => {
    const there = await tab.page
      .evaluate((said) => {
        const box = document.querySelector('#composer, #chatbox');
        return !box || box.value.includes(said);
      }, text)
      .catch(() => true);
    return there ? null : `“${text}” ${why}, and is not in the box`;
  });
  if (wrong) walk.finding('lost', `tab ${tab.n}: ${wrong}`);
}

async function belongs(walk, tab) {
  const wrong = await atRest(walk, [tab], async () => {
    const now = await look(tab);
    if (now?.kind === 'editor') {
      for (const id of new Set([now.trace, now.run].filter(Boolean))) {
        const answer = await walk.world.api(`/api/runs/${id}?snapshots=none`).catch(() => null);
        const of = answer?.trace.workflow_id ?? answer?.trace.entity_id ?? answer?.trace.entity?.id;
        if (of && of !== now.id && walk.world.flows.some((f) => f.id === now.id)) return `shows run ${id} of ${of} at workflow ${now.id}`;
      }
      if (now.run && now.trace && now.run !== now.trace) return `shows run ${now.run} under the address of ${now.trace}`;
    }
    if (now?.kind !== 'play' || !now.thread) return null;
    if (now.talk && now.talk !== now.thread) return `shows session ${now.talk} under the address of ${now.thread}`;
    for (const run of now.traces) {
      const of = await threadOf(walk, run);
      if (of && of !== now.thread) return `shows run ${run} of session ${of} in session ${now.thread}`;
    }
    const alien = now.said.filter((text) => {
      const meant = walk.meant.get(text);
      return meant?.thread && meant.thread !== now.thread;
    });
    return alien.length ? `shows “${alien.join(', ')}” in session ${now.thread}, which was written in another` : null;
  });
  if (wrong) walk.finding(/session/.test(wrong) ? 'another thread' : 'another run', `tab ${tab.n} ${wrong}`);
}

/** A form says what was typed; it is stored or told to be unsaved. */
async function forms(walk, tab) {
  for (const [kind, form] of [
    ['agents', tab.form],
    ['tools', tab.tool],
  ]) {
    if (form.typed === null) continue;
    await leaveDialogs(tab);
    if (formAt(tab, await look(tab)) !== form)
      await tab.page.evaluate((to) => history.pushState(null, '', to), `/studio/${kind}/${form.id}`);
    const wrong = await atRest(walk, [tab], async () => {
      const now = await look(tab);
      if (now && formAt(tab, now) !== form) {
        // A form that asks whether to leave it.
        await press(tab, 'dialog[open] .foot .btn', { last: true });
        return `the form of ${kind} does not open`;
      }
      if (!now || now.value === null) {
        await again(tab);
        return `the form of ${kind} does not open`;
      }
      if (now.value !== form.typed)
        return now.marked || !form.was.has(form.typed) ? `shows “${now.value}”, typed was “${form.typed}”` : null;
      return now.marked || form.was.has(form.typed) ? null : `“${now.value}” is not stored, and nothing says so`;
    });
    if (wrong) walk.finding('form', `${kind} form of tab ${tab.n} ${wrong}`);
  }
}

async function leaveDialogs(tab) {
  for (let n = 0; n < 3 && (await look(tab))?.dialog; n++) {
    await tab.page.keyboard.press('Escape');
    await frames(tab, 2);
  }
}

/** What an open editor shows is what was made, and it is kept or told not to be. */
async function open(walk, tab) {
  const at = await look(tab);
  const flow = at?.kind === 'editor' && walk.world.flows.find((f) => f.id === at.id);
  if (!flow) return;
  if (at.dialog && /Someone else/.test(await tab.page.locator('dialog[open]').last().textContent()))
    walk.finding('conflict', `at rest one is asked about another hand in ${flow.mark}, and there is none`);
  await leaveDialogs(tab);
  await press(tab, '.top [role=radio]', { text: 'Design' });
  const wrong = await atRest(walk, [tab], async () => {
    const now = await look(tab);
    if (!now?.ready) {
      await again(tab);
      return `${flow.mark} does not open`;
    }
    if (now.reading) return null;
    const otherwise = shows(flow, now);
    if (otherwise) return `tab ${tab.n} ${otherwise}`;
    const kept = await stored(walk.world, flow.id);
    if (same(kept.doc, flow.doc)) return null;
    if (now.save === 'failed' && /not on the server/.test(now.note)) return null;
    return `${flow.mark} is not stored, and the page says “${now.note}”: ${differ(flow.doc, kept.doc)}`;
  });
  if (wrong) walk.finding('document', wrong);
}

/** Once all tabs are closed, a new one brings everything to the host. */
async function reopened(walk, context) {
  const flows = walk.world.flows.filter((f) => f.touched);
  if (!flows.length) return;
  const tab = await openTab(context, walk, 0);
  for (const flow of flows) {
    await tab.page.goto(`${walk.address}/workflows/${flow.id}/edit`, { timeout: NEVER, waitUntil: 'commit' });
    const wrong = await atRest(walk, [tab], async () => {
      const now = await look(tab);
      if (now?.dialog) {
        walk.finding('conflict', `opened again, ${flow.mark} asks about another hand, and there is none`);
        return 'a conflict with oneself';
      }
      if (!now?.ready) {
        await again(tab);
        return `opened again, ${flow.mark} does not open`;
      }
      const otherwise = shows(flow, now);
      if (otherwise) return `opened again, the page ${otherwise}`;
      const kept = await stored(walk.world, flow.id);
      return same(kept.doc, flow.doc) ? null : `opened again, ${flow.mark} is not stored: ${differ(flow.doc, kept.doc)}`;
    });
    if (wrong) walk.finding('document', wrong);
  }
}

/** What was asked for again because nothing was heard of it is there once. */
async function judgeMade(walk) {
  const names = (await madeAs(walk.world, walk.made)).map((flow) => flow.name);
  const twice = names.find((name, n) => names.indexOf(name) !== n);
  if (twice) walk.finding('twice', `“${twice}” was made ${names.filter((name) => name === twice).length} times`);
}

export async function check(walk, context, tabs) {
  walk.line.set('fine');
  // Whoever was signed out comes back.
  await Promise.all(tabs.map((tab) => tab.page.evaluate(() => window.dispatchEvent(new Event('focus'))).catch(() => undefined)));
  await atRest(walk, tabs, async () => 'not yet');
  for (const tab of tabs) {
    await learn(walk, tab);
    await open(walk, tab);
    await runs(walk, tab);
    await belongs(walk, tab);
    await forms(walk, tab);
    await judgeAnswers(walk, tab);
  }
  judgeVersions(walk);
  await judgeMade(walk);
  if (walk.findings.length) return;
  for (const tab of tabs) await tab.page.close({ runBeforeUnload: false });
  await reopened(walk, context);
}

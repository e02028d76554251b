/** Owns what has to be so when everything has come to rest. */
import { formAt, formField } from './deeds.mjs';
import { differ, hidden, shown, where, WORDS } from './tab.mjs';
import { agrees, same, stored } from './world.mjs';

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Asks until it is so; the last answer otherwise. */
async function soon(look, ms = 8000) {
  const end = Date.now() + ms;
  for (;;) {
    const wrong = await look().catch((e) => `${e.message}`.split('\n')[0]);
    if (!wrong || Date.now() > end) return wrong;
    await pause(150);
  }
}

/** A page that could not be read says so, and may be asked for again. */
const again = (tab) =>
  tab.page
    .locator('#page .btn', { hasText: /^Retry$/ })
    .first()
    .click({ timeout: 300 })
    .catch(() => undefined);

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

async function rests(walk, tab) {
  const at = where(tab);
  if (at.kind !== 'editor' && at.kind !== 'play') return;
  const wrong = await soon(async () => {
    const now = where(tab);
    const says = await running(tab);
    if (!says) return null;
    const run =
      now.kind === 'editor'
        ? now.trace && (await walk.world.api(`/api/runs/${now.trace}?snapshots=none`)).trace
        : (await walk.world.api(`/api/runs?entity_type=agent&entity_id=${now.id}&limit=50`)).data.find((r) => r.thread_id === now.thread);
    if (run && ['running', 'queued', 'pending'].includes(run.status)) return `the run itself is still ${run.status}`;
    return `${says} says that it runs; the run is ${run ? run.status : 'not there'}`;
  }, 15_000);
  if (wrong && !/itself/.test(wrong)) walk.finding('says it runs', `tab ${tab.n}: ${wrong}`);
}

async function belongs(walk, tab) {
  const at = where(tab);
  if (at.kind === 'editor' && at.trace) {
    const answer = await walk.world.api(`/api/runs/${at.trace}?snapshots=none`).catch(() => null);
    const id = answer?.trace.workflow_id ?? answer?.trace.entity_id ?? answer?.trace.entity?.id;
    if (id && id !== at.id && walk.world.flows.some((f) => f.id === at.id))
      walk.finding('another run', `tab ${tab.n} shows run ${at.trace} of ${id} at workflow ${at.id}`);
  }
  if (at.kind === 'play' && at.thread) {
    const wrong = await soon(async () => {
      const said = await tab.page.locator('.msgcol > .um').allTextContents();
      const alien = said.filter((text) => {
        const meant = [...walk.world.sent].find(([message]) => text.includes(message))?.[1];
        return meant?.thread && meant.thread !== at.thread;
      });
      return alien.length ? `“${alien.join(', ')}” is shown in session ${at.thread}, but was written in another` : null;
    }, 6000);
    if (wrong) walk.finding('another thread', `tab ${tab.n}: ${wrong}`);
  }
}

/** A form says what was typed; it is stored or told to be unsaved. */
async function forms(walk, tab) {
  for (const [kind, form] of [
    ['agents', tab.form],
    ['tools', tab.tool],
  ]) {
    if (form.may.length === 1 && form.may[0] === 'begin') continue;
    if (formAt(tab)?.form !== form) {
      await tab.page.evaluate((to) => history.pushState(null, '', to), `/studio/${kind}/${form.id}`);
    }
    const wrong = await soon(async () => {
      if (!(await formField(tab, kind).isVisible())) await again(tab);
      const value = await formField(tab, kind).inputValue();
      if (!form.may.includes(value)) return `shows “${value}”, typed was “${form.may.join('” or “')}”`;
      const now = await walk.world.api(`/api/${kind}/${form.id}`);
      const kept = kind === 'agents' ? now.instructions : now.description;
      if (kept === value) return null;
      const mark = await tab.page.locator('.top').textContent();
      return mark.includes(WORDS.unsaved) ? null : `“${value}” is not stored (“${kept}” is), and nothing says so`;
    }, 5000);
    if (wrong) walk.finding('form', `${kind} form of tab ${tab.n} ${wrong}`);
  }
}

/** What an open editor shows is what was made, and it is kept or told not to be. */
async function open(walk, tab) {
  const at = where(tab);
  const flow = at.kind === 'editor' && walk.world.flows.find((f) => f.id === at.id);
  if (!flow) return;
  for (let n = 0; n < 3 && (await tab.page.locator('dialog[open]').count()); n++) {
    const mine = tab.page.locator('dialog[open] .foot .btn.pri').last();
    if (/Someone else/.test(await tab.page.locator('dialog[open]').last().textContent()))
      walk.finding('conflict', `at rest one is asked about another hand in ${flow.mark}, and there is none`);
    await mine.click().catch(() => tab.page.keyboard.press('Escape'));
    await pause(400);
  }
  await tab.page
    .locator('.top [role=radio]', { hasText: 'Design' })
    .click()
    .catch(() => undefined);
  const wrong = await soon(async () => {
    const now = await shown(tab);
    if (!now.ready) await again(tab);
    if (!now.ready || (await hidden(tab)) !== flow.id) return `${flow.mark} does not open`;
    if (now.reading || now.far) return null;
    if (!agrees(flow.doc, now.doc)) return `tab ${tab.n} shows ${flow.mark} otherwise: ${differ(flow.doc, now.doc, now.doc)}`;
    const kept = await stored(walk.world, flow.id);
    if (same(kept.doc, flow.doc)) return null;
    if (/not on the server|Keeping|Saving/.test(now.note)) return null;
    return `${flow.mark} is not stored, and the page says “${now.note}”: ${differ(flow.doc, kept.doc)}`;
  });
  if (wrong) walk.finding('document', wrong);
}

/** Once all tabs are closed, a new one brings everything to the host. */
async function reopened(walk, context) {
  for (const flow of walk.world.flows.filter((f) => f.touched)) {
    const tab = { n: 'new', page: await context.newPage() };
    tab.page.setDefaultTimeout(2000);
    await tab.page.goto(`${walk.address}/workflows/${flow.id}/edit`, { timeout: 60_000 });
    // How long that takes is the machine's matter; a page that cannot is told of below.
    await tab.page
      .locator('.react-flow__node, dialog[open]')
      .first()
      .waitFor({ timeout: 30_000 })
      .catch(() => undefined);
    const wrong = await soon(async () => {
      const now = await shown(tab);
      if (!now.ready) return `${flow.mark} does not open`;
      if (now.dialog) {
        walk.finding('conflict', `opened again, ${flow.mark} asks about another hand, and there is none`);
        await tab.page.locator('dialog[open] .foot .btn.pri').last().click();
        return 'a conflict with oneself';
      }
      if (!now.far && !agrees(flow.doc, now.doc)) return `opened again, ${flow.mark} is otherwise: ${differ(flow.doc, now.doc, now.doc)}`;
      const kept = await stored(walk.world, flow.id);
      return same(kept.doc, flow.doc) ? null : `opened again, ${flow.mark} is not stored: ${differ(flow.doc, kept.doc)}`;
    });
    if (wrong) walk.finding('document', wrong);
    await tab.page.close();
  }
}

export async function check(walk, context, tabs) {
  walk.line.set('fine');
  await Promise.all(tabs.map((tab) => tab.page.evaluate(() => window.dispatchEvent(new Event('focus'))).catch(() => undefined)));
  await pause(1200);
  for (const tab of tabs) {
    await tab.page.bringToFront();
    await open(walk, tab);
    await rests(walk, tab);
    await belongs(walk, tab);
    await forms(walk, tab);
  }
  if (walk.findings.length) return;
  for (const tab of tabs) await tab.page.close({ runBeforeUnload: false });
  await reopened(walk, context);
}

/** Owns one tab: what it shows, what hands did in it, and what it asks of the host; a request to something else than what is on screen is a finding. */
import { docOf, same } from './world.mjs';

/** The words of the pages that a walk reads; its pages are in English. */
export const WORDS = { undo: 'Undo', redo: 'Redo', reading: 'open in another tab', unsaved: 'Unsaved changes' };

export async function openTab(context, walk, n) {
  const page = await context.newPage();
  const tab = { n, page, form: walk.world.forms[n], tool: walk.world.tools[n], resumed: [], answered: [], puts: new Map() };
  const { finding } = walk;
  page.on('dialog', (dialog) => void dialog.accept().catch(() => undefined));
  page.on('pageerror', (e) => finding('page error', `${e.message} ${String(e.stack).split('\n')[1] ?? ''}`));
  page.on('console', (m) => {
    // The browser itself tells of what the line did.
    if (m.type() === 'error' && !/Failed to load resource|net::ERR/.test(m.text())) finding('console', m.text());
  });
  page.on('request', (request) => asked(tab, walk, request));
  page.on('response', (response) => void answered(walk, response).catch(() => undefined));
  return tab;
}

/** Null while there is no page of the studio to ask. */
const inPage = (tab, what, arg) => tab.page.evaluate(what, arg).catch(() => null);
export const look = (tab) => inPage(tab, () => window.walk?.look() ?? null);
export const frames = (tab, many) => inPage(tab, (n) => window.walk?.frames(n), many);
export const rests = (tab) => inPage(tab, () => window.walk?.rests() ?? false);
export const focus = (tab, selector, how) => inPage(tab, ([s, h]) => window.walk?.focus(s, h) ?? false, [selector, how]);
export const inspect = (tab, id) => inPage(tab, (node) => window.walk?.inspect(node) ?? false, id);

/** Presses what is there and can be hit; what was pressed, or null. */
export async function press(tab, selector, how = {}) {
  const at = await inPage(tab, ([s, h]) => window.walk?.point(s, h) ?? null, [selector, how]);
  if (at) await tab.page.mouse.click(at.x, at.y);
  return at;
}

/** What hands did since, and what it means for what is expected. */
export async function learn(walk, tab) {
  const all = (await inPage(tab, () => window.walk?.did() ?? [])) ?? [];
  for (const one of all) LESSONS[one.what](walk, tab, one);
}

const LESSONS = {
  document(walk, tab, { id, before, after, barred, by }) {
    const flow = walk.world.flows.find((f) => f.id === id);
    if (!flow) return;
    if (barred) walk.finding('barred', `${by} changed ${flow.mark} ${barred}: ${differ(before, after)}`);
    const doc = { ...flow.doc };
    for (const key of Object.keys({ ...before, ...after }))
      if (before[key] !== after[key]) {
        if (key in after) doc[key] = after[key];
        else delete doc[key];
      }
    flow.touched = true;
    if (same(doc, flow.doc)) return;
    flow.doc = doc;
    flow.log.push(doc);
  },
  title(walk, tab, { node, title, held }) {
    walk.finding('typed', `“${title}” was typed as the name of ${node}, which is ${held}`);
  },
  form(walk, tab, { kind, id, before, after }) {
    const form = [tab.form, tab.tool].find((f) => f.id === id);
    if (!form) return;
    if (form.typed !== null && before !== form.typed && !form.was.has(form.typed))
      walk.finding('form', `${kind} form of tab ${tab.n} came to show “${before}” under the hands, typed was “${form.typed}”`);
    form.typed = after;
  },
  answer(walk, tab, at) {
    tab.answered.push(at);
  },
  say(walk, tab, { id, text, thread, held }) {
    const unnamed = thread === null && held === null;
    if (!unnamed) tab.began = null;
    else if (tab.began?.id !== id) tab.began = { id, at: Date.now() };
    const meant = { message: text, kind: 'chat', id, thread, held, began: tab.began?.at };
    walk.meant.set(text, meant);
    judge(walk, text);
  },
  run(walk, tab, { id, text }) {
    walk.meant.set(text, { kind: 'run', id });
    judge(walk, text);
  },
};

/** Whichever is known first, the request or what hands did, waits for the other. */
function judge(walk, message) {
  const [meant, sent] = [walk.meant.get(message), walk.sent.get(message)];
  if (!meant || !sent) return;
  if (meant.id !== sent.id)
    walk.finding(meant.kind === 'run' ? 'another run' : 'another thread', `“${message}” was written at ${meant.id}, sent to ${sent.id}`);
  // A session that has just got its id may be told it before the address is; one that has none yet gets it by its first message.
  const own = meant.thread === null && (sent.thread === meant.held || (meant.began && bornAt(sent.thread) > meant.began - 5000));
  if (meant.kind === 'chat' && sent.thread !== meant.thread && !own)
    walk.finding('another thread', `“${message}” was written under ${meant.thread}, sent to ${sent.thread}`);
}

/** The time in an id of version 7. */
const bornAt = (id) => parseInt(id.replace('-', '').slice(0, 12), 16);

/** What was resumed is what was answered. */
export async function judgeAnswers(walk, tab) {
  for (const trace of tab.resumed) {
    const { trace: run } = (await walk.world.api(`/api/runs/${trace}?snapshots=none`).catch(() => null)) ?? {};
    const fits = (a) => (a.kind === 'workflows' ? a.trace === trace : !run || a.thread === run.thread_id);
    if (!tab.answered.some(fits))
      walk.finding(
        'another run',
        `${trace} of ${run?.thread_id} was resumed, answered was ${tab.answered.map((a) => a.trace ?? a.thread).join(', ') || 'nothing'}`,
      );
  }
}

const within = (url) => new URL(url).pathname.replace(/^\/studio/, '');

function asked(tab, walk, request) {
  if (request.method() === 'GET') return;
  const { world, finding } = walk;
  const path = within(request.url());
  const body = () => {
    try {
      return request.postDataJSON() ?? {};
    } catch {
      return {};
    }
  };
  const draft = /^\/api\/workflows\/([^/]+)\/draft$/.exec(path);
  if (draft && request.method() === 'PUT') {
    const flow = world.flows.find((f) => f.id === draft[1]);
    tab.puts.set(draft[1], (tab.puts.get(draft[1]) ?? 0) + 1);
    const ids = Object.keys(docOf(body().graph));
    if (flow && ids.some((id) => /_[ab]$/.test(id) && !id.endsWith(`_${flow.mark}`)))
      finding('another workflow', `the document of another workflow was sent as the draft of ${flow.mark}: ${ids.join(' ')}`);
    else if (flow && !flow.hands) finding('another workflow', `a draft of ${flow.mark} was sent, which nobody has edited`);
  }
  const save = /^\/api\/workflows\/([^/]+)\/draft\/save$/.exec(path);
  if (save) {
    const flow = world.flows.find((f) => f.id === save[1]);
    if (flow) request.since = flow.presses.length ? flow.presses.shift() : flow.log.length - 1;
  }
  const run = /^\/workflows\/([^/]+)\/run\/stream$/.exec(path);
  const chat = /^\/agents\/([^/]+)\/chat\/stream$/.exec(path);
  if (run || chat) {
    const { message, thread_id } = body();
    const key = request.headers()['idempotency-key'];
    const before = walk.sent.get(message);
    // No hand says the same twice; what was refused is in the box again, and is written over.
    if (before && before.key !== key) finding('twice', `“${message}” was sent twice, each as something of its own`);
    walk.sent.set(message, { id: (run ?? chat)[1], thread: thread_id ?? null, key });
    judge(walk, message);
  }
  const resume = /\/(?:traces|runs)\/([^/]+)\/resume\/stream$/.exec(path);
  if (resume) tab.resumed.push(resume[1]);
}

async function answered({ world }, response) {
  const request = response.request();
  const save = /^\/api\/workflows\/([^/]+)\/draft\/save$/.exec(within(request.url()));
  if (!save || !response.ok()) return;
  const flow = world.flows.find((f) => f.id === save[1]);
  const made = docOf((await response.json()).graph);
  // What was typed last may not be known yet: it is looked at once the step is done.
  flow?.versions.push({ made, since: request.since });
}

/** A version has what was on screen when it was asked for, or what was made of it since. */
export function judgeVersions({ world, finding }) {
  for (const flow of world.flows)
    for (const { made, since } of flow.versions.splice(0))
      if (!flow.log.slice(since).some((d) => same(d, made)))
        finding('version', `version of ${flow.mark} lacks what was typed before it was saved: ${differ(flow.log[since], made)}`);
}

export const differ = (want, got, among = { ...want, ...got }) =>
  Object.keys(among)
    .filter((k) => want?.[k] !== got?.[k])
    .map((k) => `${k}: ${want?.[k] ?? 'no such node'} ≠ ${got?.[k] ?? 'no such node'}`)
    .join(', ');

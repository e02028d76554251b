/** Owns one tab: where it is, what it shows, and what it asks of the host; a request to something else than what is on screen is a finding. */
import { docOf, same } from './world.mjs';

/** The words of the pages that a walk reads; its pages are in English. */
export const WORDS = { undo: 'Undo', redo: 'Redo', reading: 'open in another tab', unsaved: 'Unsaved changes' };

export async function openTab(context, world, front, n, finding) {
  const page = await context.newPage();
  page.setDefaultTimeout(900);
  const tab = { n, page, front, edited: new Set(), form: world.forms[n], tool: world.tools[n], trusted: new Set() };
  page.on('dialog', (dialog) => void dialog.accept().catch(() => undefined));
  page.on('pageerror', (e) => finding('page error', `${e.message} ${String(e.stack).split('\n')[1] ?? ''}`));
  page.on('console', (m) => {
    // The browser itself tells of what the line did.
    if (m.type() === 'error' && !/Failed to load resource|net::ERR/.test(m.text())) finding('console', m.text());
  });
  page.on('request', (request) => asked(tab, world, request, finding));
  page.on('response', (response) => void answered(tab, world, response, finding).catch(() => undefined));
  return tab;
}

const within = (url) => new URL(url).pathname.replace(/^\/studio/, '');

export function where(tab) {
  const url = new URL(tab.page.url());
  const path = url.pathname.replace(/^\/studio/, '');
  const [, kind, id, sub] = path.split('/');
  if (kind === 'workflows' && sub === 'edit') return { kind: 'editor', id, trace: url.searchParams.get('trace') };
  if (kind === 'agents' && sub === 'playground') return { kind: 'play', id, thread: url.searchParams.get('thread') };
  if ((kind === 'agents' || kind === 'tools') && id) return { kind: 'form', id };
  return { kind: kind || 'none', id };
}

function asked(tab, world, request, finding) {
  if (request.method() === 'GET') return;
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
    const ids = Object.keys(docOf(body().graph));
    if (flow && ids.some((id) => /_[ab]$/.test(id) && !id.endsWith(`_${flow.mark}`)))
      finding('another workflow', `the document of another workflow was sent as the draft of ${flow.mark}: ${ids.join(' ')}`);
    else if (flow && !flow.touched) finding('another workflow', `a draft of ${flow.mark} was sent, which nobody has edited`);
  }
  const save = /^\/api\/workflows\/([^/]+)\/draft\/save$/.exec(path);
  if (save) {
    const flow = world.flows.find((f) => f.id === save[1]);
    if (flow) request.since = flow.presses.length ? flow.presses.shift() : flow.log.length - 1;
  }
  const run = /^\/workflows\/([^/]+)\/run\/stream$/.exec(path);
  const chat = /^\/agents\/([^/]+)\/chat\/stream$/.exec(path);
  if (run || chat) {
    const meant = world.sent.get(body().message);
    if (!meant) return;
    if (run && meant.id !== run[1]) finding('another run', `${body().message} was written at workflow ${meant.id}, sent to ${run[1]}`);
    if (chat && meant.id !== chat[1]) finding('another thread', `${body().message} was written to agent ${meant.id}, sent to ${chat[1]}`);
    if (chat && (body().thread_id ?? null) !== meant.thread)
      finding('another thread', `${body().message} was written under ${meant.thread}, sent to ${body().thread_id}`);
  }
  const resume = /\/(?:traces|runs)\/([^/]+)\/resume\/stream$/.exec(path);
  if (resume && tab.answers && tab.answers !== resume[1]) finding('another run', `${tab.answers} was answered, ${resume[1]} was resumed`);
}

async function answered(tab, world, response, finding) {
  const request = response.request();
  const path = within(request.url());
  const save = /^\/api\/workflows\/([^/]+)\/draft\/save$/.exec(path);
  if (save && response.ok()) {
    const flow = world.flows.find((f) => f.id === save[1]);
    const made = docOf((await response.json()).graph);
    if (flow && !flow.log.slice(request.since).some((d) => same(d, made)))
      finding('version', `version of ${flow.mark} lacks what was typed before it was saved: ${differ(flow.log[request.since], made)}`);
  }
  const put = /^\/api\/(agents|tools)\/([^/]+)$/.exec(path);
  if (put && request.method() === 'PUT' && response.ok()) {
    const form = [...world.forms, ...world.tools].find((f) => f.id === put[2]);
    const sent = request.postDataJSON();
    const value = put[1] === 'agents' ? sent.instructions : sent.description;
    if (form) {
      form.stored = value;
      if (form.may.length === 1 && form.may[0] === value) {
        form.dirty = false;
        // Somebody else saved after this was stored, and before its answer was heard.
        if (form.theirsAt > request.timing().startTime) form.may = [...form.may, form.theirs];
      }
    }
  }
}

export const differ = (want, got, among = { ...want, ...got }) =>
  Object.keys(among)
    .filter((k) => want?.[k] !== got?.[k])
    .map((k) => `${k}: ${want?.[k] ?? 'no such node'} ≠ ${got?.[k] ?? 'no such node'}`)
    .join(', ');

/** What the editor shows once it is drawn. */
export const shown = (tab) =>
  tab.page.evaluate(
    (reading) =>
      new Promise((tell) => {
        const look = () => {
          const nodes = [...document.querySelectorAll('.react-flow__node[data-id]')];
          const mode = document.querySelector('.top [role=radio][aria-checked=true]')?.textContent ?? '';
          tell({
            ready: nodes.length > 0 && !document.querySelector('#page .skel'),
            design: /Design/.test(mode),
            reading: [...document.querySelectorAll('.strip')].some((s) => s.textContent.includes(reading)),
            dialog: !!document.querySelector('dialog[open]'),
            note: document.querySelector('.savednote')?.textContent ?? '',
            doc: Object.fromEntries(
              nodes.map((n) => [n.dataset.id, n.querySelector('.n b.trunc')?.textContent ?? '']).filter(([id]) => !id.startsWith('note_')),
            ),
            far: !!document.querySelector('.react-flow__node .n.lod'),
          });
        };
        requestAnimationFrame(() => requestAnimationFrame(look));
        setTimeout(look, 2000);
      }),
    WORDS.reading,
  );

/** What the editor shows once it shows the same twice. */
export async function still(tab, as = () => true) {
  let last = await shown(tab);
  for (let n = 0; n < 12; n++) {
    await new Promise((done) => setTimeout(done, n ? 100 : 40));
    const next = await shown(tab);
    if (same(next.doc, last.doc) && as(next)) return next;
    last = next;
  }
  return last;
}

export const hidden = (tab) => tab.page.evaluate(() => document.querySelector('main span[hidden]')?.textContent ?? '').catch(() => '');

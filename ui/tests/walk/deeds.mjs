/**
 * Owns what a person or an accident may do at any time; each takes what the tab shows and three numbers by which it chooses, and says what it did, or
 * null where hands could not do it just now.
 */
import { pick } from './chance.mjs';
import { LINES } from './faults.mjs';
import { focus, frames, inspect, learn, look, press, WORDS } from './tab.mjs';
import { apart, before, comesToRest } from './checks.mjs';
import { cross, early, hop, hurry, leave, meanwhile, refused, signOut } from './crossings.mjs';

export const flowAt = (walk, now) =>
  (now.kind === 'editor' && now.ready && !now.dialog && walk.world.flows.find((f) => f.id === now.id)) || null;
const node = (id) => `.react-flow__node[data-id="${id}"] .n`;
const ON_NODE = { dx: 20, dy: 8 };

export async function rename(walk, tab, now, [a, b, c]) {
  const flow = flowAt(walk, now);
  if (!flow || !now.design || now.reading) return null;
  await before(walk, tab, flow);
  const id = pick(Object.keys(now.drawn), a);
  if (!(await press(tab, node(id), ON_NODE))) return null;
  // Before the first letter: what is sent from now on was typed.
  flow.hands = true;
  if (!(await inspect(tab, id))) return null;
  const title = `T${walk.word()}`;
  if (b < 0.6) await tab.page.keyboard.insertText(title);
  else await tab.page.keyboard.type(title, { delay: (c * 60) / walk.pace });
  // The page tells of its last letters before anything else is done, such as leaving it.
  await learn(walk, tab);
  return `named ${id} ${title}`;
}

async function keys(walk, tab, now, [a, b]) {
  const flow = flowAt(walk, now);
  if (!flow) return null;
  await before(walk, tab, flow);
  const names = Object.keys(now.drawn);
  const key = pick(['Control+d', 'Control+d', 'Delete', 'Backspace', 'Control+x', 'Control+v', 'Alt+ArrowDown', 'Control+z'], b);
  const keeps = names.length > 5 ? names.filter((n) => !/_[ab]$/.test(n)) : names;
  const id = pick(/Delete|Backspace|x$/.test(key) ? keeps : names, a);
  if (id === undefined || !(await press(tab, node(id), ON_NODE))) return null;
  if (now.design && !now.reading) flow.hands = true;
  if (!(await focus(tab, '#canvas'))) return null;
  await tab.page.keyboard.press(key);
  return `${key} on ${id}${now.design ? '' : ', not in design'}${now.reading ? ', only reading' : ''}`;
}

async function history(walk, tab, now, [a]) {
  const flow = flowAt(walk, now);
  if (!flow || now.reading || !now.design) return null;
  await before(walk, tab, flow);
  flow.hands = true;
  const name = a < 0.65 ? WORDS.undo : WORDS.redo;
  return (await press(tab, `.top [aria-label^="${name}"]`)) && name;
}

async function mode(walk, tab, now, [a]) {
  const name = pick(['Design', 'Design', 'Run', 'History'], a);
  return flowAt(walk, now) && (await press(tab, '.top [role=radio]', { text: name })) && `mode ${name}`;
}

/** Half of the time one types on while it is saved. */
async function version(walk, tab, now, [, b]) {
  const flow = flowAt(walk, now);
  if (!flow || now.reading) return null;
  await before(walk, tab, flow);
  flow.presses.push(flow.log.length - 1);
  await tab.page.keyboard.press('Control+s');
  if (b < 0.5 || !now.design || !(await focus(tab, '#inspector [data-field="title"] input', 'all'))) return 'save version';
  flow.hands = true;
  const title = `T${walk.word()}`;
  await tab.page.keyboard.insertText(title);
  return `save version and type ${title}`;
}

async function takeOver(walk, tab, now) {
  if (!flowAt(walk, now) || !now.reading) return null;
  return (await press(tab, '.strip .btn', { text: 'here' })) && 'take over';
}

export async function run(walk, tab, now) {
  if (!flowAt(walk, now) || !(await focus(tab, '#composer', 'all'))) return null;
  const message = `run ${walk.word()}`;
  await tab.page.keyboard.insertText(message);
  await tab.page.keyboard.press('Enter');
  return message;
}

/** Approves, rejects or answers whatever asks. */
async function answer(walk, tab, now, [a]) {
  if (!now.asks || now.dialog) return null;
  if (a < 0.3 && (await press(tab, '.appr .btn:not(.pri)'))) return 'answer otherwise';
  if (await press(tab, '.appr .btn.pri')) return 'answer';
  if (!(await focus(tab, '.appr textarea', 'all'))) return null;
  await tab.page.keyboard.insertText(`order ${walk.word()}`);
  return (await press(tab, '.appr .btn.pri')) && 'answer with a text';
}

const stop = async (walk, tab) =>
  (await press(tab, '.comp .btn:has(.lucide-square), .cmpz .btn:has(.lucide-circle-stop)', { last: true })) && 'stop';

const section = (tab, name) => press(tab, `nav a[href$="/${name}"]:not(.brand)`, { last: true });
async function openFlow(walk, tab, now, [a]) {
  const flow = pick(walk.world.flows, a);
  if (await press(tab, `a.rowlink[href*="${flow.id}"]`)) return `open ${flow.mark}`;
  return now.kind === 'workflows' ? null : (await section(tab, 'workflows')) && 'go to workflows';
}
async function go(walk, tab, now, [a]) {
  const name = pick(['workflows', 'agents', 'tools', 'traces', 'usage'], a);
  return (await section(tab, name)) && `go to ${name}`;
}
export const follow = (tab, to) =>
  tab.page
    .evaluate((path) => history.pushState(null, '', path), to)
    .then(() => true)
    .catch(() => false);
async function openForm(walk, tab, now, [a, b]) {
  const [kind, form] = a < 0.6 ? ['agents', tab.form] : ['tools', tab.tool];
  if (now.dialog) return null;
  // By the list as a person does, or by a link from elsewhere.
  if (b < 0.7) return (await follow(tab, `/studio/${kind}/${form.id}`)) && `follow a link to the form of ${kind}`;
  return (await press(tab, `a.rowlink[href*="${form.id}"]`)) ? `open ${kind}` : (await section(tab, kind)) && `go to ${kind}`;
}
async function openChat(walk, tab, now, [a]) {
  if (now.dialog) return null;
  const { talker, clerk } = walk.world;
  return (await follow(tab, `/studio/agents/${(a < 0.6 ? talker : clerk).id}/playground`)) && 'follow a link to a playground';
}
const back = async (walk, tab, now, [a]) => {
  const by = a < 0.7 ? -1 : 1;
  const went = await tab.page.evaluate((far) => {
    const { navigation } = window;
    if (far < 0 ? !navigation.canGoBack : !navigation.canGoForward) return false;
    history.go(far);
    return true;
  }, by);
  if (!went) return null;
  return by < 0 ? 'back' : 'forward';
};

export const formAt = (tab, now) => (now?.kind === 'form' && [tab.form, tab.tool].find((f) => f.id === now.id)) || null;

/** What is typed is shown and told to be unsaved, or was stored. */
export function checkForm(walk, tab, form, now) {
  if (form.typed === null || now.value === null || now.value === form.typed) return;
  if (!now.marked && form.was.has(form.typed)) return;
  walk.finding('form', `${now.of} form of tab ${tab.n} shows “${now.value}”, typed was “${form.typed}”`);
}
async function type(walk, tab, now, [a]) {
  const form = formAt(tab, now);
  if (!form || now.dialog || now.value === null) return null;
  checkForm(walk, tab, form, now);
  if (!(await focus(tab, 'form', 'end'))) return null;
  const word = ` ${walk.word()}`;
  if (a < 0.5) await tab.page.keyboard.insertText(word);
  else await tab.page.keyboard.type(word, { delay: 15 });
  return `typed${word}`;
}
async function saveForm(walk, tab, now, [a]) {
  const form = formAt(tab, now);
  if (!form || now.dialog || now.value === null) return null;
  checkForm(walk, tab, form, now);
  await tab.page.keyboard.press('Control+s');
  if (a < 0.5 || !(await focus(tab, 'form', 'end'))) return 'save the form';
  const word = ` ${walk.word()}`;
  await tab.page.keyboard.insertText(word);
  return `save the form and type${word}`;
}
/** A workflow with a name of its own; where no answer comes, the dialog asks again. */
async function create(walk, tab, now) {
  if (now.kind !== 'workflows' || now.dialog || !(await press(tab, '.top .btn.pri', { last: true }))) return null;
  await frames(tab, 2);
  if (!(await focus(tab, 'dialog[open] input', 'all'))) return null;
  const name = `Made ${walk.word()}`;
  walk.made.add(name);
  await tab.page.keyboard.insertText(name);
  await tab.page.keyboard.press('Enter');
  return `make ${name}`;
}
/** Somebody else saves the same thing. */
export async function changeTheirs(walk, kind, form) {
  const value = `theirs ${walk.word()}`;
  const key = kind === 'agents' ? 'instructions' : 'description';
  form.was.add(value);
  await walk.world.api(`/api/${kind}/${form.id}`, { method: 'PATCH', body: JSON.stringify({ [key]: value }) });
}
async function theirs(walk, tab, now, [a]) {
  const [kind, form] = a < 0.6 ? ['agents', tab.form] : ['tools', tab.tool];
  if (walk.hostDown) return null;
  await changeTheirs(walk, kind, form);
  return `${kind} changed by somebody else`;
}

async function dialog(walk, tab, now, [a]) {
  if (!now.dialog) return null;
  const form = formAt(tab, now);
  const flow = now.kind === 'editor' && walk.world.flows.find((f) => f.id === now.id);
  const box = await tab.page.evaluate(() => {
    const open = [...document.querySelectorAll('dialog[open]')].at(-1);
    return open && { text: open.textContent, many: open.querySelectorAll('.foot .btn:not([disabled])').length };
  });
  if (!box) return null;
  if (flow && /Someone else/.test(box.text)) walk.finding('conflict', `one is asked about another hand in ${flow.mark}, and there is none`);
  if (a < 0.35 || !box.many) {
    await tab.page.keyboard.press('Escape');
    return 'escape';
  }
  const nth = Math.min(box.many - 1, Math.floor(((a - 0.35) / 0.65) * box.many));
  const hit = await press(tab, 'dialog[open] .foot .btn:not([disabled])', { nth });
  if (!hit) return null;
  // What was typed is given up; a form that was left has it still.
  if (form && /theirs|Discard/i.test(hit.name)) form.typed = null;
  return `dialog: ${hit.name}`;
}

export async function say(walk, tab, first, [a]) {
  let now = first;
  // Who has just chosen a session sees it before writing: until then the box is that of the one before.
  for (let n = 0; n < 12 && now.kind === 'play' && now.talk !== now.thread; n++) {
    await frames(tab, 3);
    now = (await look(tab)) ?? now;
  }
  if (now.kind !== 'play' || now.dialog || !(await focus(tab, '#chatbox', 'all'))) return null;
  const message = `say ${walk.word()}`;
  await tab.page.keyboard.insertText(message);
  await tab.page.keyboard.press('Enter');
  // Half of the time another session is chosen while this one answers.
  const other = a < 0.5 && (await press(tab, '.tl2 .ti', { nth: Math.floor(a * 6) }));
  // While it answers, what was chosen comes all the same.
  if (other) await apart(walk, tab);
  return `${message} in ${now.thread}${other ? ', then another session' : ''}`;
}
async function session(walk, tab, now, [a]) {
  if (now.kind !== 'play') return null;
  if (a < 0.2) return (await press(tab, '.top .btn.pri')) && 'new session';
  const nth = Math.floor(((a - 0.2) / 0.8) * (await tab.page.locator('.tl2 .ti').count()));
  return (await press(tab, '.tl2 .ti', { nth })) && 'another session';
}

async function reload(walk, tab) {
  if (walk.hostDown) return null;
  for (const form of [tab.form, tab.tool]) form.typed = null;
  await tab.page.reload({ waitUntil: 'commit', timeout: 600_000 });
  return 'reload';
}
const line = async (walk, tab, now, [a]) => {
  const how = pick([...LINES, 'fine', 'slow', 'slow', 'late', 'late'], a);
  walk.line.set(how);
  return `the line is ${how}`;
};
const restart = async (walk, tab, now, [a]) => {
  walk.hostDown = true;
  await walk.host.kill();
  if (a < 0.4) await frames(tab, 10);
  await walk.host.up();
  walk.hostDown = false;
  return 'the host was killed and started again';
};

const any = [
  [0.7, 'wait'],
  [1.2, 'hop'],
  [1, 'line'],
  [0.5, 'fine'],
  [0.15, 'restart'],
  [0.5, 'theirs'],
  [1, 'reload'],
  [1.5, 'back'],
];

/** How often each is done where a tab is. */
export const WEIGHTS = {
  editor: [
    [11, 'rename'],
    [2, 'leave'],
    [1.5, 'early'],
    [0.8, 'hurry'],
    [0.6, 'refused'],
    [0.8, 'signOut'],
    [4, 'keys'],
    [5, 'history'],
    [3, 'mode'],
    [4, 'version'],
    [5, 'takeOver'],
    [2, 'run'],
    [6, 'answer'],
    [1, 'stop'],
    [3, 'openFlow'],
    [1, 'go'],
    [0.7, 'openForm'],
    [0.7, 'openChat'],
    ...any,
  ],
  form: [
    [8, 'type'],
    [5, 'saveForm'],
    [4, 'meanwhile'],
    [1, 'openFlow'],
    [1, 'go'],
    [1.5, 'openForm'],
    [0.5, 'openChat'],
    [1.5, 'theirs'],
    ...any,
  ],
  play: [
    [8, 'say'],
    [6, 'session'],
    [4, 'cross'],
    [3, 'answer'],
    [2, 'stop'],
    [1, 'refused'],
    [1, 'signOut'],
    [1, 'openFlow'],
    [0.7, 'openForm'],
    ...any,
  ],
  other: [[6, 'openFlow'], [1, 'create'], [3, 'openForm'], [2, 'openChat'], [1, 'go'], ...any],
};
export const DEEDS = {
  rename,
  leave,
  keys,
  history,
  mode,
  version,
  takeOver,
  run,
  answer,
  stop,
  openFlow,
  hop,
  hurry,
  early,
  meanwhile,
  cross,
  refused,
  signOut,
  wait: (walk, tab) => comesToRest(walk, tab),
  go,
  openForm,
  openChat,
  back,
  type,
  saveForm,
  theirs,
  create,
  dialog,
  say,
  session,
  reload,
  line,
  fine: (walk, tab, now) => line(walk, tab, now, [0]),
  restart,
};

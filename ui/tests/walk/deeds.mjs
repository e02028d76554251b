/** Owns what a person or an accident may do at any time; each takes three numbers by which it chooses, and says what it did, or null. */
import { pick } from './chance.mjs';
import { LINES } from './faults.mjs';
import { differ, hidden, shown, still, where, WORDS } from './tab.mjs';
import { agrees, same } from './world.mjs';

const editorOf = async (walk, tab) => {
  const at = where(tab);
  const flow = at.kind === 'editor' && walk.world.flows.find((f) => f.id === at.id);
  if (!flow) return null;
  const now = await shown(tab).catch(() => null);
  if (!now?.ready || now.dialog || (await hidden(tab)) !== flow.id) return null;
  return { flow, now };
};

/** What one is about to change has to be what was there before. */
async function before(walk, tab, { flow, now }) {
  if (now.far || now.reading || !now.design || agrees(flow.doc, now.doc)) return;
  const then = await still(tab, (s) => agrees(flow.doc, s.doc));
  if (then.far || then.reading || !then.design || !then.ready || (await hidden(tab)) !== flow.id) return;
  if (!agrees(flow.doc, then.doc))
    walk.finding('another document', `tab ${tab.n} shows ${flow.mark} otherwise: ${differ(flow.doc, then.doc, then.doc)}`);
}

/** What was done to the drawn nodes was done to the document. */
async function learn(walk, tab, flow, was) {
  const after = await still(tab);
  if (!after.ready || after.far || after.reading || (await hidden(tab)) !== flow.id) return;
  const doc = { ...flow.doc, ...after.doc };
  for (const id of Object.keys(was.doc)) if (!(id in after.doc)) delete doc[id];
  if (same(doc, flow.doc)) return;
  flow.doc = doc;
  flow.log.push(doc);
  flow.touched = true;
  tab.edited.add(flow.id);
}

async function rename(walk, tab, [a, b, c], at) {
  if (!at || !at.now.design || at.now.reading) return null;
  await before(walk, tab, at);
  const { flow } = at;
  const id = pick(Object.keys(at.now.doc), a);
  const title = `T${walk.word()}`;
  const input = tab.page.locator('#inspector [data-field="title"] input');
  await tab.page
    .locator(`.react-flow__node[data-id="${id}"] .n`)
    .first()
    .click({ position: { x: 20, y: 8 } });
  // Before the first letter: what is sent from now on was typed.
  flow.touched = true;
  if (b < 0.6) await input.fill(title);
  else {
    await input.fill('');
    await input.pressSequentially(title, { delay: c * 60, timeout: 10_000 });
  }
  const after = await still(tab, (s) => s.doc[id] === title);
  if (after.reading || !after.ready || after.dialog) return null;
  if (after.doc[id] !== title && where(tab).id === flow.id && !after.far)
    walk.finding('typed', `${title} was typed as the name of ${id}, which shows ${after.doc[id]}`);
  await learn(walk, tab, flow, at.now);
  return `named ${id} ${title}`;
}

async function keys(walk, tab, [a, b], at) {
  if (!at) return null;
  await before(walk, tab, at);
  const names = Object.keys(at.now.doc);
  const key = pick(['Control+d', 'Control+d', 'Delete', 'Backspace', 'Control+x', 'Control+v', 'Alt+ArrowDown', 'Control+z'], b);
  const keeps = names.length > 5 ? names.filter((n) => !/_[ab]$/.test(n)) : names;
  const id = pick(/Delete|Backspace|x$/.test(key) ? keeps : names, a);
  await tab.page
    .locator(`.react-flow__node[data-id="${id}"] .n`)
    .first()
    .click({ position: { x: 20, y: 8 } });
  if (at.now.design && !at.now.reading) at.flow.touched = true;
  await tab.page.locator('#canvas').focus();
  await tab.page.keyboard.press(key);
  // In another mode than design, and while only reading, nothing may change.
  if (at.now.design && !at.now.reading) await learn(walk, tab, at.flow, at.now);
  return `${key} on ${id}${at.now.design ? '' : ', not in design'}`;
}

async function history(walk, tab, [a], at) {
  if (!at || at.now.reading || !at.now.design) return null;
  await before(walk, tab, at);
  const name = a < 0.65 ? WORDS.undo : WORDS.redo;
  const button = tab.page.locator(`.top [aria-label^="${name}"]`);
  if (await button.isDisabled()) return null;
  at.flow.touched = true;
  await button.click();
  await learn(walk, tab, at.flow, at.now);
  return name;
}

async function mode(walk, tab, [a]) {
  if (!(await editorOf(walk, tab))) return null;
  const name = pick(['Design', 'Design', 'Run', 'History'], a);
  await tab.page.locator('.top [role=radio]', { hasText: name }).click();
  return `mode ${name}`;
}

async function version(walk, tab) {
  const at = await editorOf(walk, tab);
  if (!at || at.now.reading) return null;
  await before(walk, tab, at);
  at.flow.presses.push(at.flow.log.length - 1);
  await tab.page.keyboard.press('Control+s');
  return 'save version';
}

async function takeOver(walk, tab) {
  const at = await editorOf(walk, tab);
  if (!at?.now.reading) return null;
  await tab.page.locator('.strip', { hasText: WORDS.reading }).locator('button').click();
  return 'take over';
}

async function run(walk, tab) {
  const at = await editorOf(walk, tab);
  if (!at) return null;
  const box = tab.page.locator('#composer');
  if (await box.isDisabled()) return null;
  const message = `run ${walk.word()}`;
  walk.world.sent.set(message, { id: at.flow.id });
  await box.fill(message);
  await box.press('Enter');
  return message;
}

/** Approves, rejects or answers whatever asks. */
async function answer(walk, tab, [a]) {
  const at = where(tab);
  if (at.kind !== 'editor' && at.kind !== 'play') return null;
  const ask = tab.page.locator('.appr').first();
  if (!(await ask.isVisible())) return null;
  tab.answers = at.kind === 'editor' ? at.trace : null;
  const button = ask.locator('.btn.pri');
  if (await button.isDisabled()) {
    const text = ask.locator('textarea').first();
    if (await text.isDisabled()) return null;
    await text.fill(`order ${walk.word()}`);
  }
  const others = ask.locator('.btn:not(.pri)');
  if (a < 0.3 && (await others.count())) await others.first().click();
  else await button.click();
  return 'answer';
}

const stop = async (walk, tab) => {
  const button = tab.page.locator('.comp [aria-label="Stop"], .cmpz .btn', { hasText: /Stop|^$/ }).filter({ visible: true });
  if (!(await button.count())) return null;
  await button.last().click();
  return 'stop';
};

const section = async (tab, name) => {
  await tab.page.locator(`nav a[href$="/${name}"]:not(.brand)`).last().click();
};
async function openFlow(walk, tab, [a]) {
  const flow = pick(walk.world.flows, a);
  const link = tab.page.locator(`a.rowlink[href*="${flow.id}"]`).first();
  if (!(await link.isVisible())) await section(tab, 'workflows');
  await link.click({ timeout: 2500 });
  return `open ${flow.mark}`;
}
async function go(walk, tab, [a]) {
  const name = pick(['workflows', 'agents', 'tools', 'traces', 'usage'], a);
  await section(tab, name);
  return `go to ${name}`;
}
async function openForm(walk, tab, [a]) {
  const [kind, form] = a < 0.6 ? ['agents', tab.form] : ['tools', tab.tool];
  const link = tab.page.locator(`a[href$="/${kind}/${form.id}"]`).first();
  if (!(await link.isVisible())) {
    await section(tab, kind);
    // An agent's row leads to its playground.
    if (kind === 'agents') await tab.page.locator(`a.rowlink[href*="${form.id}"]`).click({ timeout: 2500 });
  }
  await link.click({ timeout: 2500 });
  return `open the form of ${kind}`;
}
async function openChat(walk, tab) {
  await tab.page.evaluate((to) => history.pushState(null, '', to), `/studio/agents/${walk.world.talker.id}/playground`);
  return 'open the playground';
}
const back = async (walk, tab, [a]) => {
  const went = await tab.page.evaluate(
    (by) => {
      const { navigation } = window;
      if (by < 0 ? !navigation.canGoBack : !navigation.canGoForward) return false;
      history.go(by);
      return true;
    },
    a < 0.7 ? -1 : 1,
  );
  if (!went) return null;
  return a < 0.7 ? 'back' : 'forward';
};

export function formAt(tab) {
  const at = where(tab);
  if (at.kind !== 'form') return null;
  const form = at.id === tab.form.id ? tab.form : at.id === tab.tool.id ? tab.tool : null;
  return form && { form, kind: form === tab.form ? 'agents' : 'tools' };
}
export const formField = (tab, kind) =>
  kind === 'agents'
    ? tab.page.locator('.form textarea').first()
    : tab.page.locator('.form').getByLabel('Description', { exact: true }).first();

async function checkForm(walk, tab, form, kind) {
  const value = await formField(tab, kind).inputValue();
  if (!form.may.includes(value))
    walk.finding('form', `${kind} form of tab ${tab.n} shows “${value}”, typed was “${form.may.join('” or “')}”`);
  return value;
}
async function type(walk, tab, [a]) {
  const at = formAt(tab);
  const dialog = tab.page.locator('dialog[open]');
  if (!at || (await dialog.count()) || !(await formField(tab, at.kind).isVisible())) return null;
  const value = await checkForm(walk, tab, at.form, at.kind);
  const word = ` ${walk.word()}`;
  const field = formField(tab, at.kind);
  at.form.dirty = true;
  if (a < 0.5) {
    // On a slow machine it may come to nothing.
    at.form.may = [value, value + word];
    await field.fill(value + word);
    at.form.may = [value + word];
  } else {
    await field.focus();
    await tab.page.keyboard.press('Control+End');
    at.form.may = [value, value + word];
    await tab.page.keyboard.type(word, { delay: 15 });
    at.form.may = [value + word];
  }
  return `typed${word}`;
}
async function saveForm(walk, tab) {
  const at = formAt(tab);
  if (!at || (await tab.page.locator('dialog[open]').count()) || !(await formField(tab, at.kind).isVisible())) return null;
  await checkForm(walk, tab, at.form, at.kind);
  await tab.page.keyboard.press('Control+s');
  return 'save the form';
}
/** Somebody else saves the same thing. */
async function theirs(walk, tab, [a]) {
  const [kind, form] = a < 0.6 ? ['agents', tab.form] : ['tools', tab.tool];
  if (walk.hostDown) return null;
  const value = `theirs ${walk.word()}`;
  const key = kind === 'agents' ? 'instructions' : 'description';
  if (!form.dirty) form.may = [...form.may, value];
  form.theirs = value;
  form.theirsAt = Date.now();
  await walk.world.api(`/api/${kind}/${form.id}`, { method: 'PATCH', body: JSON.stringify({ [key]: value }) });
  return `${kind} changed by somebody else`;
}

const aboutConflict = async (box) => /Someone else/.test(await box.textContent());
async function dialog(walk, tab, [a]) {
  const box = tab.page.locator('dialog[open]').last();
  if (!(await box.count())) return null;
  const at = formAt(tab);
  const buttons = box.locator('.foot .btn:not([disabled])');
  const many = await buttons.count();
  if (a < 0.35 || !many) {
    await tab.page.keyboard.press('Escape');
    return 'escape';
  }
  const button = buttons.nth(Math.min(many - 1, Math.floor(((a - 0.35) / 0.65) * many)));
  const name = (await button.textContent()).trim();
  const editor = where(tab).kind === 'editor' ? walk.world.flows.find((f) => f.id === where(tab).id) : null;
  if (at && /theirs|Discard/i.test(name)) at.form.may = [...at.form.may, at.form.theirs ?? 'begin', at.form.stored ?? 'begin'];
  if (editor && (await aboutConflict(box)))
    walk.finding('conflict', `one is asked about another hand in ${editor.mark}, and there is none`);
  await button.click();
  if (editor && /theirs|copy/i.test(name)) editor.adopt = true;
  return `dialog: ${name}`;
}

async function say(walk, tab) {
  const at = where(tab);
  const box = tab.page.locator('#chatbox');
  if (at.kind !== 'play' || !(await box.isVisible()) || (await box.isDisabled())) return null;
  if (await tab.page.locator('.cmpz .btn', { hasText: 'Stop' }).count()) return null;
  const message = `say ${walk.word()}`;
  await box.fill(message);
  // What the list marks is what one writes to.
  const marked = await tab.page.evaluate(() => new URL(location.href).searchParams.get('thread'));
  walk.world.sent.set(message, { id: at.id, thread: marked });
  await box.press('Enter');
  return `${message} to ${marked}`;
}
async function session(walk, tab, [a]) {
  if (where(tab).kind !== 'play') return null;
  const list = tab.page.locator('.tl2 .ti');
  const many = await list.count();
  if (a < 0.2 || !many) {
    await tab.page.locator('.top .btn.pri').click();
    return 'new session';
  }
  await list.nth(Math.floor(((a - 0.2) / 0.8) * many)).click();
  return 'another session';
}

async function reload(walk, tab) {
  if (walk.hostDown) return null;
  const forms = [tab.form, tab.tool].filter((f) => f.dirty);
  for (const form of forms) {
    form.may = [...new Set([...form.may, form.stored ?? 'begin', ...(form.theirs ? [form.theirs] : [])])];
    form.dirty = false;
  }
  await tab.page.reload({ waitUntil: 'commit', timeout: 8000 });
  return 'reload';
}
const line = async (walk, tab, [a]) => {
  const how = pick([...LINES, 'fine', 'slow', 'slow', 'late', 'late'], a);
  walk.line.set(how);
  return `the line is ${how}`;
};
const restart = async (walk, tab, [a]) => {
  walk.hostDown = true;
  await walk.host.kill();
  if (a < 0.4) await new Promise((done) => setTimeout(done, 400));
  await walk.host.up();
  walk.hostDown = false;
  return 'the host was killed and started again';
};

const any = [
  [1, 'line'],
  [0.5, 'fine'],
  [0.15, 'restart'],
  [0.5, 'theirs'],
  [1, 'reload'],
  [1.5, 'back'],
];
/** What was half done when it could not go on was done too. */
const changing = (deed) => async (walk, tab, by) => {
  const at = await editorOf(walk, tab);
  try {
    return await deed(walk, tab, by, at);
  } catch (error) {
    if (at?.now.design && !at.now.reading) await learn(walk, tab, at.flow, at.now).catch(() => undefined);
    throw error;
  }
};

/** How often each is done where a tab is. */
export const WEIGHTS = {
  editor: [
    [12, 'rename'],
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
  form: [[10, 'type'], [6, 'saveForm'], [1, 'openFlow'], [1, 'go'], [1.5, 'openForm'], [0.5, 'openChat'], [1.5, 'theirs'], ...any],
  play: [[8, 'say'], [7, 'session'], [1.5, 'answer'], [2, 'stop'], [1, 'openFlow'], [0.7, 'openForm'], ...any],
  other: [[6, 'openFlow'], [3, 'openForm'], [2, 'openChat'], [1, 'go'], ...any],
};
export const DEEDS = {
  rename: changing(rename),
  keys: changing(keys),
  history: changing(history),
  mode,
  version,
  takeOver,
  run,
  answer,
  stop,
  openFlow,
  go,
  openForm,
  openChat,
  back,
  type,
  saveForm,
  theirs,
  dialog,
  say,
  session,
  reload,
  line,
  fine: (walk, tab) => line(walk, tab, [0]),
  restart,
};

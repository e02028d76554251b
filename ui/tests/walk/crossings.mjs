/**
 * Owns deeds that bring about what is rare by chance: an answer that comes when another page is there, a begin that is refused, a sign-in that ends while
 * a run is told. The line keeps back what has to come late, so that no clock says what comes first.
 */
import { pick } from './chance.mjs';
import { apart, comesToRest, inBox } from './checks.mjs';
import { changeTheirs, checkForm, flowAt, follow, formAt, rename, run, say } from './deeds.mjs';
import { focus, frames, learn, look, press } from './tab.mjs';

/** Waits until the tab is as it should be, at most for so many movements of the line. */
async function until(walk, tab, so, most = 24) {
  for (let n = 0; n < most; n++) {
    const now = await look(tab);
    if (now && so(now)) return now;
    await walk.line.moves(150 / walk.pace);
    await frames(tab, 1);
  }
  return null;
}

/** What was kept back comes, and is taken in; what it made of the page is judged there and then. */
async function arrives(walk, tab, hold) {
  await hold.letGo();
  await frames(tab, 4);
  await learn(walk, tab);
  await apart(walk, tab);
}

const opens = (flow, more = '') => `/studio/workflows/${flow.id}/edit${more}`;
const isOpen = (flow) => (now) => now.dialog || (now.id === flow.id && now.ready);

/** Goes to the other one while the last change is being sent; perhaps changes that one, too, before the answer comes. */
export async function leave(walk, tab, now, by) {
  const flow = flowAt(walk, now);
  if (!flow || !now.design || now.reading) return null;
  const other = walk.world.flows.find((f) => f.id !== now.id);
  const hold = walk.line.hold(new RegExp(`PUT .*/api/workflows/${now.id}/draft`), 3000);
  try {
    const what = await rename(walk, tab, now, by);
    if (!what) return null;
    await hold.seen;
    if (!(await follow(tab, opens(other)))) return null;
    const there = await until(walk, tab, isOpen(other));
    let more = '';
    if (there && by[2] < 0.5) more = ` and ${(await rename(walk, tab, there, [by[1], 0, 0])) ?? 'nothing'}`;
    const calm = there && !more && !there.reading && /saved|clean/.test(there.save);
    const puts = tab.puts.get(other.id) ?? 0;
    await arrives(walk, tab, hold);
    if (calm) {
      await comesToRest(walk, tab, 6);
      if ((tab.puts.get(other.id) ?? 0) > puts)
        walk.finding('another workflow', `tab ${tab.n} sent a draft of ${other.mark}, which nobody has edited since it was stored`);
    }
    return `${what}, then open ${other.mark} while it is sent${more}`;
  } finally {
    hold.letGo();
  }
}

/** Opens one, perhaps with a run of it, and another; what was asked for the first one is told once the other is there. */
export async function hop(walk, tab, now, [a, b, c]) {
  if (now.dialog) return null;
  const [one, two] = a < 0.5 ? walk.world.flows : walk.world.flows.toReversed();
  const runs = [...(walk.runs.get(one.id) ?? [])];
  const trace = c < 0.6 && runs.length ? pick(runs, b) : null;
  const what = trace && b < 0.8 ? `/api/runs/${trace}` : `/api/workflows/${one.id}${b % 0.1 < 0.06 ? '' : '/draft'}`;
  const hold = walk.line.hold(new RegExp(`GET .*${what}(\\?|$)`), 3000);
  try {
    if (!(await follow(tab, opens(one, trace ? `?trace=${trace}` : '')))) return null;
    await hold.seen;
    if (!(await follow(tab, opens(two)))) return null;
    await until(walk, tab, isOpen(two));
    await arrives(walk, tab, hold);
    return `open ${one.mark}${trace ? ` with ${trace}` : ''}, then ${two.mark}; then ${what} is told`;
  } finally {
    hold.letGo();
  }
}

/** Begins a run while the last change is being sent, and asks for it once more, or writes on: one is begun, and what is written stays. */
export async function hurry(walk, tab, now, by) {
  const flow = flowAt(walk, now);
  if (!flow || !now.design || now.reading || !(await tab.page.locator('#composer').count())) return null;
  const hold = walk.line.hold(new RegExp(`PUT .*/api/workflows/${now.id}/draft`), 3000);
  try {
    const what = await rename(walk, tab, now, by);
    const message = what && (await run(walk, tab, now, by));
    if (!message) return what;
    const more = by[1] < 0.4 ? null : `next ${walk.word()}`;
    if (more) await tab.page.keyboard.insertText(more);
    else await tab.page.keyboard.press('Enter');
    await hold.seen;
    await arrives(walk, tab, hold);
    if (more) await inBox(walk, tab, more, 'was written while another run was begun');
    return `${what} and ${message}, ${more ?? 'asked for twice'} while that is sent`;
  } finally {
    hold.letGo();
  }
}

/** Saves a version while the last change is being sent, perhaps with one that was made since: nobody else was there, and what was made is in it. */
export async function early(walk, tab, now, by) {
  const flow = flowAt(walk, now);
  if (!flow || !now.design || now.reading) return null;
  const hold = walk.line.hold(new RegExp(`PUT .*/api/workflows/${now.id}/draft`), 3000);
  try {
    let what = await rename(walk, tab, now, by);
    if (!what) return null;
    await hold.seen;
    if (by[1] < 0.6) what += `, ${(await rename(walk, tab, now, [by[2], 0, 0])) ?? 'nothing'} while that is sent`;
    await learn(walk, tab);
    if (by[2] < 0.7) {
      flow.presses.push(flow.log.length - 1);
      await tab.page.keyboard.press('Control+s');
      what += ', save version';
    }
    await frames(tab, 2);
    await arrives(walk, tab, hold);
    return `${what} before the answer comes`;
  } finally {
    hold.letGo();
  }
}

/** Saves a form, and types on before the answer comes; perhaps somebody else saves it first, and the question what to do about it is put off. */
export async function meanwhile(walk, tab, now, [a, b, c]) {
  const form = formAt(tab, now);
  if (!form || now.dialog || now.value === null) return null;
  checkForm(walk, tab, form, now);
  const hold = walk.line.hold(new RegExp(`PUT .*/api/${now.of}/${form.id}`), 2000);
  try {
    const words = [walk.word(), walk.word()];
    if (!(await focus(tab, 'form', 'end'))) return null;
    await tab.page.keyboard.insertText(` ${words[0]}`);
    if (a < 0.5) await changeTheirs(walk, now.of, form);
    await tab.page.keyboard.press('Control+s');
    await hold.seen;
    if (b < 0.7 && (await focus(tab, 'form', 'end'))) await tab.page.keyboard.insertText(` ${words[1]}`);
    await learn(walk, tab);
    await hold.letGo();
    const then = await until(walk, tab, (at) => at.dialog || !at.asked, 8);
    if (then?.dialog) {
      // Beside it or by its key: both put it off.
      if (c < 0.5) await tab.page.keyboard.press('Escape');
      else await tab.page.mouse.click(4, 4);
      await frames(tab, 4);
    }
    await learn(walk, tab);
    const last = await look(tab);
    if (last && !last.dialog && formAt(tab, last) === form) checkForm(walk, tab, form, last);
    return `typed ${words.join(' ')} while the form is saved${then?.dialog ? ' and somebody else has changed it' : ''}`;
  } finally {
    hold.letGo();
  }
}

const TALKS = [/GET .*\/api\/runs\/[0-9a-f-]{36}(\?|$)/, /GET .*\/chat\/threads\/[^/?]+(\?|$)/, /GET .*\/api\/threads\/[^/?]+(\?|$)/];

/** Chooses a session, one that waits where there is one, and another before it has come. */
export async function cross(walk, tab, now, [a, b, c]) {
  if (now.kind !== 'play' || now.dialog) return null;
  const many = await tab.page.locator('.tl2 .ti').count();
  const asking = await tab.page.locator('.tl2 .ti:has(u.w)').count();
  if (many < 2) return null;
  const hold = walk.line.hold(pick([TALKS[0], TALKS[0], ...TALKS], b), 2000);
  try {
    const [list, most] = asking ? ['.tl2 .ti:not(.on):has(u.w)', asking] : ['.tl2 .ti:not(.on)', many];
    if (!(await press(tab, list, { nth: Math.floor(a * Math.min(most, 4)) })) && !(await press(tab, list))) return null;
    const first = await until(walk, tab, (at) => at.thread !== now.thread, 6);
    if (!first) return null;
    await hold.seen;
    const other = '.tl2 .ti:not(.on)';
    if (!(await press(tab, other, { nth: Math.floor(c * Math.min(many - 1, 4)) })) && !(await press(tab, other))) return null;
    const second = await until(walk, tab, (at) => at.thread !== first.thread && at.talk === at.thread, 8);
    await arrives(walk, tab, hold);
    return `session ${first.thread}, then ${second?.thread ?? 'another'} before the first has come`;
  } finally {
    hold.letGo();
  }
}

const begins = (walk, tab, now, by) => (now.kind === 'play' ? say(walk, tab, now, [0.9]) : run(walk, tab, now, by));

/** A run or a turn that does not begin: none can be begun just now, or the network is gone. What cannot go on says so. */
export async function refused(walk, tab, now, by) {
  if (now.dialog || (now.kind === 'editor' && !flowAt(walk, now))) return null;
  const how = by[1] < 0.6 ? 'full' : 'off';
  const before = walk.line.how;
  walk.line.set(how);
  const asked = walk.line.sees(/POST .*\/stream/, 2000);
  const what = await begins(walk, tab, now, by);
  if (what) {
    await asked;
    await comesToRest(walk, tab, 40);
    await learn(walk, tab);
    if (how === 'full') await inBox(walk, tab, what.split(' in ')[0], 'was refused');
  }
  walk.line.set(before === how ? 'fine' : before);
  return what && `${what}, while the line is ${how}`;
}

/** The sign-in ends once a run is told: the run stays on the page, and what began it is not offered again. */
export async function signOut(walk, tab, now, by) {
  if (now.dialog || (now.kind === 'editor' && !flowAt(walk, now))) return null;
  walk.line.set('ends');
  const out = walk.line.sees(/GET .*\/events\/stream/, 3000);
  const what = await begins(walk, tab, now, by);
  if (what) {
    await out;
    await walk.line.moves(200 / walk.pace);
    await frames(tab, 4);
    const then = await look(tab);
    if (then?.offered) walk.finding('offered again', `tab ${tab.n} offers to send “${then.offered}” again, which has begun`);
  }
  walk.line.set('fine');
  await tab.page.evaluate(() => window.dispatchEvent(new Event('focus'))).catch(() => undefined);
  return what && `${what}, and the sign-in ends meanwhile`;
}

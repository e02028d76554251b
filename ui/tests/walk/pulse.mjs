/**
 * Owns what a page tells of itself while it is walked. It is put into the page, and reads what the page holds as well as what it draws: so that no
 * judgement depends on how fast either is. Waits of the page are shortened by `pace`.
 */
export function pulse({ pace, words }) {
  const later = window.setTimeout.bind(window);
  const forget = window.clearTimeout.bind(window);
  const ask = window.fetch.bind(window);
  /** Longer waits are no part of coming to rest. */
  const LONGEST = 8000;
  const timers = new Set();
  let asked = 0;
  // A promise that is waited for a while waits for another tab, which may be slow.
  const other = (go, ms) => ms >= 3000 && /\[native code\]/.test(Function.prototype.toString.call(go));
  window.setTimeout = (go, ms = 0, ...more) => {
    const id = later(
      () => {
        timers.delete(id);
        go(...more);
      },
      ms > 10_000 || other(go, ms) ? ms : ms / pace,
    );
    if (ms > 0 && ms <= LONGEST) timers.add(id);
    return id;
  };
  window.clearTimeout = (id) => {
    timers.delete(id);
    forget(id);
  };
  window.fetch = async (...what) => {
    asked++;
    try {
      return await ask(...what);
    } finally {
      asked--;
    }
  };

  const known = {};
  /** The store of the page that has this key in its state. */
  function held(key) {
    const found = known[key] ?? search(key);
    if (key !== 'turns' && found) known[key] = found;
    return found?.getState() ?? null;
  }
  function search(key) {
    const root = document.getElementById('studio');
    const name = root && Object.keys(root).find((k) => k.startsWith('__reactContainer$'));
    const line = name ? [root[name]] : [];
    for (let fiber = line.pop(); fiber; fiber = line.pop()) {
      if (fiber.sibling) line.push(fiber.sibling);
      if (fiber.child) line.push(fiber.child);
      if (fiber.tag !== 0 && fiber.tag !== 15 && fiber.tag !== 11) continue;
      for (let hook = fiber.memoizedState; hook && 'next' in hook; hook = hook.next) {
        const store = Array.isArray(hook.memoizedState) && hook.memoizedState[1]?.[0];
        if (typeof store?.getState === 'function' && key in (store.getState() ?? {})) return store;
      }
    }
    return null;
  }

  const docOf = (graph) => Object.fromEntries((graph?.nodes ?? []).filter((n) => n.type !== 'note').map((n) => [n.id, n.title || n.id]));
  const editor = () => (known.draftRevision || place().sub === 'edit' ? held('draftRevision') : null);
  const place = () => {
    const [, kind, id, sub] = location.pathname.replace(/^\/studio/, '').split('/');
    const { searchParams } = new URL(location.href);
    return { kind, id, sub, trace: searchParams.get('trace'), thread: searchParams.get('thread') };
  };
  const field = () => {
    const { kind } = place();
    if (kind === 'agents') return document.querySelector('.form textarea');
    const label = [...document.querySelectorAll('.form label')].find((l) => l.textContent.trim() === 'Description');
    return label ? document.getElementById(label.htmlFor) : null;
  };

  /** What hands did, and what the page made of it. */
  let did = [];
  const soon = new MessageChannel();
  const waiting = [];
  soon.port1.onmessage = () => waiting.shift()();
  const afterwards = (go) => {
    waiting.push(go);
    soon.port2.postMessage(0);
  };
  let named = null;
  const bars = (was) => (was.readOnly ? 'while it only reads' : was.mode !== 'design' ? `in mode ${was.mode}` : null);
  /** What the document has become since; null where it was opened or read anew, which is nobody's change. */
  const changed = (was, barred, by) => {
    const now = editor();
    if (now?.workflow?.id !== was.workflow.id || now.readOnly !== was.readOnly) return null;
    if (now.graph !== was.graph)
      did.push({ what: 'document', id: was.workflow.id, before: docOf(was.graph), after: docOf(now.graph), barred, by });
    return now;
  };
  // What is cut goes once the clipboard has it, which is after the key.
  const clip = navigator.clipboard;
  const write = clip?.writeText.bind(clip);
  if (clip)
    clip.writeText = async (text) => {
      await write(text);
      const was = editor();
      if (was?.workflow) afterwards(() => changed(was, bars(was), 'cut'));
    };
  const hand = (event) => {
    if (!event.isTrusted) return;
    const { target } = event;
    const at = place();
    const was = editor();
    if (was?.workflow) {
      if (event.type === 'input' && target.closest?.('#inspector [data-field="title"]') && was.selection.length === 1)
        named = { node: was.selection[0], title: target.value };
      const barred = bars(was);
      afterwards(() => {
        const now = changed(was, barred, event.type);
        if (!now) return;
        // Of letters that were typed faster than they were shown, all.
        if (!named || barred) return;
        const held = docOf(now.graph)[named.node];
        if (held !== named.title) did.push({ what: 'title', ...named, held: held ?? 'nothing' });
        named = null;
      });
    }
    // Of the conversation that is on screen: the address of one that was just chosen comes before it.
    if (event.type === 'click' && target.closest?.('.appr .btn'))
      did.push({ what: 'answer', ...at, thread: held('turns')?.thread ?? at.thread });
    if (event.type === 'keydown' && event.key === 'Enter' && target.id === 'chatbox')
      did.push({ what: 'say', text: target.value, ...at, held: held('turns')?.thread ?? null });
    if (event.type !== 'keydown' || event.key !== 'Enter' || target.id !== 'composer') return;
    // Where a run asks, its message is the answer.
    did.push({ what: 'run', text: target.value, ...at }, { what: 'answer', ...at });
  };
  for (const name of ['keydown', 'input', 'click', 'paste', 'pointerup', 'focusout']) window.addEventListener(name, hand, true);
  let typing = null;
  window.addEventListener('beforeinput', (e) => e.isTrusted && e.target === field() && (typing = e.target.value), true);
  window.addEventListener(
    'input',
    (e) => {
      if (!e.isTrusted || e.target !== field()) return;
      did.push({ what: 'form', ...place(), before: typing, after: e.target.value });
    },
    true,
  );

  /** What was said and is known to have begun: it is not offered to be sent once more. */
  const begun = new Set();
  const begins = ({ view }) => {
    if (view?.traceId && view.input) begun.add(view.input);
  };
  let heard = null;
  const sessions = new WeakMap();
  let many = 0;
  /** A number for each session that a page has made. */
  const nth = (session) => {
    if (!session) return null;
    if (!sessions.has(session)) sessions.set(session, ++many);
    return `${performance.timeOrigin} ${sessions.get(session)}`;
  };
  const watch = () => {
    // To search for a store takes its time: only where it has to be.
    const run = document.getElementById('composer') && held('streaming');
    if (run) begins(run);
    if (run && heard !== known.streaming) {
      heard = known.streaming;
      heard.subscribe(begins);
    }
    const turns = document.getElementById('chatbox') ? (held('turns')?.turns ?? []) : [];
    for (const [n, turn] of turns.entries()) if (turn.trace && turns[n - 1]?.role === 'user') begun.add(turns[n - 1].text);
    later(watch, 120);
  };
  watch();
  const offered = () => {
    const text = document.querySelector('#composer, #chatbox')?.value ?? '';
    return text.split('\n').find((line) => begun.has(line)) ?? null;
  };

  const frames = (many) =>
    new Promise((go) => {
      const next = (left) => (left ? requestAnimationFrame(() => next(left - 1)) : go());
      next(many);
      later(go, 1000 + many * 100);
    });
  const look = () => {
    const s = editor();
    const at = place();
    const nodes = [...document.querySelectorAll('.react-flow__node[data-id]')];
    const shown = document.querySelector('main span[hidden]')?.textContent ?? '';
    const edits = at.kind === 'workflows' && at.sub === 'edit';
    const view = edits ? held('streaming') : null;
    const chat = at.sub === 'playground' ? held('turns') : null;
    return {
      ...at,
      kind: edits
        ? 'editor'
        : at.sub === 'playground'
          ? 'play'
          : (at.kind === 'agents' || at.kind === 'tools') && at.id
            ? 'form'
            : at.kind || 'none',
      of: at.kind,
      dialog: !!document.querySelector('dialog[open]'),
      ready:
        edits &&
        !!s?.workflow &&
        shown === at.id &&
        s.workflow.id === at.id &&
        (nodes.length > 0 || s.graph.nodes.length === 0) &&
        !document.querySelector('#page .skel'),
      design: s?.mode === 'design',
      reading: s?.readOnly === 'other',
      holds: edits ? (s?.workflow?.id ?? null) : null,
      revision: s?.draftRevision ?? null,
      save: s?.save,
      note: document.querySelector('.savednote')?.textContent ?? '',
      doc: docOf(s?.graph),
      drawn: Object.fromEntries(
        nodes.map((n) => [n.dataset.id, n.querySelector('.n b.trunc')?.textContent ?? '']).filter(([id]) => !id.startsWith('note_')),
      ),
      far: !!document.querySelector('.react-flow__node .n.lod'),
      run: view?.view?.traceId ?? null,
      status: view?.view?.status ?? null,
      session: nth(view?.session),
      said: (chat?.turns ?? []).filter((x) => x.role === 'user').map((x) => x.text ?? ''),
      traces: [...new Set([...(chat?.turns ?? []).map((x) => x.trace), chat?.pause?.run].filter(Boolean))],
      opening: !!chat?.opening,
      talk: chat?.thread ?? null,
      offered: offered(),
      value: field()?.value ?? null,
      marked: (document.querySelector('.top')?.textContent ?? '').includes(words.unsaved),
      asks: !!document.querySelector('.appr'),
      asked,
    };
  };

  window.walk = {
    look,
    /** What hands did since it was asked last. */
    did: async () => {
      while (waiting.length) await new Promise((go) => later(go, 0));
      const all = did;
      did = [];
      return all;
    },
    /** True once nothing is asked, nothing waits, no page is on its way and two frames were drawn. */
    rests: async () => {
      // A part of the pages that is on its way is asked for by none of this.
      const loading = () => !document.getElementById('page') || !!document.querySelector('.skel');
      const quiet = () => asked === 0 && timers.size === 0 && !loading();
      if (!quiet()) return false;
      await frames(2);
      return quiet();
    },
    /** Where to press to hit it; null where a hand could not. */
    point: (selector, { text = null, nth = 0, last = false, dx = null, dy = null } = {}) => {
      let all = [...document.querySelectorAll(selector)].filter((e) => e.getClientRects().length > 0);
      if (text) all = all.filter((e) => new RegExp(text).test(e.textContent.trim()));
      const one = last ? all.at(-1) : all[nth];
      if (!one || one.disabled || one.getAttribute('aria-disabled') === 'true') return null;
      one.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      const box = one.getBoundingClientRect();
      const x = box.left + (dx ?? box.width / 2);
      const y = box.top + (dy ?? box.height / 2);
      return one.contains(document.elementFromPoint(x, y)) ? { x, y, name: one.textContent.trim(), many: all.length } : null;
    },
    /** Puts the hands into a field, at its end or with all of it chosen. */
    focus: (selector, how) => {
      const one = selector === 'form' ? field() : document.querySelector(selector);
      if (!one || one.disabled || one.readOnly || !one.getClientRects().length) return false;
      one.focus();
      if (document.activeElement !== one) return false;
      if (how === 'all') one.select();
      if (how === 'end') one.setSelectionRange(one.value.length, one.value.length);
      return true;
    },
    /** The inspector shows this node: its name is chosen. */
    inspect: async (id) => {
      for (let n = 0; n < 60; n++) {
        const s = editor();
        if (s?.selection.length === 1 && s.selection[0] === id && window.walk.focus('#inspector [data-field="title"] input', 'all'))
          return true;
        await frames(1);
      }
      return false;
    },
    frames,
  };
}

// Runs before a tool's code: takes away what differs from call to call, and bounds what the engine does without looking at the time.
(() => {
  'use strict';
  const { parse, stringify } = JSON;
  const { apply, construct, ownKeys } = Reflect;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const { getOwnPropertyDescriptor, defineProperty } = Object;
  const text = String;
  const slice = String.prototype.slice;
  // More elements than this do not fit into the memory of a tool: a longer list is mostly holes.
  const ELEMENTS = 4194304;
  const RESULT = 8388608;
  const SEARCH = 1e9;

  const listed = (list, name) => {
    if (list === null || typeof list !== 'object' || isView(list) || !('length' in list)) return;
    const own = getOwnPropertyDescriptor(list, 'length');
    if (own === undefined || typeof own.value !== 'number') throw new TypeError(`${name}: this is no list`);
    if (own.value > ELEMENTS) throw new RangeError(`${name}: a list of more than ${ELEMENTS} elements is too long`);
  };
  const nested = (list, depth, name) => {
    listed(list, name);
    if (depth < 1 || !isArray(list)) return;
    for (let at = 0; at < list.length; at += 1) if (isArray(list[at])) nested(list[at], depth - 1, name);
  };
  const guard = (prototype, name, check) => {
    const native = prototype[name];
    const guarded = { [name](...given) { check(this, given); return apply(native, this, given); } }[name];
    defineProperty(prototype, name, { value: guarded, writable: true, configurable: true });
  };

  const lists = Array.prototype;
  const open = ['constructor', 'at', 'push', 'pop', 'values', 'keys', 'entries'];
  for (const name of ownKeys(lists)) {
    if (typeof name !== 'string' || typeof lists[name] !== 'function' || open.includes(name)) continue;
    guard(lists, name, (list, given) => {
      listed(list, name);
      if (name === 'concat') for (let at = 0; at < given.length; at += 1) listed(given[at], name);
      if (name === 'flat') nested(list, given[0] === undefined ? 1 : +given[0], name);
    });
  }
  for (const name of ['indexOf', 'lastIndexOf', 'includes', 'split', 'replace', 'replaceAll']) {
    guard(String.prototype, name, (whole, given) => {
      for (let at = 0; at < given.length; at += 1) {
        const long = typeof given[at] === 'string' && given[at].length > 1000;
        if (long && given[at].length * text(whole).length > SEARCH) throw new RangeError(`${name}: these texts are too long`);
      }
    });
  }

  const none = (what) => () => { throw new Error(`there is no ${what} here: pass it in the input`); };
  const Native = Date;
  const clock = none('clock');
  function Dated(...parts) {
    if (new.target === undefined || parts.length === 0) clock();
    return construct(Native, parts, new.target);
  }
  defineProperty(Dated, 'name', { value: 'Date' });
  defineProperty(Dated, 'prototype', { value: Native.prototype, writable: false });
  defineProperty(Native.prototype, 'constructor', { value: Dated });
  for (const name of ['parse', 'UTC']) defineProperty(Dated, name, { value: Native[name] });
  defineProperty(Dated, 'now', { value: clock });
  defineProperty(globalThis, 'Date', { value: Dated });
  defineProperty(Math, 'random', { value: none('randomness') });
  for (const name of ['Atomics', 'SharedArrayBuffer', 'navigator', 'gc']) delete globalThis[name];

  const written = (value) => {
    const json = stringify(value === undefined ? null : value);
    if (json === undefined) throw new TypeError('the result cannot be written as JSON');
    if (json.length > RESULT) throw new RangeError('the result is larger than 8 MiB');
    return json;
  };
  const problem = (thrown) => {
    if (thrown === null) return 'the script threw null, or ran out of its 64 MiB of memory';
    const told = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : text(thrown);
    return apply(slice, told, [0, 2000]);
  };
  // Gives `[true, JSON]` or `[false, what went wrong]`; later, because tools may wait for promises.
  return async (tool, input) => {
    try {
      return [true, written(await tool(parse(input)))];
    } catch (thrown) {
      return [false, problem(thrown)];
    }
  };
})()

/** Owns the habits that no linter knows: who may write what pages share after a wait, and how long a line is. */

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
const LOOPS = new Set(['ForStatement', 'ForOfStatement', 'ForInStatement', 'WhileStatement', 'DoWhileStatement']);
const LATE = new Set(['then', 'catch', 'finally']);
/** A write is allowed once one has asked whether what it belongs to is still there. */
const ASKED = new Set(['here', 'gone', 'aborted']);
/** What changes a collection. */
const CHANGES = new Set(['set', 'add', 'delete', 'clear', 'push', 'pop', 'shift', 'unshift', 'splice', 'sort']);

function above(node) {
  const all = [];
  for (let up = node.parent; up; up = up.parent) all.push(up);
  return all;
}
const functionOf = (node) => above(node).find((up) => FUNCTIONS.has(up.type));
const nameOf = (node) => (node?.type === 'MemberExpression' && !node.computed ? node.property.name : null);

/** The callback of a promise: what it does, it does after a wait. */
const isCallback = (fn) => fn.parent.type === 'CallExpression' && fn.parent.arguments.includes(fn) && LATE.has(nameOf(fn.parent.callee));

/** The binding that a name means here, where it lives as long as the module: its own or an imported one. */
function shared(scope, name) {
  for (let at = scope; at; at = at.upper) {
    const found = at.set.get(name);
    if (found) return at.type === 'module' || at.type === 'global' ? found : null;
  }
  return null;
}

/** A collection that the module itself makes. */
const isCollection = (binding) =>
  binding?.defs.some(({ node }) => {
    const made = node.type === 'VariableDeclarator' && node.init;
    return made && (made.type === 'ArrayExpression' || (made.type === 'NewExpression' && /^(Weak)?(Map|Set)$/.test(made.callee.name)));
  });

const lateWrites = {
  meta: {
    type: 'problem',
    schema: [{ type: 'object', properties: { writers: { type: 'array', items: { type: 'string' } } }, additionalProperties: false }],
    messages: {
      late: '`{{name}}` outlives the page; after a wait only a session that is still there may write it',
    },
  },
  create(context) {
    const writers = new Set(context.options[0]?.writers);
    const waits = [];
    const asks = [];
    const writes = [];
    const code = context.sourceCode;
    const note = (node, root) => {
      if (root?.type === 'Identifier' && shared(code.getScope(node), root.name))
        writes.push({ node, name: root.name, inside: functionOf(node) });
    };
    const target = (node) => {
      let root = node;
      while (root.type === 'MemberExpression' || root.type === 'TSNonNullExpression') root = root.object ?? root.expression;
      return root;
    };
    /** Writes in a plain callback, such as one of `forEach`, happen where it is given. */
    const late = ({ node, inside }) => {
      for (let fn = inside, at = node; fn; at = fn, fn = functionOf(fn)) {
        const first = waits.filter((w) => w.inside === fn && (w.node.range[1] <= at.range[1] || together(w.node, at, fn)));
        const since = first.at(-1)?.node.range[1] ?? null;
        const from = since ?? (isCallback(fn) ? fn.body.range[0] : null);
        if (from !== null) return !asks.some((a) => a.inside === fn && a.range[0] >= from && a.range[1] <= node.range[0]);
        if (fn.parent.type !== 'CallExpression' || fn.async) return false;
      }
      return false;
    };
    /** In one loop, so that the wait of one round comes before the write of the next. */
    const together = (wait, write, fn) => {
      for (const up of above(wait)) {
        if (up === fn) return false;
        if (LOOPS.has(up.type) && up.range[0] <= write.range[0] && write.range[1] <= up.range[1]) return true;
      }
      return false;
    };
    return {
      AwaitExpression: (node) => void waits.push({ node, inside: functionOf(node) }),
      MemberExpression: (node) => {
        if (!ASKED.has(nameOf(node)) || !above(node).some((up) => up.type === 'IfStatement' || up.type === 'LogicalExpression')) return;
        asks.push({ range: node.range, inside: functionOf(node) });
      },
      AssignmentExpression: (node) => note(node, target(node.left)),
      UpdateExpression: (node) => note(node, target(node.argument)),
      CallExpression: (node) => {
        const { callee } = node;
        if (nameOf(callee) === 'setState') note(node, callee.object);
        else if (callee.type === 'Identifier' && writers.has(callee.name)) note(node, callee);
        else if (CHANGES.has(nameOf(callee)) && callee.object.type === 'Identifier')
          if (isCollection(shared(code.getScope(node), callee.object.name))) note(node, callee.object);
      },
      'Program:exit': () => {
        for (const write of writes.filter(late)) context.report({ node: write.node, messageId: 'late', data: { name: write.name } });
      },
    };
  },
};

const lineLength = {
  meta: {
    type: 'layout',
    schema: [{ type: 'integer', minimum: 1 }],
    messages: { long: 'this line has {{length}} characters, {{most}} are the most' },
  },
  create(context) {
    const most = context.options[0] ?? 160;
    return {
      Program: () => {
        context.sourceCode.lines.forEach((line, n) => {
          if (line.length <= most) return;
          const loc = { start: { line: n + 1, column: most }, end: { line: n + 1, column: line.length } };
          context.report({ loc, messageId: 'long', data: { length: String(line.length), most: String(most) } });
        });
      },
    };
  },
};

export default { meta: { name: 'habits' }, rules: { 'late-writes': lateWrites, 'line-length': lineLength } };

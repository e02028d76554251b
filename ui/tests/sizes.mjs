/** What a person downloads, by route, gzipped; fails when a budget is exceeded. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const dist = join(fileURLToPath(new URL('.', import.meta.url)), '../dist');
const assets = join(dist, 'assets');
const files = readdirSync(assets);
const size = (name) =>
  (/\.(woff2)$/.test(name) ? readFileSync(join(assets, name)).length : gzipSync(readFileSync(join(assets, name)), { level: 9 }).length) /
  1000;
const text = (name) => readFileSync(join(assets, name), 'utf8');
const named = (pattern) => files.filter((f) => pattern.test(f));

/** Static imports, and the style sheets and chunks a lazy import preloads. */
function closure(start, seen = new Set()) {
  for (const name of start) {
    if (seen.has(name) || !files.includes(name)) continue;
    seen.add(name);
    if (name.endsWith('.js'))
      closure(
        [...text(name).matchAll(/(?:from|import)\s*["']\.\/([\w.-]+\.js)["']/g)].map((m) => m[1]),
        seen,
      );
  }
  return seen;
}
/** Chunks that carry `mark`, with the style sheets their import names. */
function lazy(pattern) {
  const chunks = named(pattern);
  const all = closure(chunks);
  const app = files
    .filter((f) => f.endsWith('.js'))
    .map(text)
    .join('\n');
  for (const chunk of chunks) {
    const call = new RegExp(
      `import\\(["'\`]\\./${chunk.replaceAll('.', '\\.')}["'\`]\\)\\s*,\\s*__vite__mapDeps\\(\\[([\\d,]*)\\]\\)`,
    ).exec(app);
    const list =
      /m\.f\|\|\(m\.f=\[([^\]]*)\]/
        .exec(app)?.[1]
        ?.split(',')
        .map((s) => s.replace(/["']/g, '').split('/').pop()) ?? [];
    for (const n of call?.[1]?.split(',').filter(Boolean) ?? []) if (list[Number(n)]) all.add(list[Number(n)]);
  }
  return all;
}
const html = readFileSync(join(dist, 'index.html'), 'utf8');
const entry = [...html.matchAll(/assets\/([\w.-]+\.(?:js|css))/g)].map((m) => m[1]);
const shell = closure([...entry, ...named(/^app-.*\.js$/), ...named(/^en-.*\.js$/)]);
const more = (set) => [...set].filter((f) => !shell.has(f)).reduce((sum, f) => sum + size(f), 0);
const whole = (list) => list.reduce((sum, f) => sum + size(f), 0);
const page = (word) => files.filter((f) => f.endsWith('.js') && text(f).includes(word));

const editor = lazy(/^edit-.*\.js$/);
const trace = lazy(/^detail-.*\.js$/);
const playground = closure(page('chat/stream'));
const budgets = [
  ['shell', whole([...shell]), 124],
  // The way to the code panel is in the bar of the editor; the panel itself comes when it is opened.
  ['editor, more', more(new Set([...editor, ...named(/^editor-.*\.(js|css)$/)])), 132],
  ['trace, more', more(new Set([...trace, ...named(/^detail-.*\.css$/)])), 45],
  ['playground, more', more(playground), 60],
  ['CodeMirror', whole(named(/^codemirror-.*\.js$/)), 120],
  // Templates, code, imports and the page of a class each come with their own page, 16 kB together.
  ['all scripts and styles', whole(files.filter((f) => /\.(js|css)$/.test(f))), 495],
  ['fonts', whole(files.filter((f) => f.endsWith('.woff2'))), 80],
];
let over = 0;
for (const [name, kb, most] of budgets) {
  if (kb > most) over += 1;
  console.log(`${kb > most ? '✗' : '✓'} ${name}: ${kb.toFixed(1)} kB of ${most}`);
}
process.exit(over ? 1 : 0);

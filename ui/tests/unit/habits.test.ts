import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const HEAD = `import { create } from 'zustand';
import { tell } from './store';
const useThing = create(() => ({ n: 0 }));
let last = 0;
export const kept = new Map<number, number>();
const list: number[] = [];
declare function wait(): Promise<number>;
declare function later(go: () => void): void;
`;

/** Each text with how many of its lines break a rule. */
function broken(texts: string[]): [string, number][] {
  const folder = mkdtempSync(join(root, 'node_modules/.habits-'));
  const files = texts.map((_, n) => join(folder, `${n}.ts`));
  texts.forEach((text, n) => writeFileSync(files[n] ?? '', HEAD + text));
  const config = join(folder, 'config.json');
  const rules = { 'habits/late-writes': ['error', { writers: ['tell'] }], 'habits/line-length': ['error', 160] };
  writeFileSync(config, JSON.stringify({ jsPlugins: [join(root, 'lint/habits.mjs')], categories: { correctness: 'off' }, rules }));
  const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
  const told = spawnSync(process.execPath, [oxlint, '-c', config, '-f', 'json', '--no-ignore', ...files], { cwd: root, encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  const { diagnostics } = JSON.parse(told.stdout) as { diagnostics: { filename: string }[] };
  return texts.map((text, n) => [text, diagnostics.filter((d) => basename(d.filename) === `${n}.ts`).length]);
}

const each = (texts: string[], times: number): [string, number][] => texts.map((text) => [text, times]);

test('what pages share is written after a wait only where one asked, and lines are not long', { timeout: 60_000 }, () => {
  const late = [
    'export async function f() { last = await wait(); }',
    'export async function f() { const n = await wait(); last = n; }',
    'export async function f() { await wait(); last++; }',
    'export async function f() { await wait(); useThing.setState({ n: 1 }); }',
    'export async function f() { await wait(); tell({ n: 1 }); }',
    'export const f = () => wait().then((n) => { last = n; });',
    'export const f = () => wait().catch(() => tell({ n: 1 }));',
    'export async function f() { for (;;) { last++; await wait(); } }',
    'export async function f() { await wait(); [1].forEach((n) => { last = n; }); }',
    'export async function f(s: { here: boolean }) { if (!s.here) return; await wait(); last = 2; }',
    'export async function f() { await wait(); kept.delete(1); }',
    'export const f = () => wait().finally(() => kept.clear());',
    'export async function f() { await wait(); list.push(1); }',
    `export const a = '${'x'.repeat(150)}';`,
  ];
  const sound = [
    'export async function f() { last = 1; await wait(); }',
    'export async function f() { let last = 0; await wait(); last = 2; return last; }',
    'export async function f(s: { here: boolean }) { await wait(); if (!s.here) return; last = 2; }',
    'export async function f(s: { here: boolean }) { await wait(); if (s.here) tell({ n: 1 }); }',
    'export async function f() { await wait(); later(() => 0); }\nexport const g = () => later(() => { last = 3; });',
    'export async function f() { kept.set(1, 2); await wait(); return kept.get(1); }',
    'export async function f() { const mine = new Map<number, number>(); await wait(); mine.set(1, 2); }',
    `export const a = '${'x'.repeat(130)}';`,
  ];
  expect(broken([...late, ...sound])).toEqual([...each(late, 1), ...each(sound, 0)]);
});

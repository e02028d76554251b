/** Runs the gates against STUDIO_URL: routes, keyboard, loss, crowd, trials, scale. Name some to run only those. */
import { crowd } from './crowd.mjs';
import { keyboard } from './keyboard.mjs';
import { loss } from './loss.mjs';
import { routes } from './routes.mjs';
import { scale } from './scale.mjs';
import { trials } from './trials.mjs';

const gates = { routes: () => routes({ quick: process.env.QUICK === '1' }), keyboard, loss, crowd, trials, scale };
const wanted = process.argv.slice(2);
let failed = 0;
for (const [name, gate] of Object.entries(gates)) {
  if (wanted.length && !wanted.includes(name)) continue;
  const result = await gate().catch((error) => ({ wrong: [error.stack ?? String(error)] }));
  console.log(`${name}: ${result.wrong.length ? `${result.wrong.length} wrong` : 'ok'}${result.checked ? ` (${result.checked} pages)` : ''}`);
  for (const line of [...(result.told ?? []), ...(result.said ?? [])]) console.log(`  ${line}`);
  for (const line of [...new Set(result.wrong)].slice(0, 60)) console.log(`  ✗ ${line}`);
  failed += result.wrong.length;
}
process.exit(failed ? 1 : 0);

/** Runs the gates against STUDIO_URL: routes, keyboard, chat, welcome, codegen, forms, loss, editor, crowd, trials, scale. Name some to run only those; LIGHT=1 looks at a further mount. */
import { chat } from './chat.mjs';
import { codegen } from './code.mjs';
import { crowd } from './crowd.mjs';
import { editor } from './editor.mjs';
import { forms } from './forms.mjs';
import { keyboard } from './keyboard.mjs';
import { loss } from './loss.mjs';
import { routes } from './routes.mjs';
import { scale } from './scale.mjs';
import { trials } from './trials.mjs';
import { welcome } from './welcome.mjs';

const gates = {
  routes: () => routes({ light: process.env.LIGHT === '1' }),
  keyboard,
  chat,
  welcome,
  codegen,
  forms,
  loss,
  editor,
  crowd,
  trials,
  scale,
};
const wanted = process.argv.slice(2);
let failed = 0;
for (const [name, gate] of Object.entries(gates)) {
  if (wanted.length && !wanted.includes(name)) continue;
  const began = Date.now();
  const result = await gate().catch((error) => ({ wrong: [error.stack ?? String(error)] }));
  console.log(
    `${name}: ${result.wrong.length ? `${result.wrong.length} wrong` : 'ok'}${result.checked ? ` (${result.checked} pages)` : ''}, ${Math.round((Date.now() - began) / 1000)} s`,
  );
  for (const line of [...(result.told ?? []), ...(result.said ?? [])]) console.log(`  ${line}`);
  for (const line of [...new Set(result.wrong)].slice(0, 60)) console.log(`  ✗ ${line}`);
  failed += result.wrong.length;
}
process.exit(failed ? 1 : 0);

/** Owns proof that a process ends as it should, with a stream open and a call in flight. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import test from 'node:test';
import { Worker } from 'node:worker_threads';
import { folder } from './opened.mjs';

const module = (name) => JSON.stringify(new URL(name, import.meta.url).href);
const PROGRAM = `
  import { Studio } from ${module('../dist/index.js')};
  import { calling } from ${module('opened.mjs')};
  const [path, how] = process.argv.slice(-2);
  const studio = await Studio.open({ environment: 'local', database: { path } });
  let begun;
  const called = new Promise((done) => (begun = done));
  studio.tool({ name: 'slow', timeoutMs: 60000 }, () => (begun(), new Promise(() => {})));
  if (how === 'idle') process.exitCode = 3;
  else {
    await studio.call('workflow.save', calling('slow'));
    const reading = (async () => {
      for await (const event of studio.run({ workflow: 'calls-slow', message: 'x' })) void event;
    })();
    await called;
    if (how === 'exit') process.exit(3);
    if (how === 'throw') setImmediate(() => { throw new Error('nobody catches this'); });
    if (how === 'close') { reading.catch(() => {}); await studio.close(500); process.exitCode = 3; }
    if (how === 'signal') { process.on('SIGTERM', async () => { reading.catch(() => {}); await studio.close(500); process.exitCode = 3; }); process.kill(process.pid, 'SIGTERM'); }
  }
`;

async function ended(program, path, how) {
  const runtime = process.env.RUNTIME_COMMAND ? process.env.RUNTIME_COMMAND.split(' ') : [process.execPath];
  const child = spawn(runtime[0], [...runtime.slice(1), program, path, how], { stdio: ['ignore', 'ignore', 'pipe'] });
  let told = '';
  child.stderr.on('data', (text) => (told += text));
  const late = setTimeout(() => child.kill('SIGKILL'), 40_000);
  const [code, signal] = await new Promise((done) => child.on('exit', (...how) => done(how)));
  clearTimeout(late);
  return { code, signal, told };
}

// An exception that nobody catches is 1 in Node.js, Bun and Deno.
for (const [how, code] of [
  ['idle', 3],
  ['exit', 3],
  ['throw', 1],
  ['close', 3],
  ['signal', 3],
]) {
  test(`a process ends by: ${how}`, async (t) => {
    const { path, remove } = folder();
    t.after(remove);
    writeFileSync(`${path}/program.mjs`, PROGRAM);
    for (let turn = 0; turn < 3; turn++) {
      const done = await ended(`${path}/program.mjs`, `${path}/${turn}.sqlite`, how);
      assert.deepEqual([done.code, done.signal], [code, null], done.told);
      if (how === 'throw') assert.match(done.told, /nobody catches this/);
    }
  });
}

test('the end of a worker closes its engines and not those of others', { skip: process.env.RUNTIME_COMMAND !== undefined }, async (t) => {
  const { Studio } = await import('../dist/index.js');
  const { path, remove } = folder();
  t.after(remove);
  const studio = await Studio.open({ environment: 'local', database: { path: `${path}/main.sqlite` } });
  const program = `import { Studio } from ${module('../dist/index.js')};
    const studio = await Studio.open({ environment: 'local', database: { path: ${JSON.stringify(`${path}/worker.sqlite`)} } });
    await studio.call('health');
    process.exit(0);`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`));
  await new Promise((done, failed) => worker.on('exit', done).on('error', failed));
  assert.equal((await studio.call('health')).status, 'ok');
  await studio.close(500);
});

/** Owns the example host: started on a database of its own, killed, started again. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const slowly = (text, delay_ms) => ({ times: 0, delay_ms, chunks: text.match(/.{1,6}/g) });
const configOf = (pace) => ({
  environment: 'local',
  async_runs_enabled: true,
  providers: {
    script: {
      scripts: {
        slow: {
          replies: [
            slowly('This is told piece by piece, so that one can look away, come back, stop it or lose the line.', Math.round(60 / pace)),
          ],
        },
        clerk: {
          replies: [
            { match: { tool_result: 'issue_refund' }, text: 'It is done: {{tool_result}}', times: 0 },
            { tool_calls: [{ name: 'issue_refund', arguments: { order_id: 'A-100', amount: '25.00', reason: 'asked' } }], times: 0 },
          ],
        },
      },
    },
  },
});

/** Below those that outgoing connections take: a host that is started again finds its port free. */
async function freePort() {
  for (;;) {
    const port = 18_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const free = await new Promise((done) => server.once('error', () => done(false)).listen(port, '127.0.0.1', () => done(true)));
    if (!free) continue;
    await new Promise((done) => server.close(done));
    return port;
  }
}

export async function startHost(program, pace) {
  const folder = mkdtempSync(join(tmpdir(), 'studio-walk-'));
  const config = join(folder, 'studio.json');
  writeFileSync(config, JSON.stringify(configOf(pace)));
  const port = await freePort();
  const base = `http://127.0.0.1:${port}/studio`;
  let child = null;
  const up = async () => {
    const one = spawn(program, ['--port', String(port), '--database', join(folder, 'studio.sqlite'), '--config', config], {
      stdio: 'ignore',
      env: { ...process.env, STUDIO_ROUTE_PREFIX: 'studio' },
    });
    child = one;
    for (let n = 0; n < 2400; n++) {
      if (one.exitCode !== null || one.signalCode !== null) throw new Error(`the host ended with ${one.exitCode ?? one.signalCode}`);
      if (
        await fetch(`${base}/workflows`)
          .then((r) => r.ok)
          .catch(() => false)
      )
        return;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error('the host does not answer');
  };
  const down = (signal) =>
    new Promise((done) => {
      const one = child;
      if (!one || one.exitCode !== null || one.signalCode !== null) return done();
      one.once('exit', () => done());
      one.kill(signal);
    });
  // Also when the walk itself is ended.
  process.once('exit', () => {
    child?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
  await up();
  return {
    port,
    base,
    kill: () => down('SIGKILL'),
    up,
    close: async () => {
      await down('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

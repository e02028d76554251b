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

const freePort = () =>
  new Promise((done) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

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
    for (let n = 0; n < 300; n++) {
      if (one.exitCode !== null) throw new Error(`the host ended with ${one.exitCode}`);
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

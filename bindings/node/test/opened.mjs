/** Owns studios for tests: a database of its own in a folder that goes away, tools, workflows. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Studio } from '../dist/index.js';

const examples = new URL('../../../examples/', import.meta.url);
const example = (name) => JSON.parse(readFileSync(new URL(name, examples), 'utf8'));

export const folder = () => {
  const path = mkdtempSync(join(tmpdir(), 'wfstudio-node-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
};

const at = { position: { x: 0, y: 0 } };
const edge = (id, source, target) => ({ id, source, target, sourceHandle: 'default', targetHandle: 'default' });

/** A workflow that calls one tool. */
export const calling = (tool) => ({
  slug: `calls-${tool}`,
  name: `Calls ${tool}`,
  graph: {
    version: 1,
    nodes: [
      { id: 'start', type: 'start', data: {}, ...at },
      { id: 'tool', type: 'tool', data: { tool_ref: `host:${tool}` }, ...at },
      { id: 'stop', type: 'stop', data: { reply: 'done' }, ...at },
    ],
    edges: [edge('a', 'start', 'tool'), edge('b', 'tool', 'stop')],
  },
});

/** A studio with the refund workflow; `t.after` closes it. */
export async function opened(t, more = {}) {
  const { path, remove } = folder();
  const studio = await Studio.open({ ...example('refund.config.json'), ...more, database: { path: join(path, 'studio.sqlite') } });
  t.after(async () => {
    await studio.close();
    remove();
  });
  const refunds = [];
  const { name, description, input_schema: inputSchema } = example('refund.host.json').tools[0];
  studio.tool({ name, description, inputSchema, requireApproval: true }, async ({ order_id, amount }) => {
    refunds.push([order_id, amount]);
    return { order_id, refunded: true };
  });
  await studio.call('workflow.save', example('refund.json'));
  return { studio, refunds, path };
}

export async function all(events) {
  const told = [];
  for await (const event of events) told.push(event);
  return told;
}

export const names = (events) => events.map((event) => event.name);

/** Waits until it holds. */
export async function until(holds, what = String(holds), ms = 30_000) {
  for (const end = Date.now() + ms; !(await holds());) {
    if (Date.now() > end) throw new Error(`timed out: ${what}`);
    await new Promise((done) => setTimeout(done, 5));
  }
}

/** A promise with its ways to end. */
export function gate() {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { opened, open };
}

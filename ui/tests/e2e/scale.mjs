/** Large graphs, long traces and fast streams stay usable: time of the main thread, frames, heap. Processor time holds on a busy machine, frames and clocks only on one that rests. */
import { cpus, loadavg } from 'node:os';
import { api, launch, open } from './browser.mjs';
import { graphOf, traceOf } from './large.mjs';
import { json, standIn } from './stand-in.mjs';

const SECONDS = Number(process.env.STREAM_SECONDS ?? 60);
const resting = () => loadavg()[0] <= cpus().length;
const metrics = async (client) => Object.fromEntries((await client.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value]));
const milliseconds = (seconds) => Math.round(seconds * 1000);

async function watched(browser) {
  const { context, page, heard } = await open(browser);
  const client = await context.newCDPSession(page);
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  return { context, page, client, heard };
}

/** Frames a second while `act` moves things, and the processor time of the main thread for each frame. */
async function frames(page, client, act) {
  const before = await metrics(client);
  const counting = page.evaluate(
    () =>
      new Promise((done) => {
        let n = 0;
        const start = performance.now();
        const tick = () => {
          n += 1;
          if (performance.now() - start < 2500) requestAnimationFrame(tick);
          else done(n);
        };
        requestAnimationFrame(tick);
      }),
  );
  await act();
  const n = await counting;
  const after = await metrics(client);
  return { fps: Math.round(n / 2.5), cost: milliseconds(after.TaskDuration - before.TaskDuration) / n };
}

async function pan(page, client) {
  const box = await page.locator('#canvas').boundingBox();
  await page.locator('#canvas').focus();
  await page.mouse.move(box.x + 700, box.y + 350);
  return frames(page, client, async () => {
    await page.keyboard.down('Space');
    await page.mouse.down();
    for (let k = 0; k < 100; k++) await page.mouse.move(box.x + 700 - k * 5, box.y + 350 - k * 2);
    await page.mouse.up();
    await page.keyboard.up('Space');
  });
}

async function graphs(browser, workflow, { told, wrong }) {
  for (const count of [500, 2000]) {
    const text = JSON.stringify({ ...workflow, graph: graphOf(count) });
    const stand = await standIn((req, res, path) => req.method === 'GET' && path === `/api/workflows/${workflow.id}` && json(res, text));
    const { context, page, client } = await watched(browser);
    await page.goto(`${stand.url}/workflows/${workflow.id}/edit`);
    await page.locator('.crowd').waitFor({ state: 'attached', timeout: 30_000 });
    await page.waitForTimeout(1500);
    const opened = await metrics(client);
    const cpu = milliseconds(opened.TaskDuration);
    if (cpu > 400) wrong.push(`${count} nodes: ${cpu} ms of the main thread to open`);
    await page.locator('#canvas').focus();
    await page.keyboard.press('1');
    await page.waitForTimeout(500);
    const near = await pan(page, client);
    const shown = await page.locator('.react-flow__node').count();
    await page.keyboard.press('f');
    await page.waitForTimeout(500);
    const far = await pan(page, client);
    told.push(
      `${count} nodes: ${cpu} ms of the main thread to open the page, heap ${Math.round(opened.JSHeapUsedSize / 1e6)} MB; panning from afar ${far.fps} fps (${far.cost.toFixed(1)} ms a frame), nearby ${near.fps} fps (${near.cost.toFixed(1)} ms), ${shown} nodes mounted`,
    );
    if (shown > 200 || shown < 2) wrong.push(`${count} nodes: ${shown} are mounted`);
    for (const [where, { fps, cost }] of Object.entries({ far, near })) {
      if (cost > 16) wrong.push(`${count} nodes, ${where}: a frame costs ${cost.toFixed(1)} ms`);
      if (fps < 50 && resting()) wrong.push(`${count} nodes, ${where}: ${fps} fps`);
    }
    await context.close();
    stand.close();
  }
}

async function trace(browser, workflow, { told, wrong }) {
  const whole = traceOf(20_000, workflow.id);
  const text = JSON.stringify(whole);
  const step = JSON.stringify({ ...whole.steps[0], spans: [] });
  const stand = await standIn(
    (_req, res, path) =>
      (path.startsWith('/api/runs/big?') && json(res, text)) || (path.startsWith('/api/runs/big/steps/') && json(res, step)),
  );
  const { context, page, client } = await watched(browser);
  await page.addInitScript(() => {
    const look = () => {
      if (document.querySelector('[role=row][aria-rowindex]')) window.firstRow = performance.now();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  await page.goto(`${stand.url}/traces/big`);
  await page.locator('[role=row][aria-rowindex]').first().waitFor({ timeout: 30_000 });
  const cpu = milliseconds((await metrics(client)).TaskDuration);
  const first = Math.round(await page.evaluate(() => window.firstRow));
  await page.waitForTimeout(500);
  const scrolled = await frames(page, client, () =>
    page.evaluate(
      () =>
        new Promise((done) => {
          const body = document.querySelector('.wbody');
          const start = performance.now();
          const tick = () => {
            body.scrollTop += 180;
            if (performance.now() - start < 2300) requestAnimationFrame(tick);
            else done();
          };
          requestAnimationFrame(tick);
        }),
    ),
  );
  const rows = await page.locator('[role=row][aria-rowindex]').count();
  const heap = Math.round((await metrics(client)).JSHeapUsedSize / 1e6);
  told.push(
    `20,000 rows: first row after ${first} ms, ${cpu} ms of the main thread; scrolling ${scrolled.fps} fps (${scrolled.cost.toFixed(1)} ms a frame), ${rows} rows in the document, heap ${heap} MB`,
  );
  if (cpu > 600) wrong.push(`20,000 rows: ${cpu} ms of the main thread to the first row`);
  if (first > 1000 && resting()) wrong.push(`20,000 rows: first row after ${first} ms`);
  if (scrolled.cost > 16) wrong.push(`20,000 rows: a frame of scrolling costs ${scrolled.cost.toFixed(1)} ms`);
  if (scrolled.fps < 50 && resting()) wrong.push(`20,000 rows: ${scrolled.fps} fps while scrolling`);
  if (rows > 120) wrong.push(`${rows} rows are in the document`);
  if (heap > 150) wrong.push(`heap is ${heap} MB`);
  await context.close();
  stand.close();
}

/** A stream of 300 events a second: mostly text of eight steps, every tenth a tool call and its result. */
function flood(res) {
  let id = 0;
  let n = 0;
  const tell = (name, data) =>
    res.write(`id: L${++id}\nevent: ${name}\ndata: ${JSON.stringify({ trace_id: '0199a000-0000-7000-8000-0000000000f1', ...data })}\n\n`);
  res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache, no-transform' });
  tell('thread', { thread_id: '0199a000-0000-7000-8000-0000000000f2', workflow_id: 'w' });
  tell('trace_started', { status: 'running' });
  for (let k = 1; k <= 8; k++) tell('step_started', { step_id: `s${k}`, node_id: `n${k}`, node_type: 'llm', iteration: null, attempt: 1 });
  const began = Date.now();
  const timer = setInterval(() => {
    for (const due = ((Date.now() - began) / 1000) * 300; n < due; n++) {
      const at = { step_id: `s${(n % 8) + 1}`, node_id: `n${(n % 8) + 1}` };
      if (n % 20 === 0)
        tell('tool_call', { ...at, call_id: `c${n}`, name: 'look_up', inputs: { order: n, note: 'x'.repeat(120) }, result: null });
      else if (n % 20 === 10)
        tell('tool_result', {
          ...at,
          call_id: `c${n - 10}`,
          name: 'look_up',
          inputs: {},
          result: 'y'.repeat(200),
          is_error: false,
          skipped: false,
          duration_ms: 5,
        });
      else tell('token', { ...at, delta: `word${n % 97} `, publish_reply: false });
    }
    if (Date.now() - began < SECONDS * 1000) return;
    clearInterval(timer);
    res.end();
  }, 20);
  res.on('close', () => clearInterval(timer));
  return true;
}

async function stream(browser, workflow, { told, wrong }) {
  const graph = JSON.stringify({ ...workflow, graph: graphOf(10) });
  const stand = await standIn(
    (req, res, path) =>
      (req.method === 'GET' && path === `/api/workflows/${workflow.id}` && json(res, graph)) ||
      (path.startsWith(`/workflows/${workflow.id}/run/stream`) && flood(res)),
  );
  const { context, page, client } = await watched(browser);
  await page.goto(`${stand.url}/workflows/${workflow.id}/edit`);
  await page.locator('[data-id="n1"]').waitFor();
  await page.locator('#composer').fill('go');
  await page.locator('#composer').press('Enter');
  await page.locator('.n.run').first().waitFor();
  await page.waitForTimeout(3000);
  const heap = async () => {
    await client.send('HeapProfiler.collectGarbage');
    return (await metrics(client)).JSHeapUsedSize / 1e6;
  };
  const before = await heap();
  const { fps, cost } = await frames(page, client, async () => undefined);
  await page.waitForTimeout(Math.max(0, SECONDS * 1000 - 7500));
  const after = await heap();
  told.push(
    `300 events a second for ${SECONDS} s: heap ${before.toFixed(1)} → ${after.toFixed(1)} MB, ${fps} fps (${cost.toFixed(1)} ms a frame)`,
  );
  if (after - before > 20) wrong.push(`the heap grew by ${(after - before).toFixed(1)} MB while events came`);
  if (cost > 16) wrong.push(`a frame costs ${cost.toFixed(1)} ms while events come`);
  await context.close();
  stand.close();
}

export async function scale() {
  const browser = await launch();
  const result = { told: [], wrong: [] };
  const workflow = await api('/api/workflows', { method: 'POST', body: JSON.stringify({ name: 'Scale' }) });
  try {
    await graphs(browser, workflow, result);
    await trace(browser, workflow, result);
    await stream(browser, workflow, result);
  } finally {
    await browser.close();
    await api(`/api/workflows/${workflow.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  }
  return result;
}

/** Large graphs and traces stay usable: CPU of the main thread, frames while panning, rows while scrolling. */
import { api, base, launch, open } from './browser.mjs';

function graphOf(count) {
  const types = ['llm', 'tool', 'set_state', 'agent', 'rag'];
  const nodes = Array.from({ length: count }, (_, n) => ({ id: `n${n}`, type: n === 0 ? 'start' : n === count - 1 ? 'stop' : types[n % 5], position: { x: (n % 50) * 300, y: Math.floor(n / 50) * 170 }, title: `Step ${n}`, data: { provider: 'openai', model: 'gpt-4o-mini', config_mode: 'inline', key: 'a' } }));
  const edges = nodes.slice(1).map((n, k) => ({ id: `e${k}`, source: `n${k}`, target: n.id, sourceHandle: 'default', targetHandle: 'default' }));
  return { version: 1, nodes, edges, annotations: [], viewport: { x: 0, y: 0, zoom: 1 } };
}

const metric = async (client, name) => (await client.send('Performance.getMetrics')).metrics.find((m) => m.name === name)?.value ?? 0;

export async function scale() {
  const browser = await launch();
  const told = [];
  const wrong = [];
  const workflow = await api('/api/workflows', { method: 'POST', body: JSON.stringify({ name: 'Scale' }) });
  for (const count of [500, 2000]) {
    const { context, page } = await open(browser);
    await page.route(`**/api/workflows/${workflow.id}`, (route) => route.fulfill({ json: { ...workflow, graph: graphOf(count) } }));
    await page.route('**/api/graph/validate', (route) => route.fulfill({ json: { valid: true, issues: [], errors: [], warnings: [] } }));
    const client = await context.newCDPSession(page);
    await client.send('Performance.enable');
    await page.goto(`${base}/workflows/${workflow.id}/edit`);
    await page.locator('.react-flow__node').first().waitFor({ timeout: 30_000 });
    await page.waitForTimeout(1500);
    const script = await metric(client, 'ScriptDuration');
    const box = await page.locator('#canvas').boundingBox();
    await page.keyboard.press('1');
    await page.locator('#canvas').focus();
    await page.keyboard.press('1');
    await page.waitForTimeout(400);
    const frames = await page.evaluate(() => new Promise((done) => { let n = 0; const start = performance.now(); const tick = () => { n += 1; if (performance.now() - start < 2000) requestAnimationFrame(tick); else done(n / 2); }; requestAnimationFrame(tick); window.panning = true; }).catch(() => 0)).catch(() => 0);
    await page.mouse.move(box.x + 400, box.y + 300);
    const counting = page.evaluate(() => new Promise((done) => { let n = 0; const start = performance.now(); const tick = () => { n += 1; if (performance.now() - start < 2500) requestAnimationFrame(tick); else done(n / 2.5); }; requestAnimationFrame(tick); }));
    await page.mouse.down();
    for (let k = 0; k < 60; k++) await page.mouse.move(box.x + 400 - k * 5, box.y + 300 - k * 2);
    await page.mouse.up();
    const fps = await counting;
    const shown = await page.locator('.react-flow__node').count();
    told.push(`${count} nodes: script ${Math.round(script * 1000)} ms to open, ${shown} in the document, ${Math.round(fps)} fps while panning (idle ${Math.round(frames)})`);
    if (shown > 200) wrong.push(`${count} nodes: ${shown} are in the document`);
    await context.close();
  }
  const { context, page } = await open(browser);
  const at = (ms) => new Date(Date.UTC(2026, 10, 20) + ms).toISOString().replace('Z', '+00:00');
  const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10, cached_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0, estimated_cost: '0.000001', currency: 'USD', unpriced: false };
  const steps = Array.from({ length: 5000 }, (_, n) => ({ id: `s${n}`, seq: n, node_id: `n${n}`, node_type: 'llm', node_title: `Step ${n}`, status: 'completed', handle: 'default', iteration: null, branch_id: null, branch_path: [], attempt: 1, checkpoint_hit: false, superseded: false, started_at: at(n * 10), finished_at: at(n * 10 + 8), duration_ms: 8, error: null, provider: null, model: null, ...usage }));
  const spans = Array.from({ length: 15000 }, (_, n) => ({ id: `p${n}`, parent_span_id: null, step_id: `s${Math.floor(n / 3)}`, node_id: null, type: 'llm', name: 'chat', model: 'm', status: 'completed', started_at: at(n * 3), finished_at: at(n * 3 + 2), duration_ms: 2, error: null, ...usage }));
  const trace = { id: 'big', trace_id: 'big', status: 'completed', entity_type: 'workflow', entity_id: workflow.id, entity_name: 'Scale', workflow_id: workflow.id, thread_id: null, input_preview: 'big', created_at: at(0), started_at: at(0), finished_at: at(50_000), duration_ms: 50_000, working_ms: 50_000, waiting_ms: 0, error: null, pauses: [], ...usage };
  await page.route('**/api/runs/big?*', (route) => route.fulfill({ json: { trace, steps, spans, children: [] } }));
  await page.route('**/api/runs/big/steps/*', (route) => route.fulfill({ json: { ...steps[0], spans: [] } }));
  const began = Date.now();
  await page.goto(`${base}/traces/big`);
  await page.locator('[role=row][aria-rowindex]').first().waitFor({ timeout: 30_000 });
  const ready = Date.now() - began;
  const counting = page.evaluate(() => new Promise((done) => { const body = document.querySelector('.wbody'); let n = 0; const start = performance.now(); const tick = () => { n += 1; body.scrollTop += 180; if (performance.now() - start < 2000) requestAnimationFrame(tick); else done(n / 2); }; requestAnimationFrame(tick); }));
  const fps = await counting;
  const heap = await page.evaluate(() => Math.round((performance.memory?.usedJSHeapSize ?? 0) / 1e6));
  const rows = await page.locator('[role=row][aria-rowindex]').count();
  told.push(`20,000 rows: first row after ${ready} ms with loading, ${rows} in the document, ${Math.round(fps)} fps while scrolling, heap ${heap} MB`);
  if (rows > 120) wrong.push(`${rows} rows are in the document`);
  if (heap > 150) wrong.push(`heap is ${heap} MB`);
  await browser.close();
  await api(`/api/workflows/${workflow.id}?force=true`, { method: 'DELETE' }).catch(() => undefined);
  return { told, wrong };
}

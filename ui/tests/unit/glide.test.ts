import { expect, it, vi } from 'vitest';

vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => undefined });
vi.stubGlobal('navigator', { platform: '', language: 'en' });
vi.stubGlobal('location', { href: 'http://a.example/studio', pathname: '/studio' });
const query = { matches: false, addEventListener: () => undefined, removeEventListener: () => undefined };
vi.stubGlobal('matchMedia', () => query);
vi.stubGlobal('document', { documentElement: { lang: 'en', dataset: {} }, querySelector: () => null });
let frames: ((now: number) => void)[] = [];
vi.stubGlobal('requestAnimationFrame', (f: (now: number) => void) => frames.push(f));
vi.stubGlobal('cancelAnimationFrame', () => {
  frames = [];
});

const { between, glideTo, useGlide } = await import('../../src/editor/glide');
const { openDocument, useEditor } = await import('../../src/editor/store');

const open = (): void =>
  openDocument({
    graph: {
      version: 1,
      nodes: [{ id: 'a', type: 'llm', position: { x: 0, y: 0 }, data: {} }],
      edges: [],
      annotations: [],
      viewport: { x: 0, y: 0, zoom: 1 },
    } as never,
  });
const frame = (now: number): void => {
  const due = frames;
  frames = [];
  for (const f of due) f(now);
};
const place = (): unknown => useEditor.getState().graph.nodes[0]?.position;

it('lies between two places, nearer to the end as time goes', () => {
  expect(between({ a: { x: 0, y: 0 } }, { a: { x: 100, y: 0 } }, 0).a?.x).toBe(0);
  expect(between({ a: { x: 0, y: 0 } }, { a: { x: 100, y: 0 } }, 0.5).a?.x).toBeCloseTo(87.5);
  expect(between({}, { a: { x: 100, y: 7 } }, 0.2).a).toEqual({ x: 100, y: 7 });
});

it('is in the document at once, and one step of the history', () => {
  open();
  glideTo({ a: { x: 100, y: 50 } });
  expect(place()).toEqual({ x: 100, y: 50 });
  expect(useGlide.getState().moved).toEqual({ a: { x: 0, y: 0 } });
  frame(1000);
  frame(1080);
  expect(useGlide.getState().moved?.a?.x).toBeCloseTo(87.5);
  frame(1170);
  expect(useGlide.getState().moved).toBeNull();
  expect(frames).toHaveLength(0);
  expect(useEditor.getState().history.past).toHaveLength(1);
});

it('does not glide where motion is unwanted', () => {
  open();
  query.matches = true;
  glideTo({ a: { x: 100, y: 50 } });
  expect([place(), useGlide.getState().moved, frames.length]).toEqual([{ x: 100, y: 50 }, null, 0]);
});

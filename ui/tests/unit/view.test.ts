import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { brought, fitted, leastZoom, sameView } from '../../src/graph/view';

const room = { left: 20, top: 20, right: 820, bottom: 520 };
const rect = (left: number, top: number, width: number, height: number) => ({ left, top, right: left + width, bottom: top + height });
const drawn = (r: ReturnType<typeof rect>, { x, y, zoom }: { x: number; y: number; zoom: number }) => ({
  left: r.left * zoom + x,
  top: r.top * zoom + y,
  right: r.right * zoom + x,
  bottom: r.bottom * zoom + y,
});

describe('the view', () => {
  it('holds a graph that fits in the middle, never larger than life', () => {
    expect(fitted(rect(100, 100, 400, 100), room, 0.7)).toEqual({ x: 120, y: 120, zoom: 1 });
    expect(fitted(rect(0, 0, 1000, 100), room, 0.7)).toMatchObject({ x: 20, zoom: 0.8 });
  });

  it('shows the beginning of a graph that would be too small to read', () => {
    const view = fitted(rect(-50, 40, 3000, 400), room, leastZoom(12));
    expect(view.zoom).toBe(0.5);
    expect(drawn(rect(-50, 40, 3000, 400), view)).toMatchObject({ left: 20, top: 170, bottom: 370 });
    expect([leastZoom(16), leastZoom(32), leastZoom(2000)]).toEqual([0.5, 0.25, 0.08]);
  });

  it('moves by as little as brings a node out from under a panel, and not at all when it is seen', () => {
    const view = { x: 0, y: 0, zoom: 0.5 };
    expect(brought(view, rect(1500, 100, 200, 100), room)).toEqual({ x: -30, y: 0, zoom: 0.5 });
    expect(brought(view, rect(-100, 2000, 200, 100), room)).toEqual({ x: 70, y: -530, zoom: 0.5 });
    fc.assert(
      fc.property(
        fc.integer({ min: -4000, max: 4000 }),
        fc.integer({ min: -4000, max: 4000 }),
        fc.double({ min: 0.2, max: 2, noNaN: true }),
        (x, y, zoom) => {
          const node = rect(x, y, 240, 130);
          const seen = brought({ x: 7, y: 9, zoom }, node, room);
          const at = drawn(node, seen);
          expect(at.left >= 19.99 && at.top >= 19.99 && at.right <= 820.01 && at.bottom <= 520.01).toBe(true);
          expect(sameView(brought(seen, node, room), seen)).toBe(true);
        },
      ),
    );
  });

  it('shows the beginning of a node that is larger than the room', () => {
    expect(drawn(rect(900, 0, 1000, 50), brought({ x: 0, y: 100, zoom: 1 }, rect(900, 0, 1000, 50), room))).toMatchObject({
      left: 20,
      top: 100,
    });
  });
});

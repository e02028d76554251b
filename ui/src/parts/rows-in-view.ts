/** Owns which rows of a long list are worth drawing: those in view and some around, all of one height. */
import { useEffect, useRef, useState, type RefObject } from 'react';

const AROUND = 10;
/** The part moves in steps, so that most scrolling draws nothing new. */
const STEP = 4;

export function partOf(top: number, height: number, row: number, count: number): [first: number, last: number] {
  const first = Math.floor(top / row / STEP) * STEP - AROUND;
  const last = Math.ceil((top + height) / row / STEP) * STEP + AROUND;
  return [Math.max(0, Math.min(first, count - 1)), Math.max(0, Math.min(last, count))];
}

export interface InView {
  box: RefObject<HTMLDivElement | null>;
  first: number;
  last: number;
  width: number;
  scrollTo: (index: number) => void;
}

export function useRowsInView(count: number, row: number): InView {
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState({ top: 0, height: 800, width: 700 });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const look = (): void =>
      setAt((before) => {
        const next = {
          top: Math.floor(element.scrollTop / row / STEP) * STEP * row,
          height: element.clientHeight,
          width: element.clientWidth,
        };
        return next.top === before.top && next.height === before.height && next.width === before.width ? before : next;
      });
    const watch = new ResizeObserver(look);
    watch.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [row]);
  const [first, last] = partOf(at.top, at.height, row, count);
  const scrollTo = (index: number): void => {
    const element = box.current;
    if (!element) return;
    const top = index * row;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + row > element.scrollTop + element.clientHeight) element.scrollTop = top + row - element.clientHeight;
  };
  return { box, first, last, width: at.width, scrollTo };
}

/** Owns the one tooltip of the application: shown on hover and focus, above everything. */
import {
  cloneElement,
  useEffect,
  useEffectEvent,
  useId,
  useRef,
  type FocusEvent,
  type PointerEvent,
  type ReactElement,
  type ReactNode,
} from 'react';
import { create } from 'zustand';

interface Shown {
  id: string;
  text: ReactNode;
  rect: DOMRect;
}
const useTip = create<{ shown: Shown | null }>(() => ({ shown: null }));
let timer = 0;

export function Tip({ text, children }: { text: ReactNode; children: ReactElement }): ReactElement {
  const id = useId();
  const show = (element: Element, wait: number): void => {
    clearTimeout(timer);
    timer = window.setTimeout(() => useTip.setState({ shown: { id, text, rect: element.getBoundingClientRect() } }), wait);
  };
  const hide = (): void => {
    clearTimeout(timer);
    if (useTip.getState().shown?.id === id) useTip.setState({ shown: null });
  };
  const leave = useEffectEvent(hide);
  useEffect(() => () => leave(), []);
  const props = children.props as Record<string, ((e: never) => void) | undefined>;
  return cloneElement(children as ReactElement<Record<string, unknown>>, {
    onPointerEnter: (e: PointerEvent) => {
      props.onPointerEnter?.(e as never);
      if (e.pointerType === 'mouse') show(e.currentTarget, 500);
    },
    onPointerLeave: (e: PointerEvent) => {
      props.onPointerLeave?.(e as never);
      hide();
    },
    onPointerDown: (e: PointerEvent) => {
      props.onPointerDown?.(e as never);
      hide();
    },
    onFocus: (e: FocusEvent) => {
      props.onFocus?.(e as never);
      if (e.currentTarget.matches(':focus-visible')) show(e.currentTarget, 300);
    },
    onBlur: (e: FocusEvent) => {
      props.onBlur?.(e as never);
      hide();
    },
    ...(typeof text === 'string' && props['aria-label'] !== (text as never) ? { 'aria-description': text } : {}),
  });
}

export function TipLayer(): ReactElement {
  const shown = useTip((s) => s.shown);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = box.current;
    if (!element || !shown) return;
    element.showPopover();
    const own = element.getBoundingClientRect();
    const below = shown.rect.bottom + 6 + own.height < window.innerHeight;
    element.style.left = `${Math.max(6, Math.min(window.innerWidth - own.width - 6, shown.rect.left + shown.rect.width / 2 - own.width / 2))}px`;
    element.style.top = `${below ? shown.rect.bottom + 6 : shown.rect.top - own.height - 6}px`;
    const onKey = (e: KeyboardEvent): void => {
      if (e.key === 'Escape') useTip.setState({ shown: null });
    };
    window.addEventListener('keydown', onKey);
    return () => {
      window.removeEventListener('keydown', onKey);
      if (element.matches(':popover-open')) element.hidePopover();
    };
  }, [shown]);
  return (
    <div ref={box} popover="manual" role="tooltip" className="tip">
      {shown?.text}
    </div>
  );
}

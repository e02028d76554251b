/** Owns short notices and the polite voice for screen readers. */
import { CircleAlert, Info, X } from 'lucide-react';
import type { ReactElement } from 'react';
import { createPortal } from 'react-dom';
import { create } from 'zustand';
import { isProblem } from '@wfstudio/client';
import { t } from '../i18n';
import { Button } from './button';
import { Icon } from './icons';
import { useLayers } from './layers';

interface Toast {
  id: number;
  text: string;
  fail: boolean;
  action?: { label: string; run: () => void };
}
const useToasts = create<{ toasts: Toast[]; said: string }>(() => ({ toasts: [], said: '' }));
let next = 1;

export function toast(text: string, options: { fail?: boolean; action?: Toast['action'] } = {}): void {
  const id = next++;
  useToasts.setState((s) => ({
    toasts: [...s.toasts.filter((x) => x.text !== text).slice(-2), { id, text, fail: !!options.fail, action: options.action }],
  }));
  setTimeout(() => drop(id), options.fail || options.action ? 9000 : 4000);
}
const drop = (id: number): void => useToasts.setState((s) => ({ toasts: s.toasts.filter((x) => x.id !== id) }));

export const textOf = (error: unknown): string =>
  isProblem(error) ? (error.code === 'offline' ? t('error.offline') : error.message) : String((error as Error)?.message ?? error);
export const toastError = (error: unknown): void => toast(t('error.action', { message: textOf(error) }), { fail: true });
export const say = (text: string): void => useToasts.setState({ said: text });

/** Everything outside of a modal dialog is out of reach: while one is open, they are in it. */
export function Toasts(): ReactElement {
  const { toasts, said } = useToasts();
  const top = useLayers((s) => s.open.at(-1));
  const shown = (
    <>
      <div className="sr" role="status" aria-live="polite">
        {said}
      </div>
      <div className="toasts" role="region" aria-label={t('status')}>
        {toasts.map((x) => (
          <div key={x.id} className={`toast${x.fail ? ' fail' : ''}`} role={x.fail ? 'alert' : 'status'}>
            <Icon as={x.fail ? CircleAlert : Info} />
            <span>{x.text}</span>
            {x.action && (
              <Button
                small
                onClick={() => {
                  x.action?.run();
                  drop(x.id);
                }}
              >
                {x.action.label}
              </Button>
            )}
            <Button look="ghost" small icon={X} label={t('close')} onClick={() => drop(x.id)} />
          </div>
        ))}
      </div>
    </>
  );
  return top ? createPortal(shown, top) : shown;
}

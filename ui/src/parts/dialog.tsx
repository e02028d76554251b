/** Owns dialogs and sheets: the browser's own, so focus stays inside and Escape leaves. */
import { X } from 'lucide-react';
import { useEffect, useId, useRef, type ReactElement, type ReactNode } from 'react';
import { t } from '../i18n';
import { Button } from './button';
import { layer } from './layers';

/** Without `onClose` there is no way out but an answer. */
interface Props {
  open: boolean;
  onClose?: () => void;
  title: ReactNode;
  children: ReactNode;
  wide?: boolean;
  sheet?: boolean;
  bare?: string;
}

export function Dialog(props: Props): ReactElement | null {
  return props.open ? <Shown {...props} /> : null;
}

function Shown({ onClose, title, children, wide, sheet, bare }: Props): ReactElement {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  /** A press that began within is none beside it, wherever it ends. */
  const within = useRef(false);
  useEffect(() => {
    const element = box.current;
    const before = document.activeElement as HTMLElement | null;
    element?.showModal();
    const gone = element && layer(element);
    // Where nothing asks for it, the dialog itself: else the first button has it, and tells its name in a tip.
    (element?.querySelector<HTMLElement>('[data-autofocus]') ?? element)?.focus();
    return () => {
      gone?.();
      if (before?.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={box}
      tabIndex={-1}
      className={bare ?? (sheet ? `sheet${wide ? ' wide' : ''}` : `dialog${wide ? ' wide' : ''}`)}
      aria-labelledby={bare ? undefined : id}
      aria-label={bare ? String(title) : undefined}
      onCancel={(e) => {
        e.preventDefault();
        onClose?.();
      }}
      onKeyDown={(e) => e.stopPropagation()}
      onPointerDown={(e) => {
        within.current = e.target !== box.current;
      }}
      onClick={(e) => {
        if (e.target === box.current && !within.current) onClose?.();
      }}
    >
      <div className="dialogbody">
        {!bare && (
          <div className="row between dialoghead">
            <h2 id={id} style={{ fontSize: 15 }}>
              {title}
            </h2>
            {onClose && <Button look="ghost" small icon={X} label={t('close')} onClick={onClose} />}
          </div>
        )}
        {children}
      </div>
    </dialog>
  );
}

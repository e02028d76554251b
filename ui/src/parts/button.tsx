/** Owns buttons; a switched-off one stays reachable and says why. */
import type { ButtonHTMLAttributes, ReactElement, ReactNode } from 'react';
import { Link } from 'wouter';
import { Icon, type IconType } from './icons';
import { Tip } from './tip';

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'title'> {
  /** `pri`, `ghost`, and further classes. */
  look?: string;
  icon?: IconType;
  small?: boolean;
  label?: string;
  reason?: string | null | false;
  children?: ReactNode;
}

export function Button({ look = '', icon, small, label, reason, children, className = '', onClick, ...rest }: Props): ReactElement {
  const classes = `btn ${look}${small ? ' sm' : ''}${children ? '' : ' ico'} ${className}`.trim();
  const button = (
    <button
      type="button"
      className={classes}
      aria-label={children ? undefined : label}
      aria-disabled={reason ? true : undefined}
      onClick={reason ? undefined : onClick}
      {...rest}
    >
      {icon && <Icon as={icon} />}
      {children}
    </button>
  );
  const text = reason || (children ? null : label);
  return text ? <Tip text={text}>{button}</Tip> : button;
}

export function LinkButton({
  to,
  look = '',
  icon,
  small,
  children,
  label,
}: {
  to: string;
  look?: string;
  icon?: IconType;
  small?: boolean;
  children?: ReactNode;
  label?: string;
}): ReactElement {
  return (
    <Link to={to} className={`btn ${look}${small ? ' sm' : ''}${children ? '' : ' ico'}`} aria-label={children ? undefined : label}>
      {icon && <Icon as={icon} />}
      {children}
    </Link>
  );
}

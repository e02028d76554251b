/** Owns the bar above a page: where you are, its tabs, its actions. */
import type { ReactElement, ReactNode } from 'react';
import { Link } from 'wouter';
import { useTitle } from './place';

export interface Crumb {
  label: ReactNode;
  to?: string;
}

export function Top({
  crumbs,
  title,
  children,
  middle,
  live,
}: {
  crumbs: Crumb[];
  title: string;
  children?: ReactNode;
  middle?: ReactNode;
  live?: boolean;
}): ReactElement {
  useTitle(title, live);
  const last = crumbs.length - 1;
  return (
    <header className="top">
      <ol className="crumb">
        {crumbs.map((crumb, n) => (
          <li key={n} className={n < last - 1 ? 'hide-s' : undefined}>
            {n > 0 && <i aria-hidden="true">/</i>}
            {n === last ? <h1 className="trunc">{crumb.label}</h1> : crumb.to ? <Link to={crumb.to}>{crumb.label}</Link> : crumb.label}
          </li>
        ))}
      </ol>
      {middle}
      <span className="sp" />
      {children}
    </header>
  );
}

/** Owns a part of a page that comes later: one that does not come, or breaks, leaves the rest of the page as it is. */
import { Suspense, type ReactElement, type ReactNode } from 'react';
import { Guard } from './states';

interface Props {
  children: ReactNode;
  fallback?: ReactNode;
  resetKey?: string;
  /** Has no place of its own on the page, as a dialog: a notice tells that it did not come. */
  loose?: boolean;
}

export const Part = ({ children, fallback, resetKey, loose }: Props): ReactElement => (
  <Guard resetKey={resetKey} part={loose ? 'loose' : 'panel'}>
    <Suspense fallback={fallback}>{children}</Suspense>
  </Guard>
);

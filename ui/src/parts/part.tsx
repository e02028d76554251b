/** Owns a part of a page that comes later: one that does not come, or breaks, leaves the rest of the page as it is. */
import { Suspense, type ReactElement, type ReactNode } from 'react';
import { Guard } from './states';

export const Part = ({ children, fallback, resetKey }: { children: ReactNode; fallback?: ReactNode; resetKey?: string }): ReactElement => (
  <Guard resetKey={resetKey} part>
    <Suspense fallback={fallback}>{children}</Suspense>
  </Guard>
);

/** Owns the drawn mark. */
import type { ReactElement } from 'react';

export function Mark(): ReactElement {
  return (
    <svg className="logo" viewBox="0 0 28 28" aria-hidden="true">
      <rect width="28" height="28" rx="8" fill="var(--ink)" />
      <path d="M7.5 9h4.2c2.6 0 2.6 10 5.2 10h3.6M11.7 9h8.8" fill="none" stroke="var(--inv)" strokeWidth="1.8" strokeLinecap="round" />
      <circle cx="7.5" cy="9" r="2.2" fill="var(--inv)" />
      <circle cx="20.5" cy="9" r="2.2" fill="var(--wait-solid)" />
      <circle cx="20.5" cy="19" r="2.2" fill="var(--inv)" />
    </svg>
  );
}

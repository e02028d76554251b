/** Owns showing Markdown: plain text until the parser has arrived. */
import { lazy, Suspense, type ReactElement } from 'react';

const Blocks = lazy(() => import('./markdown-blocks'));

export function Markdown({ text, cursor }: { text: string; cursor?: boolean }): ReactElement {
  return <Suspense fallback={<div className="md" style={{ whiteSpace: 'pre-wrap' }}>{text}</div>}><Blocks text={text} cursor={cursor} /></Suspense>;
}

/** Owns showing Markdown: plain text until the parser has arrived, once. */
import { lazy, Suspense, type ComponentType, type ReactElement } from 'react';
import { unmarked } from './one-line';

const Plain = ({ text }: { text: string }): ReactElement => (
  <div className="md" style={{ whiteSpace: 'pre-wrap' }}>
    {unmarked(text)}
  </div>
);

type Blocks = ComponentType<{ text: string; cursor?: boolean }>;
let Ready: Blocks | null = null;
const load = (): Promise<{ default: Blocks }> =>
  import('./markdown-blocks').then((module) => {
    // oxlint-disable-next-line habits/late-writes -- the same for whoever asks
    Ready = module.default;
    return module;
  });
/** Where the parser does not come, the text is there all the same. */
const Later = lazy(() => load().catch(() => ({ default: Plain })));

/** Fetches the parser before there is something to parse; where it does not come, nobody waits for it. */
export const readyMarkdown = (): Promise<void> =>
  load().then(
    () => undefined,
    () => undefined,
  );

export function Markdown({ text, cursor }: { text: string; cursor?: boolean }): ReactElement {
  if (Ready) return <Ready text={text} cursor={cursor} />;
  return (
    <Suspense fallback={<Plain text={text} />}>
      <Later text={text} cursor={cursor} />
    </Suspense>
  );
}

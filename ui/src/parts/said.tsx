/** Owns what the engine says in plain words: names between backticks are set as code. */
import { Fragment, type ReactElement } from 'react';

export const Said = ({ text }: { text: string }): ReactElement => (
  <>
    {text.split('`').map((part, n) =>
      n % 2 ? (
        <code key={n} className="mono">
          {part}
        </code>
      ) : (
        <Fragment key={n}>{part}</Fragment>
      ),
    )}
  </>
);

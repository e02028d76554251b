/** Owns what the engine says in plain words: names between backticks are set as code; why a step or a run failed. */
import { Fragment, type ReactElement, type ReactNode } from 'react';
import { tx } from '../i18n';
import { inPages } from '../i18n/sentences';
import { warningsOf, type Warning } from '../run/warnings';

export const Said = ({ text }: { text: string }): ReactElement => (
  <span>
    {text.split('`').map((part, n) =>
      n % 2 ? (
        <code key={n} className="mono">
          {part}
        </code>
      ) : (
        <Fragment key={n}>{part}</Fragment>
      ),
    )}
  </span>
);

/** What a code of a failure or a warning means, in the language of the pages; the engine's sentence says more, in English. */
export const meaning = (code: string, otherwise = ''): string => tx(`fault.${code}`, otherwise);

export function Fault({
  error: { code, message },
  more,
  beside,
}: {
  error: { code: string; message: string };
  more?: ReactNode;
  beside?: ReactNode;
}): ReactElement {
  const told = meaning(code);
  const said = <Said text={message} />;
  return (
    <div className="note-box fail" role="alert">
      <div>
        <b>{told || said}</b>
        {told && <div>{said}</div>}
        <div className="mono mut">{code}</div>
        {more}
      </div>
      {beside}
    </div>
  );
}

/** What a request was changed by, or what happened to an answer, without a failure. */
export function Warned({ list }: { list: Warning[] | null | undefined }): ReactElement | null {
  const told = warningsOf(list);
  if (told.length === 0) return null;
  return (
    <div className="note-box">
      <div>
        {told.map((w) => (
          <div key={`${w.code} ${w.message}`} className="small">
            {meaning(w.code)} <span className="mono mut">{w.code}</span> <Said text={inPages(w.message)} />
          </div>
        ))}
      </div>
    </div>
  );
}

/** Owns why something cannot be imported: each reason with its file and line. */
import type { ReactElement } from 'react';
import { isProblem } from '@wfstudio/client';
import { t } from '../i18n';
import { Said } from '../parts/said';
import { textOf } from '../parts/toast';

interface Reason {
  file?: string | null;
  line?: number | null;
  message: string;
}

/** The reasons of a refused import; none when it was refused for something else. */
export function reasonsOf(error: unknown): Reason[] {
  if (!isProblem(error)) return [];
  if (error.code === 'import_invalid') return (error.body.issues as Reason[] | undefined) ?? [];
  return error.status === 422 ? Object.values(error.errors).flatMap((all) => all.map((message) => ({ message }))) : [];
}

export function ImportWrong({ error }: { error: unknown }): ReactElement {
  const reasons = reasonsOf(error);
  return (
    <div className="note-box fail" role="alert">
      <div>
        <b>{t('import.refused')}</b>
        {reasons.length === 0 ? (
          <p>
            <Said text={textOf(error)} />
          </p>
        ) : (
          <ul className="issuelist">
            {reasons.map((reason, n) => (
              <li key={n}>
                {reason.file && (
                  <span className="mono">
                    {reason.file}
                    {reason.line ? `:${reason.line}` : ''}{' '}
                  </span>
                )}
                <Said text={reason.message} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

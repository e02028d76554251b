/** Owns what a model thought, folded until somebody wants to read it. */
import type { ReactElement } from 'react';
import { t } from '../i18n';

export const Thought = ({ text }: { text: string }): ReactElement | null =>
  text.trim() ? (
    <details className="more thought">
      <summary>{t('chat.thought')}</summary>
      <p>{text.trim()}</p>
    </details>
  ) : null;

/** Owns where a chunk stands in its document, in words, and the way there. */
import type { ReactElement } from 'react';
import { apiUrl } from '../api/root';
import { t } from '../i18n';

export interface Spot {
  knowledge_base_id?: string | null;
  document_id?: string | null;
  position?: number;
  page?: number;
  heading?: string;
  sheet?: string;
}

export function Located({ name, of }: { name?: string | null; of: Spot }): ReactElement {
  const { knowledge_base_id, document_id, position, page, heading, sheet } = of;
  const spot = Object.entries({ position, page, heading, sheet }).filter((e) => e[1] != null);
  const where = [page && t('kb.page', { n: page }), sheet, heading].filter(Boolean).join(' · ') || (position ? `#${position}` : '');
  return (
    <>
      {[knowledge_base_id, document_id].every((id) => /^[\w-]{36}$/.test(String(id))) ? (
        <a
          className="link trunc"
          target="_blank"
          rel="noreferrer"
          href={apiUrl(
            `/api/knowledge-bases/${knowledge_base_id}/documents/${document_id}/text?${new URLSearchParams(spot as [string, string][])}#here`,
          )}
        >
          {name}
        </a>
      ) : (
        <span className="trunc">{name}</span>
      )}
      {where && <span className="mut trunc">{where}</span>}
    </>
  );
}

/** Owns what an answer rests on: pages to follow, documents by name. */
import type { ReactElement } from 'react';
import { t } from '../i18n';
import type { Cited } from '../run/thoughts';

export const CitedList = ({ list }: { list: Cited[] }): ReactElement | null =>
  list.length ? (
    <ul className="cited" aria-label={t('chat.cited')}>
      {list.map((one) => (
        <li key={one.id}>
          <bdi className="trunc">
            {one.url ? (
              <a href={one.url} target="_blank" rel="noopener noreferrer nofollow" title={one.url}>
                {one.label}
              </a>
            ) : (
              one.label
            )}
          </bdi>
          {one.host && <span className="mut">{one.host}</span>}
        </li>
      ))}
    </ul>
  ) : null;

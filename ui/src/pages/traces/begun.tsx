/** Owns what is told about the start of a run: the message, files and state it began with. */
import type { ReactElement } from 'react';
import type { Trace } from '@wfstudio/client';
import { t } from '../../i18n';
import { Code } from '../../parts/code';
import { NodeTile } from '../../parts/icons';
import { Markdown } from '../../parts/markdown';

export function Begun({ name, input, preview }: { name: string; input: Trace['input']; preview: string }): ReactElement {
  return (
    <>
      <div className="ih">
        <NodeTile type="start" />
        <h2>{name}</h2>
      </div>
      <div className="ib" role="group" aria-label={name} tabIndex={0}>
        <section>
          <h2>{t('trace.in')}</h2>
          <div style={{ marginTop: 6 }}>
            <Markdown text={input?.message || preview || '–'} />
          </div>
        </section>
        {input?.attachments.map((a) => (
          <p key={a.storage_key} className="mut small">
            {a.name}
          </p>
        ))}
        {Object.keys(input?.state ?? {}).length > 0 && (
          <section>
            <h2>{t('tab.initial')}</h2>
            <Code value={input?.state} maxHeight={600} />
          </section>
        )}
      </div>
    </>
  );
}

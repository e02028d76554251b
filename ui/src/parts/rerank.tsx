/** Owns naming a reranker: its provider and model in one field; how many candidates it reads stays as it is. */
import type { ReactElement } from 'react';
import type { RerankInput } from '@wfstudio/client';
import { t } from '../i18n';
import { TextField } from './form';

interface Props {
  value: unknown;
  onChange: (value: RerankInput) => void;
  error?: string;
  disabled?: boolean;
}

export function RerankField({ value, onChange, ...more }: Props): ReactElement {
  const old = value as RerankInput | undefined;
  return (
    <TextField
      label={t('kb.rerank')}
      placeholder="cohere/rerank-v3.5"
      value={[old?.provider, old?.model].filter((x) => x != null).join('/')}
      onChange={(v) => {
        const [, provider = '', model] = /^([^/]*)(?:\/(.*))?$/.exec(v) ?? [];
        onChange(v ? { ...old, provider, model } : null);
      }}
      {...more}
    />
  );
}

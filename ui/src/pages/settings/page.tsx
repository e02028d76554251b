/** Owns the settings page: every flag and key, where its value comes from, what it gates. Never a secret. */
import { Fragment, useState, type ReactElement } from 'react';
import { useProviders, useSettings } from '../../api/queries';
import type { Provider } from '@wfstudio/client';
import { t, tx } from '../../i18n';
import { compact, count } from '../../i18n/figures';
import { SearchField } from '../../parts/listing';
import { Failure, FilteredEmpty, SkeletonRows } from '../../parts/states';
import { Top } from '../../shell/top';

const FLAGS: Record<string, string> = {
  canExport: 'codegen.enabled, codegen.export',
  canPreview: 'codegen.enabled, codegen.preview',
  canImport: 'codegen.enabled',
  canBuildTools: 'allow_builder_tools',
  asyncRuns: 'async_runs_enabled',
  usageExport: 'usage.export.enabled',
  streamAdapters: 'stream_adapters.enabled',
  templates: 'templates_enabled',
};

/** How much the engine asks of a provider; empty where nothing is limited. */
function limitsOf(provider: Provider): string {
  const limits = (provider as Provider & { limits?: Record<string, number | null> }).limits ?? {};
  return [
    limits.concurrent && t('settings.limits.concurrent', { n: count(limits.concurrent) }),
    limits.requests_per_minute && t('settings.limits.requests', { n: count(limits.requests_per_minute) }),
    limits.tokens_per_minute && t('settings.limits.tokens', { n: compact(limits.tokens_per_minute) }),
  ]
    .filter(Boolean)
    .join(' · ');
}

export default function Settings(): ReactElement {
  const settings = useSettings();
  const providers = useProviders();
  const [q, setQ] = useState('');
  const has = (...words: string[]): boolean => words.join(' ').toLowerCase().includes(q.toLowerCase());
  const flags = Object.entries(settings.data?.flags ?? {}).filter(([flag]) => has(tx(`flag.${flag}`, flag), FLAGS[flag] ?? ''));
  const named = (providers.data?.data ?? []).filter((p) => has(p.label, ...p.models.map((m) => m.id)));
  const keys = (settings.data?.keys ?? []).filter((k) => has(k.key, k.gates ?? ''));
  const show = (value: unknown): string =>
    value === null || value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value);
  return (
    <>
      <Top crumbs={[{ label: t('nav.settings') }]} title={t('nav.settings')} />
      <div className="page">
        <div className="pad">
          {settings.isPending ? (
            <div className="card">
              <SkeletonRows rows={10} />
            </div>
          ) : settings.isError && !settings.data ? (
            <Failure error={settings.error} onRetry={() => void settings.refetch()} />
          ) : (
            <>
              <div className="tools-line">
                <SearchField value={q} onChange={setQ} placeholder={t('settings.find')} />
                <span className="mut small">{t('settings.readonly')}</span>
              </div>
              {flags.length > 0 && (
                <section className="card tablewrap" tabIndex={0} aria-label={t('settings.flag')}>
                  <table>
                    <thead>
                      <tr>
                        <th scope="col">{t('settings.flag')}</th>
                        <th scope="col">{t('settings.state')}</th>
                        <th scope="col" className="hide-s">
                          {t('settings.keys')}
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      {flags.map(([flag, on]) => (
                        <tr key={flag}>
                          <td>
                            <b style={{ fontWeight: 560 }}>{tx(`flag.${flag}`, flag)}</b>
                          </td>
                          <td>{on ? t('settings.on') : <span className="mut">{t('settings.off')}</span>}</td>
                          <td className="mono mut hide-s">{FLAGS[flag] ?? ''}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </section>
              )}
              {named.length > 0 && (
                <>
                  <section className="card tablewrap" tabIndex={0} aria-label={t('settings.provider')}>
                    <table>
                      <thead>
                        <tr>
                          <th scope="col">{t('settings.provider')}</th>
                          <th scope="col">{t('settings.credential')}</th>
                          <th scope="col">{t('settings.models')}</th>
                        </tr>
                      </thead>
                      <tbody>
                        {named.map((p) => (
                          <tr key={p.id}>
                            <td style={{ paddingBlock: 6 }}>
                              <b style={{ fontWeight: 560 }}>{p.label}</b>
                              {p.id === providers.data?.default_provider && (
                                <span className="mut">
                                  {' '}
                                  · {t('default')} <span className="mono">{providers.data.default_model}</span>
                                </span>
                              )}
                              {limitsOf(p) && <div className="mut small">{limitsOf(p)}</div>}
                            </td>
                            <td>{p.configured ? t('settings.found') : <span className="mut">{t('settings.missing')}</span>}</td>
                            <td style={{ whiteSpace: 'normal', paddingBlock: 6 }}>
                              {p.configured || q ? (
                                p.models.map((m) => (
                                  <Fragment key={m.id}>
                                    <span className="pill" title={m.price ? `${m.price.input} / ${m.price.output}` : t('usage.unpriced')}>
                                      {m.id}
                                      {m.context_window ? ` · ${compact(m.context_window)}` : ''}
                                    </span>{' '}
                                  </Fragment>
                                ))
                              ) : (
                                <span className="mut">{count(p.models.length)}</span>
                              )}
                            </td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </section>
                  <p className="mut small">{t('settings.key.how')}</p>
                </>
              )}
              {flags.length + named.length + keys.length === 0 && <FilteredEmpty onClear={() => setQ('')} text={`“${q}”`} />}
              {keys.length > 0 && (
                <section className="card tablewrap" tabIndex={0} aria-label={t('settings.key')}>
                  <table>
                    <thead>
                      <tr>
                        <th scope="col">{t('settings.key')}</th>
                        <th scope="col">{t('settings.value')}</th>
                        <th scope="col">{t('settings.source')}</th>
                        <th scope="col" className="hide-m">
                          {t('settings.gates')}
                        </th>
                      </tr>
                    </thead>
                    <tbody>
                      {keys.map((k) => (
                        <tr key={k.key}>
                          <td className="mono" style={{ whiteSpace: 'normal', overflowWrap: 'anywhere', minWidth: 120 }}>
                            {k.key}
                          </td>
                          <td
                            className="mono"
                            style={{ whiteSpace: 'normal', overflowWrap: 'anywhere', paddingBlock: 6, minWidth: 96, maxWidth: 360 }}
                          >
                            {show(k.value)}
                          </td>
                          <td>
                            <span className="pill">{tx(`source.${k.source}`, k.source)}</span>
                          </td>
                          <td className="mut hide-m" style={{ whiteSpace: 'normal' }}>
                            {k.gates ?? ''}
                          </td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </section>
              )}
            </>
          )}
        </div>
      </div>
    </>
  );
}

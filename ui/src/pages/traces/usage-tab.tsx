/** Owns the maths of a step's cost: tokens, price, result as the engine stored it. */
import { Fragment, type ReactElement, type ReactNode } from 'react';
import { useProviders } from '../../api/queries';
import type { Span, Step } from '@wfstudio/client';
import { t } from '../../i18n';
import { compact, count, duration, exact, money, percent, priceless, symbol } from '../../i18n/figures';

/** What is known of one call of a model beside its tokens, as far as its span says it. */
function told(span?: Span): [Parameters<typeof t>[0], ReactNode][] {
  const rows: [Parameters<typeof t>[0], ReactNode][] = [
    ['trace.firstpiece', span?.first_piece_ms === undefined ? '' : duration(span.first_piece_ms)],
    ['trace.room', span?.waited_ms ? duration(span.waited_ms) : ''],
    ['trace.finish', span?.finish],
    ['trace.answeredby', span?.response_model === span?.model ? '' : span?.response_model],
    ['trace.answerid', span?.response_id && <span className="mono">{span.response_id}</span>],
  ];
  return rows.filter(([, value]) => !!value);
}

export function UsageTab({ step, span, spans }: { step: Step; span?: Span; spans: Span[] }): ReactElement {
  const of = span?.total_tokens !== undefined ? span : step;
  const providers = useProviders().data;
  const calls = spans.filter((s) => (s.type === 'llm' || s.type === 'embedding') && s.total_tokens !== undefined);
  return (
    <>
      <section>
        <h2>{t('trace.usage')}</h2>
        <dl className="dl">
          <dt>{t('usage.prompt')}</dt>
          <dd>{count(of.prompt_tokens)}</dd>
          {!!of.cached_tokens && (
            <>
              <dt>{t('usage.cached')}</dt>
              <dd>
                {count(of.cached_tokens)} · {percent(of.cached_tokens / (of.prompt_tokens || 1))}
              </dd>
            </>
          )}
          {!!of.cache_write_tokens && (
            <>
              <dt>{t('usage.cachewrite')}</dt>
              <dd>{count(of.cache_write_tokens)}</dd>
            </>
          )}
          <dt>{t('usage.completion')}</dt>
          <dd>{count(of.completion_tokens)}</dd>
          {!!of.reasoning_tokens && (
            <>
              <dt>{t('usage.reasoning')}</dt>
              <dd>{count(of.reasoning_tokens)}</dd>
            </>
          )}
          <dt>{t('trace.duration')}</dt>
          <dd>{duration(span?.duration_ms ?? step.duration_ms)}</dd>
          {told(span).map(([name, value]) => (
            <Fragment key={name}>
              <dt>{t(name)}</dt>
              <dd>{value}</dd>
            </Fragment>
          ))}
          <dt>{t('usage.cost')}</dt>
          <dd>
            <b>{of.total_tokens === undefined ? '–' : of.unpriced ? t('usage.unpriced') : money(of.estimated_cost, of.currency)}</b>
          </dd>
        </dl>
      </section>
      {calls.map((s) => {
        const price = providers?.data.find((p) => p.id === s.provider)?.models.find((m) => m.id === s.model)?.price;
        return (
          <section key={s.id}>
            <h3 className="mono" style={{ fontSize: 12 }}>
              {s.provider}/{s.model}
            </h3>
            {price ? (
              <dl className="dl">
                <dt>{t('usage.price', { n: compact(price.per_tokens) })}</dt>
                <dd>
                  {symbol(s.currency)} {exact(price.input)} / {exact(price.output)}
                </dd>
                <dt>{t('usage.maths')}</dt>
                <dd className="mono">
                  {count((s.prompt_tokens ?? 0) - (s.cached_tokens ?? 0) - (s.cache_write_tokens ?? 0))} × {exact(price.input)}
                  {s.cached_tokens ? ` + ${count(s.cached_tokens)} ${t('usage.cached').toLowerCase()}` : ''} + {count(s.completion_tokens)}{' '}
                  × {exact(price.output)}
                </dd>
                <dt>{t('usage.result', { n: compact(price.per_tokens) })}</dt>
                <dd className="mono">{priceless(s) ? t('usage.unpriced') : money(s.estimated_cost, s.currency)}</dd>
              </dl>
            ) : (
              <p className="mut small">{t('usage.noprice')}</p>
            )}
          </section>
        );
      })}
      <p className="mut small">{t('usage.stored')}</p>
    </>
  );
}

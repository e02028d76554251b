/** Owns what a brief trace leaves out: nulls, zeros, empty values, what is not so. */
import type { Span, Step, TraceAnswer } from '@wfstudio/client';

const USAGE = {
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  cached_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
  estimated_cost: '0.000000',
  currency: 'USD',
  unpriced: false,
};
export const STEP = {
  node_title: null,
  handle: null,
  iteration: null,
  iteration_path: '',
  branch_id: null,
  branch_path: [],
  attempt: 1,
  checkpoint_hit: false,
  superseded: false,
  finished_at: null,
  duration_ms: 0,
  error: null,
  provider: null,
  model: null,
  ...USAGE,
} satisfies Partial<Step>;
export const SPAN = {
  parent_span_id: null,
  step_id: null,
  node_id: null,
  finished_at: null,
  duration_ms: 0,
  error: null,
} satisfies Partial<Span>;

/** What is there anyway, and what may have been left out. */
type Brief<T, Left> = Omit<T, keyof Left> & Partial<T>;
export type BriefTrace = Omit<TraceAnswer, 'steps' | 'spans'> & { steps: Brief<Step, typeof STEP>[]; spans: Brief<Span, typeof SPAN>[] };

export function wholeTrace(answer: BriefTrace): TraceAnswer {
  return {
    ...answer,
    steps: answer.steps.map((step) => ({ ...STEP, ...step })),
    spans: answer.spans.map((span) => ({ ...SPAN, ...(span.type === 'llm' || span.type === 'embedding' ? USAGE : {}), ...span })),
  };
}

/** Owns what a brief trace leaves out: nulls, zeros, empty values, what is not so. */
import type { TraceAnswer as Told } from '@wfstudio/client';
import type { Span, Step, TraceAnswer, UsageFields } from './types';

const USAGE: Required<UsageFields> = {
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
export const STEP: Omit<Step, 'id' | 'seq' | 'node_id' | 'node_type' | 'status'> = {
  handle: null,
  iteration: null,
  branch_id: null,
  branch_path: [],
  attempt: 1,
  checkpoint_hit: false,
  superseded: false,
  started_at: null,
  finished_at: null,
  duration_ms: null,
  error: null,
  provider: null,
  model: null,
  ...USAGE,
};
export const SPAN: Omit<Span, 'id' | 'type' | 'name' | 'status'> = {
  parent_span_id: null,
  step_id: null,
  node_id: null,
  started_at: null,
  finished_at: null,
  duration_ms: null,
  error: null,
};

export function wholeTrace(answer: TraceAnswer): TraceAnswer {
  return {
    ...answer,
    steps: answer.steps.map((step) => ({ ...STEP, ...step })),
    spans: answer.spans.map((span) => ({ ...SPAN, ...(span.type === 'llm' || span.type === 'embedding' ? USAGE : {}), ...span })),
  };
}

/** A trace as the client has it; the pages know more of its parts than the description of the API tells. */
export const inDetail = (answer: Told): TraceAnswer => answer as unknown as TraceAnswer;

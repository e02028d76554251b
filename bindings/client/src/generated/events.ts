/** Owns the names of events. Made by `bindings/generate/client.py`; do not edit. */

export const EVENTS = [
  'thread',
  'trace_started',
  'step_started',
  'loop_iteration',
  'step_retrying',
  'checkpoint_hit',
  'model_fallback',
  'reasoning',
  'token',
  'source',
  'file',
  'tool_call',
  'tool_result',
  'rag_query',
  'branch_started',
  'branch_completed',
  'parallel_interrupt',
  'human_input_required',
  'tool_approval_required',
  'tool_approval_resolved',
  'step_completed',
  'step_failed',
  'trace_completed',
  'trace_failed',
  'trace_cancelled',
  'done',
  'error',
  'run_terminal',
] as const;

export type EventName = (typeof EVENTS)[number];

import { describe, expect, it } from 'vitest';
import { fold, noRun, type RunView } from '../../src/run/view';

function told(...events: [string, Record<string, unknown>][]): RunView {
  const view = noRun();
  events.forEach(([name, data], n) => fold(view, { id: String(n), name, data: { trace_id: 't', ...data } }, 1000 + n * 100));
  return view;
}

describe('the view of a run', () => {
  it('joins tokens, keeps usage, and rests', () => {
    const view = told(
      ['trace_started', {}],
      ['step_started', { step_id: 's', node_id: 'a', node_type: 'llm', attempt: 1, iteration: null }],
      ['token', { step_id: 's', node_id: 'a', delta: 'He' }],
      ['token', { step_id: 's', node_id: 'a', delta: 'y' }],
      [
        'step_completed',
        {
          step_id: 's',
          node_id: 'a',
          handle: 'default',
          duration_ms: 5,
          changes: { x: 1 },
          total_tokens: 7,
          prompt_tokens: 5,
          completion_tokens: 2,
          estimated_cost: '0.000001',
          unpriced: false,
        },
      ],
      ['trace_completed', { output: { x: 1 }, reply: 'Hey' }],
    );
    expect(view.steps.s).toMatchObject({ text: 'Hey', state: 'done', tokens: 7, handle: 'default' });
    expect([view.status, view.reply, view.state]).toEqual(['completed', 'Hey', { x: 1 }]);
  });

  it('keeps what a step warns of, each once', () => {
    const cut = { code: 'answer_cut', message: 'cut' };
    const view = told(
      ['trace_started', {}],
      ['step_started', { step_id: 's', node_id: 'a', node_type: 'llm' }],
      ['step_completed', { step_id: 's', node_id: 'a', warnings: [cut, { ...cut, parameter: 'max_tokens' }] }],
    );
    expect(view.steps.s?.warnings).toEqual([cut]);
  });

  it('shows a pause as waiting, never as failed, and goes on in the same step', () => {
    const pause = { step_id: 's', node_id: 'a', pause_id: 'p', pending_tools: [{ name: 'f', arguments: {}, call_id: 'c' }], message: '' };
    const view = told(
      ['trace_started', {}],
      ['step_started', { step_id: 's', node_id: 'a', node_type: 'agent' }],
      ['tool_approval_required', pause],
    );
    expect([view.status, view.steps.s?.state, view.pauses.length]).toEqual(['awaiting_tool_approval', 'waiting', 1]);
    fold(view, { id: '9', name: 'tool_approval_resolved', data: { pause_id: 'p', approved: true } }, 5000);
    fold(view, { id: '10', name: 'step_started', data: { step_id: 's', node_id: 'a', node_type: 'agent', resumed: true } }, 5001);
    expect([view.status, view.pauses.length, view.order.length, view.steps.s?.waits[0]?.to]).toEqual(['running', 0, 1, 5001]);
  });

  it('ignores events it does not know', () => {
    expect(() => told(['something_new', { deep: { er: 1 } }])).not.toThrow();
  });
});

/** Owns what the compiler has to accept and to refuse; it is compiled, not run. */
import { type ChatEvent, type EventTraceStarted, Studio, type WorkflowEvent } from '../src/index.js';

const studio = await Studio.open();

export async function accepted(): Promise<unknown[]> {
  const told: unknown[] = [];
  for await (const event of studio.run({ workflow: 'draft', message: 'hi' })) {
    if (event.name === 'token') told.push(event.data.delta.toUpperCase());
    if (event.name === 'trace_started') told.push(event.data satisfies EventTraceStarted);
    // @ts-expect-error the data of another event
    if (event.name === 'thread') told.push(event.data.delta);
    // @ts-expect-error there is no such event
    if (event.name === 'tokens') break;
    // @ts-expect-error an event of a chat turn
    if (event.name === 'done') break;
  }
  for await (const event of studio.run({ agent: 'a', message: 'hi' })) if (event.name === 'done') break;
  for await (const event of studio.resume({ trace_id: 'x', approval: 'approve' })) told.push(event satisfies WorkflowEvent | ChatEvent);
  studio.answer('gate', ({ gate, path }) => ({ allow: gate.length > 0 && path !== '' }));
  studio.answer('provider.chat', async function* ({ model }, { signal }) {
    if (!signal.aborted) yield { delta: model.toUpperCase() };
  });
  return told;
}

export function refused(): void {
  // @ts-expect-error a member of another call
  studio.answer('gate', ({ model }) => ({ allow: model }));
  // @ts-expect-error there is no such call
  studio.answer('gates', () => ({}));
}

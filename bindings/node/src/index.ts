/** Workflow Studio inside a Node.js, Bun or Deno application. */

export type { Definable, StudioAgent, StudioTool, StudioWorkflow } from './contracts.js';
export { type Problem, StudioError, UnsupportedPlatform } from './errors.js';
export { type ChatEvent, type EventOf, Events, type StudioEvent, type WorkflowEvent } from './events.js';
export type { EventName, HostOp, Op } from './generated.js';
export type { Answer, CallContext, Tool, ToolDeclaration } from './host.js';
export type { HttpAnswer, HttpRequest } from './http/answer.js';
export { type Config, type RunRequest, Studio } from './studio.js';
export type * from './wire.js';

/** Owns what the package offers. */
export { Client } from './client.js';
export { newKey, Requests, withQuery, type Call, type ClientOptions, type Query, type Request } from './requests.js';
export { EVENTS, type EventName } from './generated/events.js';
export type * from './generated/schemas.js';
export type { Operations, Streams } from './generated/operations.js';
export type { End } from './line.js';
export { isProblem, Problem } from './problem.js';
export { parseEvents, readEvents, type StudioEvent } from './sse.js';
export { atRest, follow, tailPath, type Follow, type RunStatus } from './follow.js';
export { Stream, type ChatEvent, type EventOf, type Starting, type WorkflowEvent } from './stream.js';
export type { Undo } from './tab.js';

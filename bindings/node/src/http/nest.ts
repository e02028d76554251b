/** Owns the mount for Nest, on Express or Fastify, and a module that gives the studio to providers and closes it with the application. */

import { Studio } from '../studio.js';
import { type Marks, mount as mountExpress } from './express.js';
import { mount as mountFastify } from './fastify.js';

export type { Marks } from './exchange.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Anything = any;

interface Application {
  use(...handlers: Anything[]): unknown;
  getHttpAdapter(): { getType(): string; getInstance(): Anything };
}

/** Mounts the studio at its own prefixes; call it before `listen`. `marks` are asked with the request of the framework below. */
export async function mount<R = Anything>(app: Application, studio: Studio, marks: Marks<R> = {}): Promise<void> {
  const adapter = app.getHttpAdapter();
  if (adapter.getType() === 'fastify') await mountFastify(adapter.getInstance(), studio, marks);
  else mountExpress(app, studio, marks);
}

/** `imports: [StudioModule.forRoot(studio)]`: `Studio` can be injected everywhere, and is closed when the application is. */
export class StudioModule {
  static forRoot(studio: Studio) {
    const closing = { provide: 'WFSTUDIO_CLOSING', useValue: { onModuleDestroy: () => studio.close() } };
    return { module: StudioModule, global: true, providers: [{ provide: Studio, useValue: studio }, closing], exports: [Studio] };
  }
}

/** Owns waiting for news of an engine without a thread of the runtime: its socket is read by the event loop. */

import { Socket } from 'node:net';
import { CODES } from './generated.js';
import type { Native } from './native.js';

/** Tells about news until it is ended. A held one keeps the process alive. */
export interface Watch {
  hold(held: boolean): void;
  end(): void;
}

type BunSocket = Record<'ref' | 'unref' | 'end', () => void>;
interface BunRuntime {
  connect(options: { fd: number; socket: Record<string, (...values: never[]) => void> }): Promise<BunSocket>;
}

export function watch(native: Native, engine: number, news: (handles?: number[]) => void): Watch {
  const descriptor: number = native.functions.studio_engine_fd(engine);
  if (descriptor < 0) return asked(native, engine, news);
  const look = () => news();
  const bun = (globalThis as { Bun?: BunRuntime }).Bun;
  return bun ? watchedByBun(bun, descriptor, look) : watched(descriptor, look);
}

function watched(descriptor: number, news: () => void): Watch {
  // What is read says nothing: it goes into one buffer, which nobody looks at.
  const onread = { buffer: Buffer.alloc(64), callback: () => (news(), true) };
  const socket = new Socket({ fd: descriptor, readable: true, writable: false, onread });
  // The engine closes its end when it is closed.
  socket.on('error', () => socket.destroy());
  socket.unref();
  return { hold: (held) => void (held ? socket.ref() : socket.unref()), end: () => void socket.destroy() };
}

/** `net.Socket` of Bun does not read a descriptor that it is given. */
function watchedByBun(bun: BunRuntime, descriptor: number, news: () => void): Watch {
  let [socket, held, ended]: [BunSocket | undefined, boolean, boolean] = [undefined, false, false];
  const settle = () => (ended ? socket?.end() : held ? socket?.ref() : socket?.unref());
  const nothing = () => {};
  const told = { open: nothing, data: news, close: nothing, error: nothing, end: nothing, drain: nothing };
  void bun.connect({ fd: descriptor, socket: told }).then((opened) => {
    socket = opened;
    settle();
    news();
  }, nothing);
  const set = (change: () => void) => (change(), void settle());
  return { hold: (yes) => set(() => (held = yes)), end: () => set(() => (ended = true)) };
}

/** Where there is no descriptor: a thread of the runtime waits. */
function asked(native: Native, engine: number, news: (handles?: number[]) => void): Watch {
  let ended = false;
  const [handles, count] = [new BigUint64Array(64), new BigUint64Array(1)];
  void (async () => {
    while (!ended) {
      const code = await native.later('studio_ready', engine, TURN_MS, handles, handles.length, count);
      if (code < 0) return;
      if (code === CODES.OK) news(Array.from(handles.subarray(0, Number(count[0])), Number));
    }
  })();
  return { hold: () => {}, end: () => void (ended = true) };
}

const TURN_MS = 1000;

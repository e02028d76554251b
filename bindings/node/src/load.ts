/** Owns loading: the library that was found, with each function bound as it is asked for. */

import { readFileSync } from 'node:fs';
import koffi, { type LibraryHandle } from 'koffi';
import { FUNCTIONS } from './generated.js';
import { bundledFile, find, mappedFiles } from './library.js';

export type Name = keyof typeof FUNCTIONS;
type Function = ReturnType<LibraryHandle['func']>;
export type Functions = Record<Name, Function>;

export function load(): Functions {
  return find({
    environment: process.env,
    platform: process.platform,
    arch: process.arch,
    mapped: mappedFiles(),
    version: JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version,
    bundled: bundledFile,
    load: (file) => bind(koffi.load(file)),
    versions: (functions) => ({ abi: functions.studio_abi_version(), version: functions.studio_version() }),
    warn: (message) => process.emitWarning(message),
  }).library;
}

function bind(library: LibraryHandle): Functions {
  const bound = {} as Functions;
  for (const [name, prototype] of Object.entries(FUNCTIONS)) {
    let made: Function | undefined;
    Object.defineProperty(bound, name, { get: () => (made ??= library.func(prototype)) });
  }
  return bound;
}

/** Owns finding the library: named by the environment, in the package of this platform, or installed in the system; and what it has to be. */

import { readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, isAbsolute, join } from 'node:path';
import { UnsupportedPlatform } from './errors.js';
import { ABI_VERSION } from './generated.js';

/** What is asked of the surroundings; tests give their own. */
export interface Surroundings<L> {
  environment: Record<string, string | undefined>;
  platform: string;
  arch: string;
  /** The files that are mapped into this process; empty where that cannot be told. */
  mapped: string[];
  /** The version of this package. */
  version: string;
  /** The file of a package of this name; throws where it is not installed. */
  bundled(name: string): string;
  load(path: string): L;
  /** The version of the C functions and of the library. */
  versions(library: L): { abi: number; version: string };
  warn(message: string): void;
}

const FILES: Record<string, string> = { linux: 'libwfstudio.so', darwin: 'libwfstudio.dylib', win32: 'wfstudio.dll' };
const SYSTEM: Record<string, string> = { linux: 'libwfstudio.so.1', darwin: 'libwfstudio.1.dylib', win32: 'wfstudio.dll' };

/** The library, loaded, with its path. */
export function find<L>(from: Surroundings<L>): { library: L; path: string } {
  const named = from.environment.WFSTUDIO_LIBRARY;
  if (named) return { library: given(named, from), path: named };
  const tried: string[] = [];
  const triple = tripleOf(from);
  const own = `@wfstudio/lib-${triple}`;
  let path: string | undefined;
  try {
    path = from.bundled(own);
  } catch {
    tried.push(`package ${own}: not installed`);
  }
  if (path !== undefined) {
    refuseSecond(path, from);
    try {
      const library = from.load(path);
      check(library, path, from, true);
      return { library, path };
    } catch (failure) {
      if (failure instanceof UnsupportedPlatform) throw failure;
      tried.push(`${path}: ${told(failure)}`);
    }
  }
  const system = SYSTEM[from.platform];
  if (system && from.platform !== 'win32') {
    const there = from.mapped.find((file) => isOurs(file));
    try {
      const library = from.load(there ?? system);
      check(library, there ?? system, from, false);
      return { library, path: there ?? system };
    } catch (failure) {
      if (failure instanceof UnsupportedPlatform) throw failure;
      tried.push(`${there ?? system} of the system: ${told(failure)}`);
    }
  }
  throw new UnsupportedPlatform(
    `no library of Workflow Studio for ${triple}:\n${tried.map((place) => `  ${place}\n`).join('')}` +
      `install it with \`npm install ${own}@${from.version}\`, or name a file in WFSTUDIO_LIBRARY`,
  );
}

function given<L>(path: string, from: Surroundings<L>): L {
  if (!isAbsolute(path)) throw new UnsupportedPlatform(`WFSTUDIO_LIBRARY is \`${path}\`: give an absolute path`);
  refuseSecond(path, from);
  let library: L;
  try {
    library = from.load(path);
  } catch (failure) {
    throw new UnsupportedPlatform(`${path}, named by WFSTUDIO_LIBRARY, for ${tripleOf(from)}: ${told(failure)}`);
  }
  check(library, path, from, false);
  return library;
}

/** Two copies of the library in one process would drop each other's locks on the database. */
function refuseSecond<L>(path: string, from: Surroundings<L>): void {
  const first = from.mapped.find((file) => isOurs(file));
  if (first !== undefined && real(first) !== real(path)) {
    throw new UnsupportedPlatform(
      `this process has ${first} loaded; ${path} would be a second copy, and their locks on a database do not know each other`,
    );
  }
}

function check<L>(library: L, path: string, from: Surroundings<L>, bundled: boolean): void {
  let versions;
  try {
    versions = from.versions(library);
  } catch (failure) {
    throw new UnsupportedPlatform(`${path} is no library of Workflow Studio: ${told(failure)}`);
  }
  const { abi, version } = versions;
  const [major, minor] = [abi >> 16, abi & 0xffff];
  const [wanted, least] = [ABI_VERSION >> 16, ABI_VERSION & 0xffff];
  if (major !== wanted || minor < least) {
    throw new UnsupportedPlatform(
      `${path} has the functions ${major}.${minor}; this package needs ${wanted}.${least} or a later ${wanted}`,
    );
  }
  if (version === from.version) return;
  const differs = `${path} is version ${version}, this package ${from.version}`;
  if (bundled) throw new UnsupportedPlatform(`${differs}: install both with the same version`);
  from.warn(differs);
}

/** `linux-x64`, `linux-x64-musl`, `darwin-arm64` … : the loader that is mapped into the process says whether it is musl's. */
function tripleOf<L>(from: Surroundings<L>): string {
  const musl = from.platform === 'linux' && from.mapped.some((file) => /\/(ld-musl-|libc\.musl-)[^/]*$/.test(file));
  return `${from.platform}-${from.arch}${musl ? '-musl' : ''}`;
}

// The file of a loaded library may have been replaced since, by another installation.
function isOurs(file: string): boolean {
  return /(^|\/)libwfstudio\.(so|dylib)(\.\d+)*( \(deleted\))?$/.test(file);
}

function told(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The files that are mapped into this process, as Linux tells them. */
export function mappedFiles(): string[] {
  try {
    const lines = readFileSync('/proc/self/maps', 'utf8').split('\n');
    return [...new Set(lines.flatMap((line) => /^(?:\S+\s+){5}(\/.*)$/.exec(line)?.[1] ?? []))];
  } catch {
    return [];
  }
}

/** The library's file in an installed package. */
export function bundledFile(name: string): string {
  const require = createRequire(import.meta.url);
  const file = FILES[process.platform];
  if (file === undefined) throw new Error(`no library for ${process.platform}`);
  return join(dirname(require.resolve(`${name}/package.json`)), file);
}

/** Owns the errors of this package: refusals of the library with their problem document, and a library that cannot be loaded. */

import { CODES } from './generated.js';
import type { ProblemBody } from './wire.js';

/** A problem document (RFC 9457) of the studio. */
export type Problem = Partial<ProblemBody> & { [member: string]: unknown };

const NAMES = new Map<number, string>(Object.entries(CODES).map(([name, code]) => [code, name]));

/** The library refused, or failed. */
export class StudioError extends Error {
  override name = 'StudioError';
  /** The code of the C functions, negative. */
  readonly code: number;
  /** The name of that code, such as `NOT_FOUND`. */
  readonly kind: string;
  /** The HTTP status that goes with it, where the library told a problem. */
  readonly status: number | undefined;
  readonly problem: Problem | undefined;

  constructor(code: number, text = '') {
    const problem = problemOf(text);
    const kind = NAMES.get(code) ?? String(code);
    super(problem?.detail ?? (text || kind.toLowerCase().replaceAll('_', ' ')));
    this.code = code;
    this.kind = kind;
    this.problem = problem;
    this.status = problem?.status;
  }
}

function problemOf(text: string): Problem | undefined {
  try {
    const read: unknown = JSON.parse(text);
    return read !== null && typeof read === 'object' ? (read as Problem) : undefined;
  } catch {
    return undefined;
  }
}

/** There is no library for this platform, or none that can be used; the message lists each place that was tried. */
export class UnsupportedPlatform extends Error {
  override name = 'UnsupportedPlatform';
}

/** Owns the warnings of a step or an answer: what a request was changed by, and what happened without a failure. */
export interface Warning {
  code: string;
  message: string;
}

/** The warnings in an event; the same is told once. */
export function warningsOf(told: unknown): Warning[] {
  const list = Array.isArray(told) ? (told as Partial<Warning>[]) : [];
  const all = list.map((w) => ({ code: String(w.code ?? ''), message: String(w.message ?? '') }));
  return all.filter((w, at) => all.findIndex((one) => one.code === w.code && one.message === w.message) === at);
}

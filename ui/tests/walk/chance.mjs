/** Owns chance that a seed repeats. */

/** Numbers from 0 to 1, the same for the same seed. */
export function chance(seed) {
  let at = seed >>> 0;
  return () => {
    at = (at + 0x6d2b79f5) >>> 0;
    let t = at;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The same number from 0 to 1 for the same words. */
export function lot(...words) {
  let h = 2166136261;
  for (const c of words.join('\n')) h = Math.imul(h ^ c.charCodeAt(0), 16777619);
  return chance(h)();
}

export const pick = (list, x) => list[Math.min(list.length - 1, Math.floor(x * list.length))];

/** One of `[weight, …]`, each as often as it weighs. */
export function weighted(list, x) {
  let left = x * list.reduce((sum, [weight]) => sum + weight, 0);
  return list.find(([weight]) => (left -= weight) < 0) ?? list[0];
}

/** Owns sentences of the engine in the language of the pages: an English pattern with numbered gaps, `{0}`, for each. */
type Pairs = readonly (readonly string[])[];

let pairs: Pairs = [];

export function learnSentences(known: Pairs): void {
  pairs = known;
}

/** What stands in the gaps of a pattern when it is this sentence: at its end one word, as the rest of another sentence may be anything. */
function gaps(pattern: string, sentence: string): string[] | null {
  const [begin = '', ...literals] = pattern.split(/\{\d+\}/);
  if (!sentence.startsWith(begin)) return null;
  const found: string[] = [];
  let at = begin.length;
  for (const [n, literal] of literals.entries()) {
    const end = n === literals.length - 1 ? sentence.length - literal.length : sentence.indexOf(literal, at);
    if (end < at || !sentence.startsWith(literal, end) || (!literal && sentence.includes(' ', at))) return null;
    found.push(sentence.slice(at, end));
    at = end + literal.length;
  }
  return at === sentence.length ? found : null;
}

function whole(sentence: string): string | null {
  for (const [english = '', other = ''] of pairs) {
    const found = gaps(english, sentence);
    if (found) return other.replace(/\{(\d+)\}/g, (_, n: string) => found[Number(n)] ?? '');
  }
  return null;
}

/** A sentence of the engine in the language of the pages, or both sides of its first colon; what is not known stays as it is. */
export function inPages(sentence: string): string {
  const [head = '', ...rest] = sentence.split(': ');
  return (
    whole(sentence) ??
    [head, rest.join(': ')]
      .filter(Boolean)
      .map((half) => whole(half) ?? half)
      .join(': ')
  );
}

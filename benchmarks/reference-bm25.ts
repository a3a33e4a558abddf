/** A plain BM25 to compare with, in the form of its textbook: every document is scored, and nothing of core is used. */

// k1 0.9, b 0.4 and these words: what Lucene-based baselines of the public collections use (Anserini).
const K1 = 0.9;
const B = 0.4;
const STOP_WORDS = new Set(
  "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was will with".split(
    " ",
  ),
);

/** Gives the ids of the documents that hold words of a query, best first. */
export function createReferenceBm25(
  documents: readonly { readonly id: string; readonly text: string }[],
): (query: string, limit: number) => readonly string[] {
  const counted = documents.map(({ id, text }) => {
    const words = wordsOf(text);
    return { id, length: words.length, counts: countsOf(words) };
  });
  const average = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length);
  const holding = new Map<string, number>();
  for (const { counts } of counted)
    for (const word of counts.keys()) holding.set(word, (holding.get(word) ?? 0) + 1);
  const rarityOf = (word: string): number => {
    const found = holding.get(word) ?? 0;
    return Math.log(1 + (counted.length - found + 0.5) / (found + 0.5));
  };
  return (query, limit) => {
    const asked = wordsOf(query).map((word) => ({ word, rarity: rarityOf(word) }));
    return counted
      .map(({ id, length, counts }) => {
        const norm = K1 * (1 - B + (B * length) / average);
        const score = asked.reduce((sum, { word, rarity }) => {
          const count = counts.get(word) ?? 0;
          return sum + (rarity * count) / (count + norm);
        }, 0);
        return { id, score };
      })
      .filter(({ score }) => score > 0)
      .sort((left, right) => right.score - left.score || (left.id < right.id ? -1 : 1))
      .slice(0, limit)
      .map(({ id }) => id);
  };
}

function wordsOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !STOP_WORDS.has(word)).map(withoutEnding);
}

/** The S-stemmer and the commonest endings of verbs (D. Harman, "How effective is suffixing?", JASIS 42(1), 1991). */
function withoutEnding(word: string): string {
  if (word.length < 4) return word;
  const singular = word
    .replace(/(?<![ea])ies$/, "y")
    .replace(/(?<![aeo])es$/, "e")
    .replace(/(?<![us])s$/, "");
  const base = singular.replace(/(?:ing|ed|ly)$/, "").replace(/(?:ation|ition|ion)$/, "");
  return (base.length < 3 ? singular : base).replace(/e$/, "").replace(/([^aeiouls])\1$/, "$1");
}

function countsOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** The nearest of some names, for "did you mean" hints. */

// Longer words are text, not names; comparing them would cost time and help nobody.
const MAX_WORD_LENGTH = 128;

/**
 * The candidates closest to `word`, best first, at most `max` (default 3). Case and a wrong letter in three are
 * forgiven, and so is a name that contains the other. Empty when nothing is near. Never throws.
 */
export function nearest(word: string, candidates: Iterable<string>, max: number = 3): readonly string[] {
  if (word.length === 0 || word.length > MAX_WORD_LENGTH) return [];
  const wanted = word.toLowerCase();
  const scored: { readonly name: string; readonly score: number }[] = [];
  for (const name of candidates) {
    const score = distance(wanted, name.toLowerCase());
    if (score !== undefined) scored.push({ name, score });
  }
  return scored
    .sort((one, two) => one.score - two.score)
    .slice(0, max)
    .map((entry) => entry.name);
}

/** Lower is nearer; undefined is not near at all. */
function distance(word: string, candidate: string): number | undefined {
  if (candidate.length > MAX_WORD_LENGTH) return undefined;
  const length = Math.max(word.length, candidate.length);
  const edits = editDistance(word, candidate);
  if (edits <= Math.max(1, Math.floor(length / 3))) return edits / length;
  const shorter = Math.min(word.length, candidate.length);
  if (shorter >= 3 && (candidate.includes(word) || word.includes(candidate))) return 1 + edits / length;
  return undefined;
}

/** Insertions, deletions and substitutions (Levenshtein). */
function editDistance(one: string, two: string): number {
  let last = Array.from({ length: two.length + 1 }, (_, index) => index);
  for (let row = 0; row < one.length; row += 1) {
    const current = [row + 1];
    for (let at = 0; at < two.length; at += 1) {
      const replaced = (last[at] ?? 0) + (one[row] === two[at] ? 0 : 1);
      current.push(Math.min((last[at + 1] ?? 0) + 1, (current[at] ?? 0) + 1, replaced));
    }
    last = current;
  }
  return last[two.length] ?? 0;
}

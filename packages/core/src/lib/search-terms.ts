/** What a text is found by: its words, in one form for text and query alike. */

import { stem } from "./stem.ts";

/** Scripts that are written without spaces between words; they are indexed as pairs of characters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/u;
const PIECES = new RegExp(`${UNSPACED.source}|[\\p{L}\\p{N}]+`, "gu");
const LATIN_MARKS = /(\p{Script=Latin})[\u0300-\u036f]+/gu;

/**
 * The terms of a text in order, repeats included: lower case, compatibility forms and Latin accents folded, English
 * endings cut (Porter), Chinese, Japanese, Korean and other unspaced scripts as pairs of characters. A query is cut in
 * the same way, so nothing of it reaches a query language as syntax. Spec state.md section 6.
 */
export function searchTerms(text: string): readonly string[] {
  const folded = text.normalize("NFKD").replace(LATIN_MARKS, "$1").normalize("NFKC").toLowerCase();
  return Array.from(folded.matchAll(PIECES), ([piece]) => piece).flatMap((piece) =>
    UNSPACED.test(piece) ? pairsOf(piece) : [stem(piece)],
  );
}

function pairsOf(piece: string): readonly string[] {
  const characters = Array.from(piece);
  if (characters.length < 3) return [piece];
  return characters.slice(1).map((character, index) => `${characters[index] ?? ""}${character}`);
}

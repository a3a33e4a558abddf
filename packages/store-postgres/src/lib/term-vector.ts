/** A text as Postgres indexes it, and a query for it: made of the same terms as the index in memory. */

import { digest } from "@openfunctions/core";
import { searchTerms } from "@openfunctions/core/search";

/** What is stored of a text's terms. */
export interface TermVector {
  /** The text form of a `tsvector`: each term with the positions 1 to how often it occurs. */
  readonly vector: string;
  /** How many terms the text has, repeats included. */
  readonly count: number;
}

/** A term of a query, and how often it occurs there. */
export interface QueryTerm {
  readonly term: string;
  readonly times: number;
  /** The text form of a `tsquery` of this term alone. */
  readonly lexeme: string;
}

// A lexeme keeps at most 255 positions and has at most 2,046 bytes.
const MAX_POSITIONS = 255;
const MAX_TERM_CHARS = 500;
// Each is looked for in each chunk that has one of them.
const MAX_QUERY_TERMS = 128;

/** The terms of a text. */
export function termVector(text: string): TermVector {
  const terms = searchTerms(text);
  const lexemes = [...countsOf(terms)].map(
    ([term, times]) => `${quote(term)}:${POSITIONS[Math.min(times, MAX_POSITIONS)]}`,
  );
  return { vector: lexemes.join(" "), count: terms.length };
}

/** The first 128 different terms of a query. */
export function queryTerms(query: string): readonly QueryTerm[] {
  const counts = [...countsOf(searchTerms(query))].slice(0, MAX_QUERY_TERMS);
  return counts.map(([term, times]) => ({ term, times, lexeme: quote(term) }));
}

const POSITIONS: readonly string[] = Array.from({ length: MAX_POSITIONS + 1 }, (_, times) =>
  Array.from({ length: times }, (__, index) => index + 1).join(","),
);

function countsOf(terms: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) {
    const key = term.length > MAX_TERM_CHARS ? digest("term", term) : term;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Terms are letters and digits; the marks of the language are doubled all the same. */
function quote(term: string): string {
  return `'${term.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

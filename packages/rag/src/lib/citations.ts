/** Numbers what was found for a prompt, and checks an answer against it. Answers are never changed. */

import { fenceData } from "@openfunctions/core";
import type { Hit } from "./search-documents.ts";

/** A numbered source of a prompt. */
export interface CitedSource {
  /** From 1, in the order of the hits; cited as `[1]`. */
  readonly number: number;
  readonly documentId: string;
  readonly start: number;
  readonly end: number;
  readonly title?: string;
  readonly uri?: string;
}

/** What a prompt says of its sources. */
export interface Citations {
  /** Each source with its number, fenced as data. */
  readonly prompt: string;
  readonly sources: readonly CitedSource[];
}

/** A span in quotation marks, and what was found of it. */
export interface CheckedQuote {
  readonly text: string;
  /** Where it stands in the answer, behind the mark. */
  readonly at: number;
  /** The sources cited for it; none where the answer names none. */
  readonly cited: readonly number[];
  /** Where it occurs word for word: in what is cited, or in any source where nothing is. */
  readonly found?: {
    readonly number: number;
    readonly documentId: string;
    readonly start: number;
    readonly end: number;
  };
}

/** What is true of an answer's citations. */
export interface CitationCheck {
  /** True where every quote was found and every citation has a source. */
  readonly ok: boolean;
  readonly quotes: readonly CheckedQuote[];
  /** Numbers that were cited and have no source, and where they stand in the answer. */
  readonly dangling: readonly { readonly number: number; readonly at: number }[];
  /** The sources that were cited. */
  readonly cited: readonly number[];
}

const CITATION = /\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\]/g;
const QUOTE =
  /"([^"\n]{1,2000})"|“([^”\n]{1,2000})”|„([^“”\n]{1,2000})[“”]|«([^»\n]{1,2000})»|「([^」\n]{1,2000})」/g;
/** How far behind a quote its citation may stand, in the same sentence. */
const REACH_CHARS = 120;

/** Numbers hits for a prompt. */
export function cite(hits: readonly Hit[]): Citations {
  const sources = hits.map(({ documentId, start, end, title, uri }, index): CitedSource => {
    const origin = { ...(title === undefined ? {} : { title }), ...(uri === undefined ? {} : { uri }) };
    return { number: index + 1, documentId, start, end, ...origin };
  });
  const blocks = hits.map(({ content, documentId, title }, index) => {
    const name = title === undefined ? "" : ` ${title.replace(/\s+/g, " ")}`;
    return `[${index + 1}]\n${fenceData(content, `document ${documentId}${name}`)}`;
  });
  return { prompt: blocks.join("\n\n"), sources };
}

/** Looks up every quoted span of an answer in the hits it was made from, and every number it cites. */
export function checkCitations(answer: string, hits: readonly Hit[]): CitationCheck {
  const numbers = Array.from(answer.matchAll(CITATION), ({ 1: list = "", index }) =>
    numbersIn(list).map((number) => ({ number, at: index })),
  ).flat();
  const isSource = (number: number): boolean => number >= 1 && number <= hits.length;
  const dangling = numbers.filter(({ number }) => !isSource(number));
  const quotes = Array.from(answer.matchAll(QUOTE), (match): CheckedQuote => {
    const text = match.slice(1).find((group) => group !== undefined) ?? "";
    const cited = citedBehind(answer.slice(match.index + match[0].length));
    const places = cited.length === 0 ? hits.map((_, index) => index + 1) : cited.filter(isSource);
    const found = places
      .map((number) => findQuote(text, number, hits[number - 1]))
      .find((one) => one !== undefined);
    return { text, at: match.index + 1, cited, ...(found === undefined ? {} : { found }) };
  });
  const cited = [...new Set(numbers.map(({ number }) => number).filter(isSource))].toSorted((a, b) => a - b);
  return {
    ok: dangling.length === 0 && quotes.every(({ found }) => found !== undefined),
    quotes,
    dangling,
    cited,
  };
}

/** The citations right behind a quote: before the next quote and the end of its sentence. */
function citedBehind(rest: string): readonly number[] {
  const near = /^[^"“„«「\n]*/.exec(rest.slice(0, REACH_CHARS))?.[0] ?? "";
  const [, run = ""] =
    /^(?:[^[.!?]|\.(?=\s*\[)|[!?](?=\s*\[))*?((?:\s*\[\d{1,4}(?:\s*,\s*\d{1,4})*\])+)/.exec(near) ?? [];
  return Array.from(run.matchAll(CITATION), ({ 1: list = "" }) => numbersIn(list)).flat();
}

function numbersIn(list: string): readonly number[] {
  return list.split(",").map(Number);
}

/** White space counts as one space: a prompt's lines are not a model's. */
function findQuote(text: string, number: number, hit: Hit | undefined): CheckedQuote["found"] {
  const words = text.trim().split(/\s+/).map(escaped);
  const match = hit && new RegExp(words.join("\\s+"), "u").exec(hit.content);
  if (!match || !hit) return undefined;
  const start = hit.start + match.index;
  return { number, documentId: hit.documentId, start, end: start + match[0].length };
}

function escaped(word: string): string {
  return word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

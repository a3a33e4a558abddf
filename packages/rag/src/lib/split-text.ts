/** Cuts a text into the smallest pieces that chunks are made of: sentences, lines, and parts of what is too long. */

import { fenceAfter, linesOf, sectionsOf, type TextShape } from "./text-shape.ts";

/** What stands before a piece: nothing one would cut at, a sentence's end, a block's, a section's. */
export type Bond = "cut" | "sentence" | "block" | "section";

/** A paragraph, a code fence, a table; a heading belongs to what follows it. */
export interface Block {
  /** Index of its first piece. */
  readonly first: number;
  cost: number;
}

/** A piece. `cost` is what it takes of a chunk's size. */
export interface Piece {
  readonly start: number;
  readonly end: number;
  readonly cost: number;
  readonly bond: Bond;
  readonly block: Block;
}

/** How long a range is, in the unit of the sizes. */
export type Measure = (start: number, end: number) => number;

interface Span {
  readonly start: number;
  readonly end: number;
  readonly bond: "block" | "section";
  readonly byLine: boolean;
}

const SENTENCES = new Intl.Segmenter("en", { granularity: "sentence" });
const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });
/** The segmenter ends a sentence after these; it does not end there. */
const ABBREVIATION =
  /(?:^|[\s([{"'“‘])(?:Dr|Mr|Mrs|Ms|Prof|Rev|Hon|St|Jr|Sr|Gen|Col|Lt|Sgt|Capt|Gov|Sen|Rep|vs|etc|cf|al|approx|ca|dept|est|Inc|Ltd|Co|Corp|Bros|No|Nos|Vol|vol|pp|p|Fig|fig|Eq|Sec|Ch|ed|eds|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|bzw|usw|e\.g|i\.e|a\.m|p\.m|U\.S(?:\.A)?|U\.K|U\.N|Ph\.D|[A-Za-z])\.\s*$/;
const ABBREVIATION_CHARS = 24;
/** An end of line inside a paragraph ends no sentence, except before an item of a list. */
const SOFT_BREAK = /\r?\n(?![ \t]*(?:[-*+•]|\d{1,9}[.)])[ \t])/g;
const TABLE_ROW = /^[ \t]*\|/;

/** The pieces of a text, in order; together they are the text, and none costs more than `limit`. */
export function splitText(
  text: string,
  shape: TextShape,
  { limit, measure }: { readonly limit: number; readonly measure: Measure },
): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const { start, end, bond, byLine } of spansOf(text, shape)) {
    const block: Block = { first: pieces.length, cost: 0 };
    let from = start;
    for (const length of (byLine ? lineEnds : sentenceEnds)(text.slice(start, end))) {
      const to = start + length;
      const cuts = measure(from, to) <= limit ? [] : cutsIn(text, { from, to, limit, measure });
      for (const [index, cut] of [...cuts, to].entries()) {
        const cost = measure(from, cut);
        const whole = pieces.length === block.first ? bond : "sentence";
        pieces.push({ start: from, end: cut, cost, bond: index > 0 ? "cut" : whole, block });
        block.cost += cost;
        from = cut;
      }
    }
  }
  return pieces;
}

/** Sections, code fences, tables and paragraphs, each with the blank lines after it. */
function* spansOf(text: string, { headings = [], pages = [], byLine = false }: TextShape): Generator<Span> {
  const headingStarts = new Set(headings.map(({ start }) => start));
  const sections = new Set(sectionsOf(text, headings).map(({ start }) => start));
  const pageStarts = new Set(pages);
  let span: Span = { start: 0, end: 0, bond: "block", byLine };
  let fence: string | undefined;
  let before = { isBlank: false, isRow: false, isHeading: false, closesFence: false };
  for (const line of linesOf(text)) {
    const open = fence;
    if (!byLine) fence = fenceAfter(line.text, open);
    const isBlank = line.text.trim() === "";
    const isRow = !byLine && open === undefined && TABLE_ROW.test(line.text);
    const opensFence = open === undefined && fence !== undefined;
    const begins =
      !isBlank &&
      open === undefined &&
      ((before.isBlank && !before.isHeading) || opensFence || isRow !== before.isRow || before.closesFence);
    if (begins || sections.has(line.start) || pageStarts.has(line.start)) {
      if (line.start > span.start) yield span;
      const bond = sections.has(line.start) ? "section" : "block";
      span = { start: line.start, end: line.end, bond, byLine: byLine || isRow || fence !== undefined };
    } else span = { ...span, end: line.end };
    before = {
      isBlank,
      isRow: isRow || (isBlank && before.isRow),
      isHeading: headingStarts.has(line.start) || (isBlank && before.isHeading),
      closesFence: open !== undefined && fence === undefined,
    };
  }
  if (span.end > span.start) yield span;
}

/** Where the sentences of a paragraph end. */
function sentenceEnds(paragraph: string): readonly number[] {
  const flat = paragraph.replace(SOFT_BREAK, (found) => " ".repeat(found.length));
  const ends: number[] = [];
  for (const { index, segment } of SENTENCES.segment(flat)) {
    const end = index + segment.length;
    if (end < flat.length && ABBREVIATION.test(flat.slice(Math.max(0, end - ABBREVIATION_CHARS), end)))
      continue;
    ends.push(end);
  }
  return ends;
}

function lineEnds(block: string): readonly number[] {
  return Array.from(linesOf(block), ({ end }) => end);
}

interface CutOptions {
  readonly from: number;
  readonly to: number;
  readonly limit: number;
  readonly measure: Measure;
}

/**
 * Where a sentence that is too long is cut: after a space in the second half of the limit, else between two characters
 * as they are seen. One that is itself too long is cut between code points, of which each is taken whole.
 */
function cutsIn(text: string, { from, to, limit, measure }: CutOptions): readonly number[] {
  const cuts: number[] = [];
  let [cost, at, space] = [0, from, from];
  for (const unit of unitsOf(
    text.slice(from, to),
    (start, end) => measure(from + start, from + end) <= limit,
  )) {
    const next = measure(at, at + unit.length);
    if (cost + next > limit && cost > 0) {
      const kept = measure(space, at);
      const isLate = cost - kept > limit / 2 && kept + next <= limit;
      cuts.push(isLate ? space : at);
      cost = isLate ? kept : 0;
      space = isLate ? space : at;
    }
    cost += next;
    at += unit.length;
    if (unit.trim() === "") space = at;
  }
  return cuts;
}

function* unitsOf(sentence: string, fits: (start: number, end: number) => boolean): Generator<string> {
  for (const { index, segment } of GRAPHEMES.segment(sentence)) {
    if (fits(index, index + segment.length)) yield segment;
    else yield* segment;
  }
}

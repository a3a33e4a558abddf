/** Cuts a text into chunks that are found on their own: by structure first, then by sentence, then by character. */

import { ConfigError } from "@openfunctions/core";
import { type Measure, type Piece, splitText } from "./split-text.ts";
import { markdownShape, sectionsOf, type TextShape } from "./text-shape.ts";

/** How a text is cut. */
export interface ChunkOptions {
  /** The most a chunk holds. Default 1,000. */
  readonly size?: number;
  /** How much of its end a chunk shares with the next, in whole sentences. Default 200, or less where `size` is small. */
  readonly overlap?: number;
  /**
   * `characters` (default) are UTF-16 units. `tokens` are an estimate: four ASCII characters, or one UTF-16 unit of
   * anything else.
   */
  readonly unit?: "characters" | "tokens";
}

/** A piece of a text: `text.slice(start, end) === content`. */
export interface TextChunk {
  readonly start: number;
  readonly end: number;
  readonly content: string;
  /** The headings above it, outermost first. */
  readonly headings: readonly string[];
  /** The page it begins on, where there are pages. */
  readonly page?: number;
}

const DEFAULTS = { size: 1_000, overlap: 200 } as const;
/** Costs are whole numbers: a token is four of them. */
const TOKEN = 4;

/**
 * Cuts a text. Chunks stand in order, cover the text, and hold at most `size`; a cut never parts a surrogate pair, which
 * stays whole even at size 1. A section begins a chunk; code fences, tables and paragraphs that fit stay whole. Without
 * a shape the text is read as Markdown. Throws `ConfigError` `bad_chunking`.
 */
export function chunkText(
  text: string,
  options: ChunkOptions = {},
  shape: TextShape = markdownShape(text),
): readonly TextChunk[] {
  const { size, overlap, unit } = readChunking(options);
  const scale = unit === "tokens" ? TOKEN : 1;
  const measure: Measure = unit === "tokens" ? weightIn(text) : (start, end) => end - start;
  const pieces = splitText(text, shape, { limit: size * scale, measure });
  const describe = describer(text, shape);
  return packed(pieces, size * scale, overlap * scale).map(({ start, end }) => ({
    start,
    end,
    content: text.slice(start, end),
    ...describe(start),
  }));
}

/** The options with their defaults. Throws `ConfigError` `bad_chunking` for sizes that no chunk can have. */
export function readChunking({
  size = DEFAULTS.size,
  overlap,
  unit = "characters",
}: ChunkOptions): Required<ChunkOptions> {
  const shared = overlap ?? Math.min(DEFAULTS.overlap, Math.floor(size / 5));
  const isSize = Number.isInteger(size) && size > 0;
  if (isSize && Number.isInteger(shared) && shared >= 0 && shared < size && UNITS.includes(unit))
    return { size, overlap: shared, unit };
  throw new ConfigError(
    `Chunks of size ${String(size)} with an overlap of ${String(shared)} ${String(unit)} cannot be made.`,
    {
      code: "bad_chunking",
      hint: 'Use whole numbers, a size above 0, an overlap below the size, and "characters" or "tokens".',
    },
  );
}

const UNITS: readonly string[] = ["characters", "tokens"];

function weightIn(text: string): Measure {
  return (start, end) => {
    let weight = 0;
    for (let index = start; index < end; index += 1) weight += text.charCodeAt(index) < 128 ? 1 : TOKEN;
    return weight;
  };
}

/** Fills chunks with pieces, and each next one with the last sentences of the one before. */
function packed(
  pieces: readonly Piece[],
  size: number,
  overlap: number,
): readonly { readonly start: number; readonly end: number }[] {
  const chunks: { readonly start: number; readonly end: number }[] = [];
  let from = -1;
  for (let first = 0; first < pieces.length;) {
    const shared = sharedFrom(pieces, { first, after: from, size, overlap });
    from = shared.index;
    const next = nextAfter(pieces, first, size - shared.cost);
    chunks.push({ start: pieces[from]?.start ?? 0, end: pieces[next - 1]?.end ?? 0 });
    first = next;
  }
  return chunks;
}

/** The piece after those that fit; a block that fits a chunk of its own is not parted. */
function nextAfter(pieces: readonly Piece[], first: number, room: number): number {
  let left = room;
  for (let next = first; next < pieces.length; next += 1) {
    const piece = pieces[next];
    if (piece === undefined || (next > first && piece.bond === "section")) return next;
    left -= piece.cost;
    if (left >= 0 || next === first) continue;
    const fits = piece.block.first > first && piece.block.cost <= room;
    return fits ? piece.block.first : next;
  }
  return pieces.length;
}

interface Sharing {
  readonly first: number;
  /** The first piece of the chunk before: the next one begins later. */
  readonly after: number;
  readonly size: number;
  readonly overlap: number;
}

/** Where a chunk begins whose first new piece is `first`, and what the shared pieces cost. */
function sharedFrom(
  pieces: readonly Piece[],
  { first, after, size, overlap }: Sharing,
): { readonly index: number; readonly cost: number } {
  const start = pieces[first];
  let best = { index: first, cost: 0 };
  if (start === undefined || start.bond === "cut" || start.bond === "section") return best;
  const isWhole = start.block.first === first && start.block.cost <= size;
  const most = Math.min(overlap, size - (isWhole ? start.block.cost : start.cost));
  let cost = 0;
  for (let index = first - 1; index > after; index -= 1) {
    const piece = pieces[index];
    cost += piece?.cost ?? 0;
    if (piece === undefined || cost > most) break;
    // What begins in a sentence is the first of its chunk, and so not looked at.
    best = { index, cost };
    if (piece.bond === "section") break;
  }
  return best;
}

/** Headings and page of the chunk at a place; asked in the order of the text. */
function describer(
  text: string,
  { headings = [], pages = [] }: TextShape,
): (start: number) => { readonly headings: readonly string[]; readonly page?: number } {
  const sections = sectionsOf(text, headings);
  let [section, page] = [-1, 0];
  return (start) => {
    while ((sections[section + 1]?.start ?? Number.POSITIVE_INFINITY) <= start) section += 1;
    while ((pages[page] ?? Number.POSITIVE_INFINITY) <= start) page += 1;
    return { headings: sections[section]?.path ?? [], ...(page === 0 ? {} : { page }) };
  };
}

/** What is known of a text besides its characters: headings, pages, and whether its lines are its units. */

/** A heading and where its line begins. Level 1 is the outermost. */
export interface Heading {
  readonly start: number;
  readonly level: number;
  readonly title: string;
}

/** Offsets count UTF-16 units and stand in order. */
export interface TextShape {
  readonly headings?: readonly Heading[];
  /** Where each page begins, from page 1. */
  readonly pages?: readonly number[];
  /** True where lines are the units, as in code and data. Default: sentences are. */
  readonly byLine?: boolean;
}

/** A line with its end of line. */
export interface Line {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)/;
/** A line that is longer is no heading, whatever it begins with. */
const MAX_HEADING_CHARS = 500;
/** What every chunk below a heading holds of it; the whole of it is in the text. */
const MAX_TITLE_CHARS = 200;
const MAX_PATH = 8;

/** The shape of Markdown: its `#` headings, those in code fences left out. */
export function markdownShape(text: string): { readonly headings: readonly Heading[] } {
  const headings: Heading[] = [];
  let fence: string | undefined;
  for (const { start, text: line } of linesOf(text)) {
    fence = fenceAfter(line, fence);
    if (fence !== undefined || line.length > MAX_HEADING_CHARS) continue;
    const [, marks = "", rest = ""] = HEADING.exec(line) ?? [];
    const title = withoutClosing(rest.trim());
    if (title !== "") headings.push({ start, level: marks.length, title });
  }
  return { headings };
}

/** A heading may be closed by marks of its own: `## Tea ##`. */
function withoutClosing(title: string): string {
  let end = title.length;
  while (title[end - 1] === "#") end -= 1;
  return end === 0 || /[ \t]/.test(title[end - 1] ?? "") ? title.slice(0, end).trimEnd() : title;
}

/** Where sections begin, and the headings above each, outermost first. A heading with nothing below it joins the next. */
export function sectionsOf(
  text: string,
  headings: readonly Heading[],
): readonly { readonly start: number; readonly path: readonly string[] }[] {
  const sections: { start: number; path: readonly string[] }[] = [];
  let open: readonly Heading[] = [];
  let lineEnd: number | undefined;
  for (const heading of headings) {
    open = [...open.filter(({ level }) => level < heading.level), heading];
    const path = open.slice(-MAX_PATH).map(({ title }) => title.slice(0, MAX_TITLE_CHARS).toWellFormed());
    const last = sections.at(-1);
    const isEmpty = lineEnd !== undefined && text.slice(lineEnd, heading.start).trim() === "";
    if (isEmpty && last !== undefined) last.path = path;
    else sections.push({ start: heading.start, path });
    const feed = text.indexOf("\n", heading.start);
    lineEnd = feed === -1 ? text.length : feed + 1;
  }
  return sections;
}

/** The fence that is open after a line, if any. The line that closes one is still inside. */
export function fenceAfter(line: string, open: string | undefined): string | undefined {
  const mark = FENCE.exec(line)?.[1];
  if (mark === undefined || open === undefined) return open ?? mark;
  return mark.startsWith(open) && line.trim() === mark ? undefined : open;
}

/** The lines of a text, one after the other; together they are the text. */
export function* linesOf(text: string): Generator<Line> {
  for (let start = 0; start < text.length;) {
    const feed = text.indexOf("\n", start);
    const end = feed === -1 ? text.length : feed + 1;
    yield { start, end, text: text.slice(start, end) };
    start = end;
  }
}

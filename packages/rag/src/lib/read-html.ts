/** Reads HTML as text: what a reader sees, its headings, its tables. In one pass, whatever the input. */

import type { LoadedDocument } from "./loaded-document.ts";
import type { Heading } from "./text-shape.ts";

const HIDDEN = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "math",
  "iframe",
  "object",
  "canvas",
]);
const PARAGRAPHS =
  /^(?:p|h[1-6]|pre|table|ul|ol|dl|blockquote|article|section|main|header|footer|nav|aside|figure|form|hr|title)$/;
const LINES = /^(?:div|li|tr|br|dt|dd|figcaption|address|fieldset|option|thead|tbody|tfoot|caption)$/;
const TAG_NAME = /^<\/?([a-z][a-z0-9-]*)/i;
const MAX_TAG_CHARS = 4_096;
const MAX_NAME_CHARS = 32;
const ENTITY = /&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi;
/** The names that are common in prose; others stay as they are written. */
const ENTITIES: ReadonlyMap<string, string> = new Map(
  `amp & lt < gt > quot " apos ' copy © reg ® trade ™ hellip … mdash — ndash – lsquo ‘ rsquo ’ ldquo “ rdquo ” laquo «
raquo » bull • middot · euro € pound £ yen ¥ cent ¢ sect § para ¶ deg ° times × divide ÷ plusmn ± larr ← rarr → auml ä
ouml ö uuml ü Auml Ä Ouml Ö Uuml Ü szlig ß eacute é egrave è ecirc ê agrave à aacute á acirc â ccedil ç ntilde ñ oacute ó
iacute í uacute ú ocirc ô icirc î ucirc û aring å oslash ø aelig æ`
    .match(/\S+ \S+/g)
    ?.map((pair): [string, string] => [pair.split(" ")[0] ?? "", pair.split(" ")[1] ?? ""]),
);

/** Reads HTML. Scripts, styles and drawings are left out; no attribute is read and nothing is loaded. */
export function readHtml(html: string): LoadedDocument {
  const page = new Page();
  // A tag whose quotes never end is taken to end at the next ">"; after one such, all are.
  let strict = true;
  for (let at = 0; at < html.length;) {
    const open = html.indexOf("<", at);
    if (open !== at) page.text(html.slice(at, open === -1 ? html.length : open));
    if (open === -1) break;
    if (html.startsWith("<!--", open)) {
      at = after(html, "-->", open + 4);
      continue;
    }
    const name = TAG_NAME.exec(html.slice(open, open + MAX_NAME_CHARS))?.[1]?.toLowerCase();
    if (name === undefined && html[open + 1] !== "!" && html[open + 1] !== "?") {
      page.text("<");
      at = open + 1;
      continue;
    }
    const quoted: number = strict ? tagEnd(html, open) : -1;
    strict = quoted !== -1;
    at = strict ? quoted : after(html, ">", open);
    if (name === undefined) continue;
    const closes = html[open + 1] === "/";
    if (!closes && (HIDDEN.has(name) || name === "title")) {
      const end = endOf(html, name, at);
      if (name === "title") page.named(html.slice(at, end));
      at = after(html, ">", end);
    } else page.tag(name, closes);
  }
  return page.finish();
}

/** Where a search ends: behind what was looked for, or at the end of the text. */
function after(html: string, mark: string, from: number): number {
  const found = html.indexOf(mark, from);
  return found === -1 ? html.length : found + mark.length;
}

function endOf(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}(?![a-z0-9-])`, "gi");
  closing.lastIndex = from;
  return closing.exec(html)?.index ?? html.length;
}

/** Behind the ">" of a tag, those in quoted attributes passed over; -1 where there is none near. */
function tagEnd(html: string, open: number): number {
  let quote = "";
  for (let at = open; at < Math.min(html.length, open + MAX_TAG_CHARS); at += 1) {
    const character = html[at] ?? "";
    if (quote !== "") quote = character === quote ? "" : quote;
    else if (character === ">") return at + 1;
    else if (character === '"' || character === "'") quote = character;
  }
  return -1;
}

/** The text as it grows. Breaks are held back until text follows. */
class Page {
  readonly #parts: string[] = [];
  readonly #headings: Heading[] = [];
  #length = 0;
  #breaks = 0;
  #space = false;
  #lead = "";
  #verbatim = false;
  #inCell = false;
  /** Cells that were opened since the last text. */
  #cells = 0;
  #heading: { readonly level: number; start?: number; readonly from: number } | undefined;
  #title: string | undefined;

  text(source: string): void {
    const decoded = source.includes("&") ? decodeEntities(source) : source;
    if (this.#verbatim) return this.#write(decoded);
    const words = decoded.replace(/\s+/g, " ");
    if (words.startsWith(" ")) this.#space = true;
    this.#write(words.trim());
    if (words.endsWith(" ")) this.#space = true;
  }

  named(source: string): void {
    this.#title ??= decodeEntities(source).replace(/\s+/g, " ").trim() || undefined;
  }

  tag(name: string, closes: boolean): void {
    if (name === "tr" || name === "table") this.#leaveRow();
    if (PARAGRAPHS.test(name)) this.#break(2);
    else if (LINES.test(name)) this.#break(1);
    const level = /^h([1-6])$/.exec(name)?.[1];
    if (level !== undefined) this.#mark(Number(level), closes);
    else if (name === "pre") this.#fence(closes);
    else if (name === "li" && !closes) this.#lead = "- ";
    else if (name === "td" || name === "th") this.#enterCell(closes);
  }

  finish(): LoadedDocument {
    if (this.#heading !== undefined) this.#mark(0, true);
    if (this.#verbatim) this.#fence(true);
    const title = this.#title ?? this.#headings[0]?.title;
    const text = this.#parts.join("");
    return { text, headings: this.#headings, ...(title === undefined ? {} : { title }) };
  }

  /** An empty cell keeps its place. */
  #enterCell(closes: boolean): void {
    this.#inCell = !closes;
    if (!closes) this.#cells += 1;
  }

  #leaveRow(): void {
    this.#inCell = false;
    this.#cells = 0;
  }

  /** A row of a table is one line, whatever its cells hold. */
  #break(lines: number): void {
    if (this.#inCell) this.#space = true;
    else if (!this.#verbatim) this.#breaks = Math.max(this.#breaks, lines);
  }

  #mark(level: number, closes: boolean): void {
    const open = this.#heading;
    if (open?.start !== undefined) {
      const title = this.#parts.slice(open.from).join("").replace(/\s+/g, " ").trim();
      if (title !== "") this.#headings.push({ start: open.start, level: open.level, title });
    }
    this.#heading = closes ? undefined : { level, from: this.#parts.length };
  }

  #fence(closes: boolean): void {
    if (closes !== this.#verbatim) return;
    if (closes) this.#write("\n```");
    this.#verbatim = false;
    this.#break(2);
    if (closes) return;
    this.#write("```\n");
    this.#verbatim = true;
  }

  #write(words: string): void {
    if (words === "") return;
    const space = this.#space && !this.#verbatim ? " " : "";
    const lead = "| ".repeat(this.#cells) + this.#lead;
    const gap = this.#length === 0 ? "" : "\n".repeat(this.#breaks) || space || (lead === "" ? "" : " ");
    [this.#breaks, this.#space, this.#lead, this.#cells] = [0, false, "", 0];
    const start = this.#length + gap.length;
    if (this.#heading !== undefined) this.#heading.start ??= start;
    this.#parts.push(`${gap}${lead}${words}`);
    this.#length = start + lead.length + words.length;
  }
}

function decodeEntities(text: string): string {
  return text.replace(ENTITY, (found, name: string) => {
    if (!name.startsWith("#"))
      return name === "nbsp" ? " " : name === "shy" ? "" : (ENTITIES.get(name) ?? found);
    const hex = /^#x/i.test(name);
    const code = Number.parseInt(name.slice(hex ? 2 : 1), hex ? 16 : 10);
    const allowed = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return allowed ? String.fromCodePoint(code) : "\ufffd";
  });
}

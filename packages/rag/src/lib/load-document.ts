/** Turns what is ingested into text, by its media type. Nothing is fetched. */

import { InputError } from "@openfunctions/core";
import type { LoadedDocument, Loader } from "./loaded-document.ts";
import { docxLoader, pdfLoader } from "./office-loaders.ts";
import { readHtml } from "./read-html.ts";
import { readCsv, readJson, readJsonLines } from "./read-records.ts";
import { markdownShape } from "./text-shape.ts";

/** What is to be loaded. */
export interface LoadInput {
  readonly content: string | Uint8Array;
  readonly mediaType?: string | undefined;
  /** Names whose ending tells the media type where none is given. */
  readonly names: readonly string[];
}

const MAX_BYTES = 25 * 1024 * 1024;
const PDF = "application/pdf";
const DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
const CODE =
  /^(?:text\/(?:x-.+|css|(?:java|ecma|type)script)|application\/(?:(?:.+\+)?xml|(?:x-)?(?:java|type)script|(?:x-)?(?:yaml|toml|sql|sh|httpd-php)))$/;
/** RFC 6838, section 4.2. */
const MEDIA_TYPE = /^[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}$/;
const TYPES: Readonly<Record<string, string>> = {
  "text/plain": "txt text log",
  "text/markdown": "md markdown mdx",
  "text/html": "html htm xhtml",
  "application/json": "json geojson webmanifest",
  "application/jsonl": "jsonl ndjson",
  "text/csv": "csv",
  "text/tab-separated-values": "tsv",
  [PDF]: "pdf",
  [DOCX]: "docx",
  "text/x-source":
    "js mjs cjs jsx ts mts cts tsx py rb go rs java kt kts c h cc cpp hpp cs php swift scala sh bash zsh sql css scss less yaml yml toml ini xml vue svelte lua r pl ex exs erl hs clj dart proto graphql tf ps1 bat gradle m mm jl nim zig",
};

const READERS: Readonly<Record<string, (text: string) => LoadedDocument>> = {
  "text/markdown": (text) => ({ text, ...markdownShape(text) }),
  "text/html": readHtml,
  "application/xhtml+xml": readHtml,
  "application/json": readJson,
  "application/jsonl": readJsonLines,
  "application/x-ndjson": readJsonLines,
  "text/csv": (text) => readCsv(text, ","),
  "text/tab-separated-values": (text) => readCsv(text, "\t"),
};

/**
 * Loads a document. Loaders given here come before those built in. Throws `InputError`: `too_large` over 25 MiB,
 * `unsupported_media` for a type that none reads, for NUL bytes and for text that is not UTF-8; `ConfigError`
 * `package_missing` where a type needs a package that is not installed.
 */
export async function loadDocument(
  { content, mediaType, names }: LoadInput,
  loaders: Readonly<Record<string, Loader>> = {},
  signal?: AbortSignal,
): Promise<LoadedDocument & { readonly mediaType: string }> {
  const size = typeof content === "string" ? Buffer.byteLength(content) : content.byteLength;
  if (size > MAX_BYTES)
    throw new InputError(`The document has ${size} bytes; at most ${MAX_BYTES} (25 MiB) are read.`, {
      code: "too_large",
    });
  const type = baseType(mediaType) ?? typeByName(names) ?? typeByContent(content);
  const loader = Object.hasOwn(loaders, type) ? loaders[type] : BINARY.get(type);
  if (loader !== undefined) {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    const loaded = await loader(bytes, { mediaType: type, signal });
    // Parsers give what fonts make of it; what no store and no embedder takes is replaced, and offsets stay.
    return { ...loaded, text: loaded.text.toWellFormed().replaceAll("\0", "\ufffd"), mediaType: type };
  }
  const text = typeof content === "string" ? content.toWellFormed().replace(/^\ufeff/, "") : decode(content);
  if (text.includes("\0")) throw unsupported("It holds NUL bytes, so it is no text.");
  const reader = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  if (reader !== undefined) return { ...reader(text), mediaType: type };
  if (CODE.test(type)) return { text, byLine: true, mediaType: type };
  if (type.startsWith("text/") && type !== "text/rtf") return { text, mediaType: type };
  throw unsupported(`There is no loader for "${type.slice(0, 80)}".`);
}

const BINARY: ReadonlyMap<string, Loader> = new Map([
  [PDF, pdfLoader()],
  [DOCX, docxLoader()],
]);

function baseType(mediaType: string | undefined): string | undefined {
  const type = mediaType?.split(";")[0]?.trim().toLowerCase() || undefined;
  if (type === undefined || MEDIA_TYPE.test(type)) return type;
  throw unsupported(`"${type.slice(0, 80).replace(/[^ -~]/g, "?")}" is no media type.`);
}

function typeByName(names: readonly string[]): string | undefined {
  for (const name of names) {
    const ending = /\.([a-z0-9]{1,11})(?:[?#].*)?$/i.exec(name.slice(-512))?.[1]?.toLowerCase() ?? "";
    const [type] = Object.entries(TYPES).find(([, endings]) => endings.split(" ").includes(ending)) ?? [];
    if (type !== undefined) return type;
  }
  return undefined;
}

function typeByContent(content: string | Uint8Array): string {
  if (typeof content === "string") return "text/markdown";
  const head = Buffer.from(content.buffer, content.byteOffset, Math.min(1024, content.byteLength));
  if (head.includes("%PDF-")) return PDF;
  return head.toString("latin1", 0, 4) === "PK\u0003\u0004" ? DOCX : "text/plain";
}

function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const encoding =
    first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw unsupported("It is neither UTF-8 nor UTF-16 text.");
  }
}

function unsupported(what: string): InputError {
  return new InputError(`The document cannot be read. ${what}`, {
    code: "unsupported_media",
    hint: "Text, Markdown, HTML, JSON, JSONL, CSV, source code, PDF and DOCX are read; give other types a loader of your own.",
  });
}

/** Loaders of formats that a package reads: PDF by unpdf, DOCX by mammoth. Neither is installed with this one. */

import type { Loader } from "./loaded-document.ts";
import { type ParseLimits, parseDocument } from "./parse-document.ts";
import { readHtml } from "./read-html.ts";

/** A loader of PDF, with the pages of the text. Needs the package `unpdf`. */
export function pdfLoader(limits: ParseLimits = {}): Loader {
  return async (bytes, { signal }) => {
    const parts = await parseDocument({ format: "pdf", bytes }, limits, signal);
    const pages: number[] = [];
    let length = 0;
    for (const part of parts) {
      pages.push(length);
      length += part.length + 2;
    }
    const blank = parts.flatMap((part, index) => (part.trim() === "" ? [index + 1] : []));
    const shown = blank.length > 20 ? `${blank.slice(0, 20).join(", ")} and more` : blank.join(", ");
    const warnings = blank.length === 0 ? [] : [`No text on page ${shown}; scanned pages are not read.`];
    // A document of blank pages is an empty one.
    return { text: blank.length === parts.length ? "" : parts.join("\n\n"), pages, warnings };
  };
}

/** A loader of DOCX, with the headings of the text. Needs the package `mammoth`. */
export function docxLoader(limits: ParseLimits = {}): Loader {
  return async (bytes, { signal }) => {
    const parts = await parseDocument({ format: "docx", bytes }, limits, signal);
    return readHtml(parts.join(""));
  };
}

/** Reads JSON, JSON lines and tables as text that is cut at its records. */

import { InputError } from "@openfunctions/core";
import type { LoadedDocument } from "./loaded-document.ts";
import { linesOf } from "./text-shape.ts";

/** A name that is long, or a row of nothing but separators, can make a text a thousand times as long as its table. */
const MAX_CHARS = 100 * 1024 * 1024;

/** JSON as it stands, with a line for each member of what was written in one line. Throws `InputError` `not_json`. */
export function readJson(text: string): LoadedDocument {
  parse(text, "The document");
  const parts: string[] = [];
  let [from, inString] = [0, false];
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === "\\" && inString) index += 1;
    else if (character === '"') inString = !inString;
    else if (character === "," && !inString && !/\s/.test(text[index + 1] ?? "")) {
      parts.push(text.slice(from, index + 1), "\n");
      from = index + 1;
    }
  }
  return { text: parts.join("") + text.slice(from), byLine: true };
}

/** JSON lines as they stand. Throws `InputError` `not_json`, naming the line. */
export function readJsonLines(text: string): LoadedDocument {
  let number = 0;
  for (const line of linesOf(text)) {
    number += 1;
    if (line.text.trim() !== "") parse(line.text, `Line ${number}`);
  }
  return { text, byLine: true };
}

/**
 * A table with a head as one paragraph for each row, each value with the name of its column (RFC 4180). Throws
 * `InputError` `too_large` where the names make it more than a hundred million characters.
 */
export function readCsv(text: string, separator: string): LoadedDocument {
  const [head = [], ...rows] = rowsOf(text, separator);
  let left = MAX_CHARS;
  const records = rows.map((row) => {
    const lines = row.map((value, index) => `${head[index] || `column ${index + 1}`}: ${value}\n`);
    for (const line of lines) left -= line.length;
    if (left < 0)
      throw new InputError(`The table has more than ${MAX_CHARS} characters with a name at each value.`, {
        code: "too_large",
      });
    return lines.join("");
  });
  return { text: rows.length === 0 ? text : records.join("\n"), byLine: true };
}

function rowsOf(text: string, separator: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (let at = 0; at < text.length;) {
    const { value, end } = valueAt(text, at, separator);
    row.push(value);
    at = end + 1;
    if (text[end] === separator) {
      if (at >= text.length) row.push("");
      continue;
    }
    if (text[end] === "\r" && text[at] === "\n") at += 1;
    if (row.some((one) => one.trim() !== "")) rows.push(row);
    row = [];
  }
  return row.length > 0 ? [...rows, row] : rows;
}

/** One value, and where the separator or the end of line after it stands. */
function valueAt(
  text: string,
  at: number,
  separator: string,
): { readonly value: string; readonly end: number } {
  let end = at;
  let value = "";
  if (text[at] === '"') {
    end += 1;
    for (;;) {
      const quote = text.indexOf('"', end);
      const stop = quote === -1 ? text.length : quote;
      value += text.slice(end, stop);
      end = stop + 1;
      if (text[end] !== '"') break;
      value += '"';
      end += 1;
    }
  }
  const from = Math.min(end, text.length);
  while (end < text.length && text[end] !== separator && text[end] !== "\n" && text[end] !== "\r") end += 1;
  return { value: (value + text.slice(from, end)).trim(), end };
}

function parse(text: string, what: string): void {
  try {
    JSON.parse(text);
  } catch (cause) {
    throw new InputError(`${what} is not JSON.`, { code: "not_json", cause });
  }
}

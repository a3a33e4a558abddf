/** Recorded text on one line of a terminal or page, unable to move the cursor, hide or pose as another line. */

import { shortText } from "./short-json.ts";

// Control, format (bidirectional overrides, zero width), surrogate, line and paragraph separators.
const HARMFUL = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The text with every character that is not plain print written as an escape, at most `maxLength` (default 240) long. */
export function safeLine(text: string, maxLength: number = 240): string {
  // Cut first: escaping only needs what can be shown, however long the text is.
  return shortText(text.slice(0, maxLength + 1).replace(HARMFUL, escape), maxLength);
}

function escape(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

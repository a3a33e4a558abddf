/** A value or a text, short enough for a message. */

/**
 * The JSON of a value, at most `maxLength` UTF-16 code units (default 80), cut as `shortText` does. What JSON cannot hold
 * is named as JavaScript does. Never throws.
 */
export function shortJson(value: unknown, maxLength: number = 80): string {
  return shortText(jsonText(value), maxLength);
}

/** A text of at most `maxLength` UTF-16 code units (at least 3), with "..." where it was cut and never half a character. */
export function shortText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  // A cut may fall inside a surrogate pair; the lone half is dropped, since a record must be well-formed text.
  return `${text.slice(0, maxLength - 3).replace(/[\uD800-\uDBFF]$/, "")}...`;
}

function jsonText(value: unknown): string {
  if (typeof value === "bigint") return `${value}n`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return Object.prototype.toString.call(value); // a cycle, or a toJSON that throws
  }
}

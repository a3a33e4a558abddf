/** Where two JSON values part, in lines a person can read. */

import { isPlainObject } from "./json.ts";

const MAX_LINES = 12;
const MAX_CHARS = 160;

/** One line per place that differs: its path, what was expected, what came. "" for equal values. */
export function describeDifference(expected: unknown, got: unknown): string {
  const lines = differences(expected, got, "");
  const shown = lines.slice(0, MAX_LINES);
  const more = lines.length > MAX_LINES ? [`and ${lines.length - MAX_LINES} more`] : [];
  return [...shown, ...more].join("\n");
}

function differences(expected: unknown, got: unknown, path: string): readonly string[] {
  if (isPlainObject(expected) && isPlainObject(got)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(got)]);
    return [...keys].flatMap((key) => differences(expected[key], got[key], `${path}/${key}`));
  }
  if (Array.isArray(expected) && Array.isArray(got)) {
    const length = Math.max(expected.length, got.length);
    return Array.from({ length }, (_, index) => index).flatMap((index) =>
      differences(expected[index], got[index], `${path}/${index}`),
    );
  }
  if (Object.is(expected, got)) return [];
  return [`${path === "" ? "/" : path}: recorded ${brief(expected)}, now ${brief(got)}`];
}

function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS).toWellFormed()}…` : text;
}

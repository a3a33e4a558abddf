/** Says what a tool gave, in plain words. */

import { type Json, type ToolResultPart, isPlainObject } from "@openfunctions/core";

const MAX_ITEMS = 20;

/** One line or a short list per result. */
export function reportResults(results: readonly ToolResultPart[]): string {
  return results.map(reportResult).join("\n\n");
}

function reportResult({ name, result, isError }: ToolResultPart): string {
  const text =
    typeof result === "string"
      ? result
      : result.flatMap((part) => (part.type === "text" ? [part.text] : [`(${part.type})`])).join("\n");
  if (isError === true) return `"${name}" could not do that. ${text.replace(/^Error \([a-z_]+\): /, "")}`;
  const { data, message } = splitText(text);
  return message ?? describe(data);
}

/** A result's text is its data as JSON, then its message if it has one. */
function splitText(text: string): { readonly data: Json; readonly message?: string } {
  const whole = parse(text);
  if (whole !== undefined) return { data: whole };
  const end = text.indexOf("\n");
  const data = end === -1 ? undefined : parse(text.slice(0, end));
  return data === undefined ? { data: text } : { data, message: text.slice(end + 1) };
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json; // Proof: JSON.parse gives JSON
  } catch {
    return undefined;
  }
}

function describe(data: Json | undefined): string {
  if (data === null || data === undefined) return "Done.";
  if (Array.isArray(data)) return describeList(data);
  if (isPlainObject(data)) return describeObject(data);
  return typeof data === "number" ? data.toLocaleString("en-US", { maximumFractionDigits: 10 }) : plain(data);
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function describeList(items: readonly Json[]): string {
  if (items.length === 0) return "There is nothing.";
  const lines = items.slice(0, MAX_ITEMS).map((item) => `- ${describeInline(item)}`);
  return items.length > MAX_ITEMS
    ? [...lines, `(${items.length - MAX_ITEMS} more)`].join("\n")
    : lines.join("\n");
}

function describeObject(object: Record<string, unknown>): string {
  const entries = Object.entries(object) as [string, Json][]; // Proof: it came out of JSON.parse
  const [only] = entries;
  if (entries.length === 1 && only !== undefined && Array.isArray(only[1]))
    return `${label(only[0])}:\n${describeList(only[1])}`;
  return entries
    .map(
      ([key, value]) =>
        `${label(key)}: ${Array.isArray(value) ? `\n${describeList(value)}` : describeInline(value)}`,
    )
    .join("\n");
}

function describeInline(value: Json): string {
  if (isPlainObject(value))
    return Object.entries(value)
      .map(([key, item]) => `${label(key)} ${plain(item)}`)
      .join(", ");
  return Array.isArray(value) ? value.map((item: Json) => describeInline(item)).join(", ") : plain(value);
}

function label(key: string): string {
  return key
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll("_", " ")
    .toLowerCase();
}

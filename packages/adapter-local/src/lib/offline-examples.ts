/** Reads a message by a tool's examples: "add a task: call the bank" teaches what stands where. */

import type { JsonObject, ModelTool } from "@openfunctions/core";

type Example = NonNullable<ModelTool["examples"]>[number];

/** Arguments for a message that reads like one of the examples, or undefined. The longest fixed text wins. */
export function fillFromExamples(message: string, tool: ModelTool): JsonObject | undefined {
  const phrase = message
    .trim()
    .replace(/\s+/g, " ")
    .replace(/ ?[?.!]$/, "");
  const templates = (tool.examples ?? []).flatMap((example) => templateOf(example) ?? []);
  for (const template of templates.sort((left, right) => right.fixed - left.fixed)) {
    if (phrase.length > (template.keys.length > 1 ? MAX_CHARS_OF_MANY : MAX_MESSAGE_CHARS)) continue;
    const found = template.pattern.exec(phrase);
    if (found === null) continue;
    const values = template.keys.flatMap((key, index): [string, string | number][] => {
      const value = toValue(found[index + 1] ?? "", template.example.input[key]);
      return value === undefined ? [] : [[key, value]];
    });
    if (values.length === template.keys.length)
      return { ...template.constants, ...Object.fromEntries(values) };
  }
  return undefined;
}

/** The longest message that words are matched to. */
export const MAX_MESSAGE_CHARS = 4_000;

/** A pattern of several values takes time with the power of their number. */
const MAX_CHARS_OF_MANY = 400;

interface Template {
  readonly example: Example;
  readonly pattern: RegExp;
  readonly keys: readonly string[];
  /** Values that do not stand in the phrase: what this phrase always means. */
  readonly constants: JsonObject;
  /** Letters of fixed text: the more, the more the template says. */
  readonly fixed: number;
}

function templateOf(example: Example): Template | undefined {
  const places = Object.entries(example.input)
    .flatMap(([key, value]) =>
      typeof value === "string" || typeof value === "number" ? [{ key, text: `${value}` }] : [],
    )
    .map(({ key, text }) => ({ key, text, at: example.description.indexOf(text) }))
    .filter(({ text, at }) => at >= 0 && text !== "")
    .sort((left, right) => left.at - right.at);
  const fixedParts: string[] = [];
  let end = 0;
  for (const place of places) {
    if (place.at < end) return undefined;
    fixedParts.push(example.description.slice(end, place.at));
    end = place.at + place.text.length;
  }
  fixedParts.push(example.description.slice(end));
  const fixed = fixedParts.join("").replace(/[^\p{L}]/gu, "").length;
  // A phrase of nothing but values would fit every message.
  if (fixed < 3) return undefined;
  const keys = places.map(({ key }) => key);
  const constants = Object.fromEntries(Object.entries(example.input).filter(([key]) => !keys.includes(key)));
  return {
    example,
    pattern: new RegExp(`^${fixedParts.map(toPattern).join("(.+?)")}$`, "isu"),
    keys,
    constants,
    fixed,
  };
}

/** Fixed text as a pattern that forgives spaces, articles and closing punctuation. */
function toPattern(text: string): string {
  return text
    .replace(/[?.!]+\s*$/, "")
    .split(/\s+/)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"))
    .map((word) => (/^(?:a|an|the|my)$/i.test(word) ? "(?:an?|the|my)" : word))
    .join(" ");
}

/** A value of the same kind as the example's: a number, a text with digits where the example has digits, or any text. */
function toValue(text: string, like: unknown): string | number | undefined {
  if (typeof like !== "number") return !/\d/.test(String(like)) || /\d/.test(text) ? text.trim() : undefined;
  const number = Number(text.replaceAll(",", "").trim());
  return Number.isFinite(number) && text.trim() !== "" ? number : undefined;
}

/** Fills a tool's arguments from a message, by its schema; what is not there is reported, never invented. */

import {
  type JsonObject,
  type JsonSchema,
  type JsonSchemaObject,
  type ModelTool,
  isPlainObject,
} from "@openfunctions/core";
import { fillFromExamples } from "./offline-examples.ts";
import { wordsOf } from "./offline-words.ts";

/** What was found, and the required properties that were not. */
export interface Extraction {
  readonly args: JsonObject;
  readonly missing: readonly string[];
}

/** Whether the rest of a message may stand for a text that it does not name, or only what is named or quoted. */
export type Reading = "whole" | "named";

type Value = string | number | boolean | undefined;

/** Reads the message by the tool's examples first, then property by property. */
export function extractArguments(message: string, tool: ModelTool, reading: Reading = "whole"): Extraction {
  const fromExample = fillFromExamples(message, tool);
  if (fromExample !== undefined && missingOf(tool.inputSchema, fromExample).length === 0)
    return { args: fromExample, missing: [] };
  const args = {
    ...extractBySchema(message, tool.inputSchema, {
      reading,
      about: `${tool.name.replaceAll("_", " ")} ${tool.description}`,
    }),
    ...fromExample,
  };
  return { args, missing: missingOf(tool.inputSchema, args) };
}

/** Values for the properties of a schema that the message states. */
export function extractBySchema(
  message: string,
  schema: JsonSchemaObject,
  how: { readonly reading: Reading; readonly about?: string },
): JsonObject {
  const reader = new Reader(message, how.reading, how.about ?? "");
  const required = schema.required ?? [];
  const properties = Object.entries(schema.properties ?? {});
  const found: [string, Value][] = properties.map(([name, property]) => [name, reader.named(name, property)]);
  const late = found.map(([name, value], index): [string, Value] => {
    if (value !== undefined || !required.includes(name)) return [name, value];
    return [name, reader.unnamed(properties[index]?.[1] ?? true)];
  });
  return Object.fromEntries(late.filter(([, value]) => value !== undefined)) as JsonObject; // Proof: values are strings, numbers and booleans
}

/** Required properties without a value and without a default. */
export function missingOf(schema: JsonSchemaObject, args: JsonObject): readonly string[] {
  return (schema.required ?? []).filter((name) => {
    const property = schema.properties?.[name];
    const hasDefault = isPlainObject(property) && "default" in property;
    return !Object.hasOwn(args, name) && !hasDefault;
  });
}

const LEAD_IN =
  /^(?:(?:please|can|could|would|you|hey|hi)\s+)*(?:(?:what(?:'s| is| are)?|how (?:much|many)(?: is| are)?|who is|tell me|give me|show me|calculate|compute|work out|evaluate|solve|find|search(?: for)?|look up|read|open|fetch|add|create|make|new|note|remember|write)\s+)+(?:(?:a|an|the|my|new|task|note|todo|page|of|about|that|to|for)\s+)*/i;

/** Small words that a text cannot lose: "my cat" is another one than "the cat". */
const WHOSE = /^(?:i|i'm|my|our|we|we're)\b/i;

/** Takes values out of one message; what was taken is not taken twice. */
class Reader {
  readonly #message: string;
  readonly #numbers: number[];
  readonly #quoted: string[];
  #textTaken: boolean;

  readonly #about: ReadonlySet<string>;

  constructor(message: string, reading: Reading, about: string) {
    this.#about = new Set(wordsOf(about));
    this.#textTaken = reading === "named";
    this.#message = message.trim();
    this.#numbers = (this.#message.match(/-?\d[\d,]*(?:\.\d+)?/g) ?? []).map((text) =>
      Number(text.replaceAll(",", "")),
    );
    this.#quoted = [...this.#message.matchAll(/"([^"]+)"|'([^']+)'(?!\w)|“([^”]+)”/g)].map(
      (match) => match[1] ?? match[2] ?? match[3] ?? "",
    );
  }

  /** A value that the message names or that can be told by its shape. */
  named(name: string, schema: JsonSchema): Value {
    const { type, enum: allowed, format } = typeof schema === "object" ? schema : {};
    if (allowed !== undefined)
      return allowed.filter((item) => typeof item === "string").find((item) => this.#hasWord(item));
    if (type === "number" || type === "integer") return this.#numberBeside(name, type === "integer");
    if (type === "boolean") return this.#booleanAfter(name);
    if (type !== "string") return undefined;
    if (format === "uri" || /^(?:url|uri|link|address)$/i.test(name))
      return /https?:\/\/[^\s"'<>]+/i.exec(this.#message)?.[0];
    if (format === "date") return /\b\d{4}-\d{2}-\d{2}\b/.exec(this.#message)?.[0];
    if (format === "date-time")
      return /\b\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?/.exec(this.#message)?.[0];
    return this.#textAfter(name);
  }

  /** A value for a required property that the message does not name. */
  unnamed(schema: JsonSchema): Value {
    const { type, enum: allowed, format } = typeof schema === "object" ? schema : {};
    if (type === "number") return this.#numbers.shift();
    if (type === "integer") return Number.isInteger(this.#numbers[0]) ? this.#numbers.shift() : undefined;
    if (type !== "string" || allowed !== undefined || format !== undefined) return undefined;
    return this.#quoted.shift() ?? this.#remainder();
  }

  #hasWord(word: string): boolean {
    return new RegExp(`(?<![\\p{L}\\d])${escape(word).replaceAll("_", "[ _-]")}(?![\\p{L}\\d])`, "iu").test(
      this.#message,
    );
  }

  #numberBeside(name: string, whole: boolean): number | undefined {
    const label = escape(name).replaceAll("_", "[ _-]");
    const pattern = new RegExp(
      `\\b${label}s?\\s*(?:is|of|=|:)?\\s*(-?\\d[\\d,]*(?:\\.\\d+)?)|(-?\\d[\\d,]*(?:\\.\\d+)?)\\s*${label}s?\\b`,
      "i",
    );
    const match = pattern.exec(this.#message);
    if (match === null) return undefined;
    const value = Number((match[1] ?? match[2] ?? "").replaceAll(",", ""));
    if (whole && !Number.isInteger(value)) return undefined;
    this.#numbers.splice(this.#numbers.indexOf(value), 1);
    return value;
  }

  #booleanAfter(name: string): boolean | undefined {
    const match = new RegExp(
      `\\b${escape(name).replaceAll("_", "[ _-]")}\\s*(?:is|=|:)?\\s*(true|false|yes|no|on|off)\\b`,
      "i",
    ).exec(this.#message);
    return match === null ? undefined : /^(?:true|yes|on)$/i.test(match[1] ?? "");
  }

  #textAfter(name: string): string | undefined {
    const match = new RegExp(
      `\\b${escape(name).replaceAll("_", "[ _-]")}\\s*[:=]\\s*("[^"]+"|[^,;\\n]+)`,
      "i",
    ).exec(this.#message);
    return match?.[1]?.replace(/^"|"$/g, "").trim();
  }

  /** What is left of the message without its lead-in: after a colon, else after the words that asked. */
  #remainder(): string | undefined {
    if (this.#textTaken) return undefined;
    const afterColon = /^[^:]{2,40}:\s+(.+)$/s.exec(this.#message)?.[1];
    const rest = (afterColon ?? this.#withoutLeadIn())
      .trim()
      .replace(/[?.!]+$/, "")
      .trim();
    if (rest === "") return undefined;
    this.#textTaken = true;
    return rest;
  }

  /** The message without the words that ask, and without leading words that only name the tool. */
  #withoutLeadIn(): string {
    const words = this.#message.replace(LEAD_IN, "").split(/(?<=\s)(?=\S)/);
    const first = words.findIndex(
      (word) => /\d/.test(word) || WHOSE.test(word) || wordsOf(word).some((known) => !this.#about.has(known)),
    );
    return first === -1 ? "" : words.slice(first).join("");
  }
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

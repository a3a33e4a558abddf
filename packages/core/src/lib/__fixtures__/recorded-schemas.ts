/** The schemas of recorded requests, with what the provider answered. */

import { readdirSync, readFileSync } from "node:fs";
import { isPlainObject } from "../json.ts";
import type { SchemaUse } from "./dialect-validators.ts";

/** One schema as it was sent. */
export interface RecordedSchema extends SchemaUse {
  readonly file: string;
  /** The file and the number of the exchange in it. */
  readonly request: string;
  readonly host: string;
  readonly dialect: string;
  readonly schema: unknown;
  readonly status: number;
  /** True for an answer that complains about the schema, and not about something else. */
  readonly isRefused: boolean;
}

type Found = Pick<RecordedSchema, "dialect" | "schema" | "as">;

/** Every schema of every request in the cassettes below a folder. */
export function recordedSchemas(folder: string): readonly RecordedSchema[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const files = entries.flatMap(({ name }) =>
    readdirSync(`${folder}/${name}`)
      .filter((file) => file.endsWith(".cassette.json"))
      .map((file) => `${name}/${file}`),
  );
  return files.flatMap((file) => {
    const exchanges: readonly Exchange[] = JSON.parse(readFileSync(`${folder}/${file}`, "utf8"));
    return exchanges.flatMap(({ request, response }, index) => {
      const { body, uri = "" } = request;
      const { status } = response;
      const host = /^https?:\/\/([^/]+)/.exec(uri)?.[1] ?? file.split("/", 1)[0] ?? "";
      const isRefused = status === 400 && COMPLAINT.test(JSON.stringify(response));
      return schemasOf(uri, body).map((found) => ({ ...found, file, request: `${file}#${index}`, host, status, isRefused }));
    });
  });
}

interface Exchange {
  readonly request: { readonly uri?: string; readonly body?: unknown };
  readonly response: { readonly status: number };
}

/** How the providers begin a complaint about a schema. A model's arguments that do not fit one read differently. */
const COMPLAINT =
  /Invalid schema for|input_schema|JSON schema is invalid|function_declarations\[|functionDeclaration|response_?schema|Unknown name/i;

function schemasOf(uri: string, body: unknown): readonly Found[] {
  if (!isPlainObject(body)) return [];
  if (/generateContent|GenerateContent|countTokens/.test(uri)) return geminiSchemas(body);
  if (/\/messages\b/.test(uri)) return anthropicSchemas(body);
  return openaiSchemas(body);
}

function geminiSchemas(body: Readonly<Record<string, unknown>>): readonly Found[] {
  const config = map(body["generationConfig"]);
  const declared = maps(body["tools"]).flatMap((tool) => maps(tool["functionDeclarations"] ?? tool["function_declarations"]));
  return [
    ...declared.flatMap((tool) => found("gemini-openapi", "tool", tool["parameters"])),
    ...declared.flatMap((tool) =>
      found("gemini-json", "tool", tool["parametersJsonSchema"] ?? tool["parameters_json_schema"]),
    ),
    ...found("gemini-openapi", "answer", config["responseSchema"]),
    ...found("gemini-json", "answer", config["responseJsonSchema"] ?? config["response_json_schema"]),
  ];
}

function anthropicSchemas(body: Readonly<Record<string, unknown>>): readonly Found[] {
  const format = map(body["output_format"] ?? map(body["output_config"])["format"]);
  return [
    ...maps(body["tools"]).flatMap((tool) => found("anthropic", "tool", tool["input_schema"])),
    ...found("anthropic-output", "answer", format["schema"]),
  ];
}

function openaiSchemas(body: Readonly<Record<string, unknown>>): readonly Found[] {
  const dialect = ({ strict }: Readonly<Record<string, unknown>>): string => (strict === true ? "openai-strict" : "openai");
  const functions = maps(body["tools"])
    .filter((tool) => tool["type"] === "function")
    .map((tool) => (isPlainObject(tool["function"]) ? tool["function"] : tool));
  const formats = [map(map(body["response_format"])["json_schema"]), map(map(body["text"])["format"])];
  return [
    ...functions.flatMap((tool) => found(dialect(tool), "tool", tool["parameters"])),
    ...formats.flatMap((format) => found(dialect(format), "answer", format["schema"])),
  ];
}

function found(dialect: string, as: SchemaUse["as"], schema: unknown): readonly Found[] {
  return schema === undefined || schema === null ? [] : [{ dialect, as, schema }];
}

function map(value: unknown): Readonly<Record<string, unknown>> {
  return isPlainObject(value) ? value : {};
}

function maps(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return [value ?? []].flat().filter(isPlainObject);
}

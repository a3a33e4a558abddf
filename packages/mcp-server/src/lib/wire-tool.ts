/** A tool as MCP lists it: schemas, title, annotations from its contract. */

import {
  type Json,
  type JsonSchemaObject,
  type NormalContract,
  type Tool,
  describeTool,
} from "@openfunctions/core";

/** One entry of `tools/list`. */
export interface WireTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchemaObject;
  readonly outputSchema?: unknown;
  readonly annotations: Readonly<Record<string, boolean>>;
  readonly _meta: { readonly "openfunctions/contract": NormalContract };
}

/** The wire form: a function of the tool only. */
export function toWireTool(tool: Tool): WireTool {
  const { name, contract, parameters, output } = tool;
  const words = name.replaceAll("_", " ").trim();
  return {
    name,
    title: `${words.charAt(0).toUpperCase()}${words.slice(1)}`,
    description: describeTool(tool),
    inputSchema: closeIfEmpty(parameters),
    ...(output === undefined ? {} : { outputSchema: wrapsData(output) ? wrapSchema(output) : output }),
    annotations: toAnnotations(contract),
    _meta: { "openfunctions/contract": contract },
  };
}

/** True where `structuredContent`, which is an object, cannot be the data itself: it is `{ result: data }` then. */
export function wrapsData(output: JsonSchemaObject): boolean {
  return output.type !== "object";
}

function toAnnotations({ effects, idempotency }: NormalContract): WireTool["annotations"] {
  const readOnly = effects.kind === "none" || effects.kind === "read";
  return {
    readOnlyHint: readOnly,
    destructiveHint: effects.kind === "destructive" || (!readOnly && effects.undo === "impossible"),
    // A key that the client chooses says nothing about two calls with equal arguments; one we derive does.
    idempotentHint:
      idempotency.mode === "natural" || (idempotency.mode === "keyed" && idempotency.keyParam === undefined),
    openWorldHint: effects.openWorld,
  };
}

function closeIfEmpty(schema: JsonSchemaObject): JsonSchemaObject {
  const empty = Object.keys(schema).every(
    (key) => key === "type" || (key === "properties" && isEmpty(schema)),
  );
  return empty ? { ...schema, properties: {}, additionalProperties: false } : schema;
}

function isEmpty({ properties = {} }: JsonSchemaObject): boolean {
  return Object.keys(properties).length === 0;
}

function wrapSchema(schema: JsonSchemaObject): unknown {
  // With an `$id` of its own the schema resolves its references itself.
  const result = schema.$id === undefined ? moveReferences(schema) : schema;
  return { type: "object", properties: { result }, required: ["result"], additionalProperties: false };
}

const VALUE_KEYWORDS = ["const", "enum", "default", "examples"];

/** Local references after the schema has moved from the root to `properties.result`. */
function moveReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(moveReferences);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]: [string, Json]) => {
      const isLocal = (key === "$ref" || key === "$dynamicRef") && typeof value === "string";
      if (isLocal && (value === "#" || value.startsWith("#/")))
        return [key, `#/properties/result${value.slice(1)}`];
      return [key, VALUE_KEYWORDS.includes(key) ? value : moveReferences(value)];
    }),
  );
}

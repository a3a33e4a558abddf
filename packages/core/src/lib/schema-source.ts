/** The JSON Schema behind what an author gave: a JSON Schema itself, or what a Standard Schema emits. */

import { describeThrown } from "./describe-thrown.ts";
import { InputError } from "./errors.ts";
import { copyJson, deepFreeze, isPlainObject } from "./json.ts";
import { isSchemaKeyword, MAX_SCHEMA_JSON_DEPTH } from "./schema-lint.ts";
import { mapSubschemas, resolveLocalReference } from "./schema-walk.ts";
import { type JsonSchemaObject, type StandardSchema, type ToolSchema, isStandardSchema } from "./schema.ts";

const EMITTERS = "zod >= 4.2, ArkType, or Valibot through toStandardJsonSchema of @valibot/to-json-schema";

/**
 * A deep-frozen copy of the JSON Schema that is linted, hashed and sent. A Standard Schema is asked once for its
 * input form. Throws `InputError` (`not_json` for a schema that is not plain JSON, naming the path;
 * `invalid_argument` for a vendor that cannot emit JSON Schema, or not this schema).
 */
export function emitJsonSchema(schema: ToolSchema): JsonSchemaObject {
  if (!isStandardSchema(schema)) return frozenSchema(schema);
  return deepFreeze(rootObject(withoutMetadata(frozenSchema(emit(schema)))));
}

function emit(schema: StandardSchema): unknown {
  const { vendor, jsonSchema } = schema["~standard"];
  if (typeof jsonSchema?.input !== "function") {
    throw new InputError(
      `"${vendor}" cannot emit JSON Schema, which the model needs. Use ${EMITTERS}, or write a JSON Schema.`,
    );
  }
  try {
    return jsonSchema.input({ target: "draft-2020-12" });
  } catch (cause) {
    const reason = describeThrown(cause);
    throw new InputError(`"${vendor}" cannot express this schema as JSON Schema: ${reason}`, { cause });
  }
}

function frozenSchema(schema: unknown): JsonSchemaObject {
  const { copy, problems } = copyJson(schema, MAX_SCHEMA_JSON_DEPTH);
  const [first] = problems;
  if (first !== undefined) {
    const where = first.path === "" ? "the schema" : `"${first.path}"`;
    throw new InputError(`${where} ${first.problem}.`, { code: "not_json" });
  }
  if (!isPlainObject(copy)) throw new InputError("A schema is an object of JSON Schema keywords.");
  return deepFreeze(copy);
}

/** zod writes every key of `.meta()` into the schema; what is no keyword is the author's metadata, not a typo. */
function withoutMetadata(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(schema).filter(([keyword]) => isSchemaKeyword(keyword));
  return mapSubschemas(Object.fromEntries(entries), (at) =>
    isPlainObject(at.schema) ? withoutMetadata(at.schema) : at.schema,
  );
}

/** zod moves a root that has an id below `$defs` and leaves a reference; the root has to be the object itself. */
function rootObject(schema: Record<string, unknown>): JsonSchemaObject {
  const reference = schema["$ref"];
  const target = typeof reference === "string" ? resolveLocalReference(schema, reference) : undefined;
  if (!isPlainObject(target)) return schema;
  const { $ref: _moved, ...rest } = schema;
  return { ...target, ...rest };
}

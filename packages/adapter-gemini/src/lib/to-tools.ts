/** Tools, tool choice, answer format and effort as fields of a generateContent config. */

import type { JsonObject, ToolChoice } from "@openfunctions/core";
import { isRecord, type PlannedTool, type RequestPlan } from "@openfunctions/core/wire";

/** One list of declarations; nothing where there are no tools, since an empty list is refused (case adapters F2). */
export function toGeminiTools(tools: readonly PlannedTool[]): JsonObject[] | undefined {
  return tools.length === 0 ? undefined : [{ functionDeclarations: tools.map(toDeclaration) }];
}

/** FunctionDeclaration of @google/genai 3.3.0. A tool without parameters has no field for them. */
function toDeclaration({ name, description, parameters }: PlannedTool): JsonObject {
  return hasParameters(parameters)
    ? { name, description, parametersJsonSchema: parameters }
    : { name, description };
}

function hasParameters(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  const { properties, additionalProperties, type, ...rest } = schema;
  const isEmpty = !isRecord(properties) || Object.keys(properties).length === 0;
  return !isEmpty || additionalProperties !== false || Object.keys(rest).length > 0;
}

/** FunctionCallingConfig of @google/genai 3.3.0: a choice by name is mode ANY with that one name (adapters A16). */
export function toToolConfig(choice: ToolChoice | undefined): JsonObject | undefined {
  if (choice === undefined) return undefined;
  const named = typeof choice === "object";
  const mode = named || choice === "required" ? "ANY" : choice === "none" ? "NONE" : "AUTO";
  const names = named ? { allowedFunctionNames: [choice.name] } : {};
  return { functionCallingConfig: { mode, ...names } };
}

/** JSON Schema for the answer; the media type is required beside it. */
export function toAnswerFormat(format: RequestPlan["format"]): JsonObject {
  return format === undefined
    ? {}
    : { responseMimeType: "application/json", responseJsonSchema: format.schema };
}

/**
 * ThinkingConfig of @google/genai 3.3.0. "none" is a budget of zero, the only way to switch thinking off; every
 * other effort is a level, and its thoughts are shown. The API refuses both at once.
 */
export function toThinkingConfig(effort: string | undefined): JsonObject | undefined {
  if (effort === undefined) return undefined;
  if (effort === "none") return { thinkingBudget: 0 };
  const level = effort === "max" || effort === "xhigh" ? "HIGH" : effort.toUpperCase();
  return { thinkingLevel: level, includeThoughts: true };
}

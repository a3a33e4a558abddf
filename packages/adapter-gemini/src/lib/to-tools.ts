/** A model request as config of generateContentStream: tools, choice, format, effort; every field is named. */

import { ConfigError, type JsonObject, type ModelEvent, type ModelRequest } from "@openfunctions/core";
import {
  defined,
  isRecord,
  leftOutWarnings,
  type PlannedTool,
  planRequest,
  type RequestPlan,
  type WireTarget,
} from "@openfunctions/core/wire";
import { toGeminiContents } from "./to-messages.ts";

/** What is sent, and what had to be changed on the way. */
export interface GeminiRequest {
  readonly contents: JsonObject[];
  readonly config: JsonObject;
  readonly plan: RequestPlan;
  readonly warnings: readonly ModelEvent[];
}

/** Fields as in GenerateContentConfig of @google/genai 3.3.0. Throws `ConfigError` (`unsupported`). */
export function toGeminiRequest(request: ModelRequest, target: WireTarget): GeminiRequest {
  const plan = planRequest(request, target);
  const { contents, foreign, orphaned } = toGeminiContents(request.messages, target);
  if (contents.length === 0)
    throw new ConfigError("There is nothing to send: the messages have no content.", {
      code: "unsupported",
      hint: "Give at least one message with text.",
    });
  const { temperature, topP, seed, stop: stopSequences } = plan.sampling;
  const { system, maxOutputTokens } = request;
  // The plan says nothing to a model nobody knows; here "none" is a wish that can be sent all the same.
  const isOff = request.reasoning === "none" && target.reasoning === "none" && !target.confirmed;
  const config: JsonObject = defined({
    systemInstruction: system ? { parts: [{ text: system }] } : undefined,
    tools: plan.tools.length === 0 ? undefined : [{ functionDeclarations: plan.tools.map(toDeclaration) }],
    toolConfig: toToolConfig(plan.toolChoice),
    maxOutputTokens,
    temperature,
    topP,
    seed,
    stopSequences,
    responseMimeType: plan.format && "application/json",
    responseJsonSchema: plan.format?.schema,
    thinkingConfig: toThinkingConfig(isOff ? "none" : plan.effort),
  });
  const isApart = request.parallelToolCalls === false && plan.tools.length > 0;
  const changes = leftOutWarnings([
    [
      foreign,
      "provider_parts_left_out",
      `opaque parts of the history belong to another model than "${target.model}"`,
    ],
    [orphaned, "signatures_left_out", "signatures of the history have lost the text or call they came with"],
    [
      isApart ? 1 : 0,
      "parallel_unchanged",
      "wish was not sent: the API cannot keep a model from calling several tools",
    ],
  ]);
  return { contents, config, plan, warnings: [...plan.warnings, ...changes] };
}

/** FunctionDeclaration. A tool without parameters has no field for them (case adapters F2). */
function toDeclaration({ name, description, parameters }: PlannedTool): JsonObject {
  const { properties, additionalProperties, ...rest } = isRecord(parameters) ? parameters : {};
  const isEmpty = Object.keys(Object(properties)).length === 0 && additionalProperties === false;
  const isBare = isEmpty && Object.keys(rest).join() === "type";
  return isBare ? { name, description } : { name, description, parametersJsonSchema: parameters };
}

/** FunctionCallingConfig: a choice by name is mode ANY with that one name (case adapters A16). */
function toToolConfig(choice: RequestPlan["toolChoice"]): JsonObject | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === "object")
    return { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [choice.name] } };
  return { functionCallingConfig: { mode: { auto: "AUTO", none: "NONE", required: "ANY" }[choice] } };
}

/** ThinkingConfig. "none" is a budget of zero, the only way to switch thinking off; else a level, and thoughts are shown. */
function toThinkingConfig(effort: string | undefined): JsonObject | undefined {
  if (effort === undefined) return undefined;
  if (effort === "none") return { thinkingBudget: 0 };
  return { thinkingLevel: effort === "max" ? "HIGH" : effort.toUpperCase(), includeThoughts: true };
}

/** Tools, tool choice, thinking and answer format in the words of the Messages API. */

import type { JsonObject, ModelEvent, ModelRequest, ToolChoice } from "@openfunctions/core";
import { compileSchema, defined, type RequestPlan, type WireTarget } from "@openfunctions/core/wire";

/** Ends a part that may be cached, for five minutes (CacheControlEphemeral of @anthropic-ai/sdk 1.14.0). */
export const CACHE_MARK: JsonObject = { type: "ephemeral" };

/** The tools, the last one marked for the cache; nothing without tools (case adapters F4). */
export function toTools({ tools }: RequestPlan): readonly JsonObject[] | undefined {
  if (tools.length === 0) return undefined;
  return tools.map(({ name, description, parameters }, index) => {
    const tool = { name, description, input_schema: parameters };
    return index === tools.length - 1 ? { ...tool, cache_control: CACHE_MARK } : tool;
  });
}

/** The tool choice. Calls are parallel unless the request says no. */
export function toToolChoice({ tools, toolChoice, parallel }: RequestPlan): JsonObject | undefined {
  if (tools.length === 0 || (toolChoice === undefined && parallel !== false)) return undefined;
  if (toolChoice === "none") return { type: "none" };
  const named = typeof toolChoice === "object" && { type: "tool", name: toolChoice.name };
  const choice = named || { type: toolChoice === "required" ? "any" : "auto" };
  return parallel === false ? { ...choice, disable_parallel_tool_use: true } : choice;
}

/** What is said about thinking and the answer, and a warning where thinking had to be turned off. */
export interface Output {
  readonly thinking?: JsonObject;
  readonly config?: JsonObject;
  readonly warning?: ModelEvent;
}

/**
 * Effort goes with adaptive thinking, whose text some models leave out unless asked (ThinkingConfigAdaptive.display of
 * @anthropic-ai/sdk 1.14.0). A model that thinks by itself is told not to where it is made to call a tool. The answer's
 * schema is compiled for answers, which take less than tools.
 */
export function toOutput(plan: RequestPlan, request: ModelRequest, target: WireTarget): Output {
  const { reasoning, can, model } = target;
  const asked = plan.format && request.responseFormat;
  const format =
    asked?.type === "json_schema"
      ? { type: "json_schema", schema: compileSchema(asked.schema, "anthropic-output").schema }
      : undefined;
  const thinks = plan.effort ?? (reasoning === "none" ? "none" : reasoning.default);
  const isLeftOut =
    plan.effort === undefined &&
    thinks !== "none" &&
    isForced(plan.toolChoice) &&
    !can.forcedChoiceWithReasoning;
  const effort = plan.effort === "none" ? undefined : plan.effort;
  const off = reasoning !== "none" && (plan.effort === "none" || isLeftOut);
  const thinking = off
    ? { type: reasoning.off ?? "disabled" }
    : effort && { type: "adaptive", display: "summarized" };
  const detail = `"${model}" cannot reason and be made to call a tool in one request.`;
  return defined({
    thinking: thinking || undefined,
    config: effort === undefined && format === undefined ? undefined : defined({ effort, format }),
    warning: isLeftOut ? { type: "warning" as const, code: "reasoning_left_out", detail } : undefined,
  });
}

function isForced(choice: ToolChoice | undefined): boolean {
  return choice === "required" || typeof choice === "object";
}

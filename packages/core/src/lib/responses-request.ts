/** A model request as the body of OpenAI's Responses API. */

import type { ModelEvent, ModelRequest } from "./adapter.ts";
import { defined } from "./defined.ts";
import type { JsonObject } from "./json.ts";
import { type ResponsesInput, toResponsesInput } from "./responses-history.ts";
import { type PlannedTool, planRequest, type RequestPlan, type WireTarget } from "./wire-request.ts";

/** A request body, the plan it was made from, and everything that was changed or left out. */
export interface EncodedRequest {
  readonly body: JsonObject;
  readonly plan: RequestPlan;
  readonly warnings: readonly ModelEvent[];
}

/**
 * Writes the body: stateless (`store: false`), the whole history, instructions every time, encrypted reasoning
 * asked for unless the model does not reason. What stays the same comes first and the parameters last, so that
 * the bytes of consecutive bodies share the prefix instructions, tools, history. Fields as in
 * ResponseCreateParams of openai 7.59.0. Throws `ConfigError` (`unsupported`).
 */
export function toResponsesBody(request: ModelRequest, target: WireTarget): EncodedRequest {
  const plan = planRequest(request, target);
  const input = toResponsesInput(request.messages, target);
  const thinks = target.reasoning !== "none" || request.reasoning !== "none";
  const { toolChoice, sampling, format } = plan;
  const body: JsonObject = defined({
    model: target.model,
    store: false,
    stream: true,
    include: thinks ? ["reasoning.encrypted_content"] : undefined,
    instructions: request.system || undefined,
    tools: plan.tools.length === 0 ? undefined : plan.tools.map(toTool),
    input: input.items,
    tool_choice: typeof toolChoice === "object" ? { type: "function", name: toolChoice.name } : toolChoice,
    parallel_tool_calls: plan.parallel,
    reasoning: plan.effort === undefined ? undefined : { effort: plan.effort },
    max_output_tokens: request.maxOutputTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    text: format && { format: { type: "json_schema", ...format } },
  });
  return { body, plan, warnings: [...plan.warnings, ...reportLeftOut(input, target)] };
}

function toTool({ name, description, parameters, strict }: PlannedTool): JsonObject {
  return { type: "function", name, description, parameters, strict };
}

/** The warnings about opaque parts of the history that were not sent. */
export function reportLeftOut(
  { foreign, orphaned }: Omit<ResponsesInput, "items">,
  target: Pick<WireTarget, "provider" | "model">,
): ModelEvent[] {
  const whose = `belong to another model than "${target.model}" of ${target.provider}`;
  const reports = [
    [foreign, "provider_parts_left_out", `opaque parts of the history ${whose}`],
    [
      orphaned,
      "reasoning_items_left_out",
      "reasoning items of the history have lost the answer or call they led to",
    ],
  ] as const;
  return leftOutWarnings(reports);
}

/** A warning for everything that was left out at least once: "3 opaque parts ...". */
export function leftOutWarnings(
  reports: readonly (readonly [count: number, code: string, what: string])[],
): ModelEvent[] {
  return reports
    .filter(([count]) => count > 0)
    .map(([count, code, what]) => ({ type: "warning", code, detail: `${count} ${what}.` }));
}

/** A model request as the body of OpenAI's Responses API. */

import type { ModelEvent, ModelRequest } from "./adapter.ts";
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
  const body: JsonObject = {
    model: target.model,
    store: false,
    stream: true,
    ...(target.reasoning === "none" && request.reasoning === "none"
      ? {}
      : { include: ["reasoning.encrypted_content"] }),
    ...(request.system === undefined || request.system === "" ? {} : { instructions: request.system }),
    ...(plan.tools.length === 0 ? {} : { tools: plan.tools.map(toTool) }),
    input: input.items,
    ...toParameters(request, plan),
  };
  return { body, plan, warnings: [...plan.warnings, ...reportLeftOut(input, target)] };
}

function toParameters(request: ModelRequest, plan: RequestPlan): JsonObject {
  const { toolChoice, sampling, format } = plan;
  return {
    ...(toolChoice === undefined
      ? {}
      : {
          tool_choice:
            typeof toolChoice === "string" ? toolChoice : { type: "function", name: toolChoice.name },
        }),
    ...(plan.parallel === undefined ? {} : { parallel_tool_calls: plan.parallel }),
    ...(plan.effort === undefined ? {} : { reasoning: { effort: plan.effort } }),
    ...(request.maxOutputTokens === undefined ? {} : { max_output_tokens: request.maxOutputTokens }),
    ...(sampling.temperature === undefined ? {} : { temperature: sampling.temperature }),
    ...(sampling.topP === undefined ? {} : { top_p: sampling.topP }),
    ...(format === undefined
      ? {}
      : {
          text: {
            format: { type: "json_schema", name: format.name, schema: format.schema, strict: format.strict },
          },
        }),
  };
}

function toTool(tool: PlannedTool): JsonObject {
  return {
    type: "function",
    name: tool.name,
    description: tool.description,
    parameters: tool.parameters,
    strict: tool.strict,
  };
}

function reportLeftOut(input: ResponsesInput, target: WireTarget): ModelEvent[] {
  const warnings: ModelEvent[] = [];
  if (input.foreign > 0) {
    const detail = `${input.foreign} opaque parts of the history belong to another model than "${target.model}" of ${target.provider}.`;
    warnings.push({ type: "warning", code: "provider_parts_left_out", detail });
  }
  if (input.orphaned > 0) {
    const detail = `${input.orphaned} reasoning items of the history have lost the answer or call they led to.`;
    warnings.push({ type: "warning", code: "reasoning_items_left_out", detail });
  }
  return warnings;
}

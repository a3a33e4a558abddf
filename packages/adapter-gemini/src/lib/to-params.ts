/** A model request as the one argument of generateContentStream; every field is named. */

import { ConfigError, type JsonObject, type ModelEvent, type ModelRequest } from "@openfunctions/core";
import { planRequest, type RequestPlan, type WireTarget } from "@openfunctions/core/wire";
import { toGeminiContents } from "./to-messages.ts";
import { toAnswerFormat, toGeminiTools, toThinkingConfig, toToolConfig } from "./to-tools.ts";

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
  const { sampling } = plan;
  const tools = toGeminiTools(plan.tools);
  const toolConfig = toToolConfig(plan.toolChoice);
  // The plan says nothing to a model nobody knows; here "none" is a wish that can be sent all the same.
  const isOff = request.reasoning === "none" && target.reasoning === "none" && !target.confirmed;
  const thinkingConfig = toThinkingConfig(isOff ? "none" : plan.effort);
  const config: JsonObject = {
    ...(request.system ? { systemInstruction: { parts: [{ text: request.system }] } } : {}),
    ...(tools && { tools }),
    ...(toolConfig && { toolConfig }),
    ...(request.maxOutputTokens === undefined ? {} : { maxOutputTokens: request.maxOutputTokens }),
    ...(sampling.temperature === undefined ? {} : { temperature: sampling.temperature }),
    ...(sampling.topP === undefined ? {} : { topP: sampling.topP }),
    ...(sampling.seed === undefined ? {} : { seed: sampling.seed }),
    ...(sampling.stop === undefined ? {} : { stopSequences: sampling.stop }),
    ...toAnswerFormat(plan.format),
    ...(thinkingConfig && { thinkingConfig }),
  };
  const changes = reportChanges(request, { foreign, orphaned, model: target.model });
  return { contents, config, plan, warnings: [...plan.warnings, ...changes] };
}

function reportChanges(
  request: ModelRequest,
  {
    foreign,
    orphaned,
    model,
  }: { readonly foreign: number; readonly orphaned: number; readonly model: string },
): ModelEvent[] {
  const reports: [holds: boolean, code: string, detail: string][] = [
    [
      foreign > 0,
      "provider_parts_left_out",
      `${foreign} opaque parts of the history belong to another model than "${model}".`,
    ],
    [
      orphaned > 0,
      "signatures_left_out",
      `${orphaned} signatures of the history have lost the text or call they came with.`,
    ],
    [
      request.parallelToolCalls === false && (request.tools ?? []).length > 0,
      "parallel_unchanged",
      "The Gemini API has no field that keeps a model from calling several tools at once.",
    ],
  ];
  return reports
    .filter(([holds]) => holds)
    .map(([, code, detail]): ModelEvent => ({ type: "warning", code, detail }));
}

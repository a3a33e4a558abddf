/** What a model request asks for, settled against what the model can do; every change is a warning. */

import type { ModelEvent, ModelRequest, ModelTool, ResponseFormat, Sampling, ToolChoice } from "./adapter.ts";
import type { SchemaDialect } from "./dialect-rules.ts";
import { compileSchema } from "./dialect.ts";
import { ConfigError } from "./errors.ts";
import type { Json, JsonObject } from "./json.ts";
import { type ContentPart, partsOf, type ProviderPart } from "./message.ts";
import { type ModelAbilities, nearestLevel, type ReasoningLevels } from "./model-policy.ts";

/** Differences between servers that both OpenAI-shaped codecs share. Each value has its source in the adapter's quirks file. */
export interface WireQuirks {
  /** The dialect of tool schemas and answer formats. `openai-strict` sends `strict: true` where it loses nothing. */
  readonly dialect: SchemaDialect;
  /** Descriptions are cut to this many characters. Default: no limit. */
  readonly maxDescriptionChars?: number;
  /** False where temperature and top_p are refused while a model reasons. */
  readonly samplingWithReasoning: boolean;
  readonly seed: boolean;
  readonly stop: boolean;
}

/** The model a request is written for. */
export interface WireTarget {
  readonly provider: string;
  readonly model: string;
  readonly can: ModelAbilities;
  /** False where `can` is assumed: then a doubtful request is sent with a warning, not refused. */
  readonly confirmed: boolean;
  readonly reasoning: ReasoningLevels;
  readonly quirks: WireQuirks;
}

/** A tool in the wire's dialect. `restore` turns the model's arguments back into what the original schema means. */
export interface PlannedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Json;
  readonly strict: boolean;
  readonly restore: (args: JsonObject) => JsonObject;
}

/** A settled request. A field is absent where nothing is to be sent for it. */
export interface RequestPlan {
  readonly tools: readonly PlannedTool[];
  readonly toolChoice?: ToolChoice;
  readonly parallel?: boolean;
  /** In the provider's words. */
  readonly effort?: string;
  readonly format?: { readonly name: string; readonly schema: Json; readonly strict: boolean };
  readonly sampling: Sampling;
  readonly warnings: readonly ModelEvent[];
}

type Warn = (code: string, detail: string) => void;

/**
 * Settles a request. What the model lacks is left out with a warning; what cannot work at all (a choice of a
 * tool that is not offered, images or a JSON format on a model confirmed not to take them) throws
 * `ConfigError` (`unsupported`) before anything is sent.
 */
export function planRequest(request: ModelRequest, target: WireTarget): RequestPlan {
  const warnings: ModelEvent[] = [];
  const warn: Warn = (code, detail) => warnings.push({ type: "warning", code, detail });
  const tools = (request.tools ?? []).map((tool) => planTool(tool, { quirks: target.quirks, warn }));
  if (!target.can.images && hasImages(request)) refuse({ target, warn, what: "images" });
  const toolChoice = planChoice(request, target, warn);
  const effort = planEffort(request, {
    target,
    warn,
    forced: toolChoice !== undefined && toolChoice !== "auto" && toolChoice !== "none",
  });
  const format = planFormat(request, target, warn);
  const parallel = tools.length === 0 ? undefined : planParallel(request, target, warn);
  return {
    tools,
    sampling: planSampling(request, { target, warn, effort }),
    warnings,
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(parallel === undefined ? {} : { parallel }),
    ...(effort === undefined ? {} : { effort }),
    ...(format === undefined ? {} : { format }),
  };
}

/** True for an opaque part that this provider and model made, so that it may travel back. */
export function isOwnPart(part: ProviderPart, target: Pick<WireTarget, "provider" | "model">): boolean {
  return part.provider === target.provider && part.model === target.model;
}

/** The URL a provider reads an image or a file from: its own, or a data URL of its base64 data. */
export function contentUrl(part: Exclude<ContentPart, { readonly type: "text" }>): string {
  return part.url ?? `data:${part.mediaType};base64,${part.data ?? ""}`;
}

function planTool(tool: ModelTool, how: { readonly quirks: WireQuirks; readonly warn: Warn }): PlannedTool {
  const { quirks, warn } = how;
  const limit = quirks.maxDescriptionChars ?? Number.POSITIVE_INFINITY;
  if (tool.description.length > limit) {
    warn(
      "description_cut",
      `The description of "${tool.name}" was cut to the ${limit} characters the provider takes.`,
    );
  }
  const description = tool.description.length > limit ? tool.description.slice(0, limit) : tool.description;
  const compiled = compileSchema(tool.inputSchema, quirks.dialect);
  return {
    name: tool.name,
    description,
    parameters: compiled.schema,
    strict: compiled.strict,
    restore: (args) => compiled.restore(args),
  };
}

function planChoice(request: ModelRequest, target: WireTarget, warn: Warn): ToolChoice | undefined {
  const { toolChoice, tools = [] } = request;
  if (typeof toolChoice === "object" && !tools.some((tool) => tool.name === toolChoice.name)) {
    throw new ConfigError(
      `The tool choice names "${toolChoice.name}", which is not among the tools of the request.`,
      {
        code: "unsupported",
        hint: "Offer that tool, or choose another.",
      },
    );
  }
  if (toolChoice === undefined || tools.length === 0) return undefined;
  if (toolChoice === "auto" || toolChoice === "none" || target.can.forcedChoice) return toolChoice;
  warn("forced_choice_left_out", `"${target.model}" cannot be made to call a tool; it was only offered.`);
  return "auto";
}

function planEffort(
  request: ModelRequest,
  how: { readonly target: WireTarget; readonly warn: Warn; readonly forced: boolean },
): string | undefined {
  const { target, warn } = how;
  const asked = request.reasoning;
  if (asked === undefined) return undefined;
  if (target.reasoning === "none") {
    if (!target.confirmed && asked !== "none") return asked;
    if (asked !== "none") warn("reasoning_left_out", `"${target.model}" has no reasoning levels.`);
    return undefined;
  }
  if (how.forced && !target.can.forcedChoiceWithReasoning) {
    warn("reasoning_left_out", `"${target.model}" cannot reason and be made to call a tool in one request.`);
    return nearestLevel("none", target.reasoning.levels);
  }
  const level = nearestLevel(asked, target.reasoning.levels);
  if (level !== asked)
    warn(
      "reasoning_changed",
      `Reasoning "${asked}" was sent as "${level ?? "nothing"}", the nearest level of "${target.model}".`,
    );
  return level;
}

/** Sent as true or false where the model has both; an explicit false also to a model nobody knows. */
function planParallel(request: ModelRequest, target: WireTarget, warn: Warn): boolean | undefined {
  const asked = request.parallelToolCalls;
  if (target.can.parallelCalls) return asked ?? true;
  if (asked === true) warn("parallel_left_out", `"${target.model}" is not known to call tools in parallel.`);
  return asked === false && !target.confirmed ? false : undefined;
}

function planFormat(request: ModelRequest, target: WireTarget, warn: Warn): RequestPlan["format"] {
  const format: ResponseFormat = request.responseFormat ?? { type: "text" };
  if (format.type === "text") return undefined;
  if (!target.can.jsonSchema) refuse({ target, warn, what: "a JSON schema for the answer" });
  if (target.confirmed && !target.can.jsonSchemaWithTools && (request.tools ?? []).length > 0) {
    warn(
      "format_left_out",
      `"${target.model}" does not take a JSON format together with tools; only the tools were sent.`,
    );
    return undefined;
  }
  const compiled = compileSchema(format.schema, target.quirks.dialect);
  // The answer's text is not rewritten on the way back, so a schema that had to be rewritten is sent as it is.
  if (!compiled.losses.some((loss) => loss.action === "rewritten"))
    return { name: format.name, schema: compiled.schema, strict: compiled.strict };
  return {
    name: format.name,
    schema: compileSchema(format.schema, "json-schema-2020-12").schema,
    strict: false,
  };
}

function planSampling(
  request: ModelRequest,
  how: { readonly target: WireTarget; readonly warn: Warn; readonly effort: string | undefined },
): Sampling {
  const asked = request.sampling ?? {};
  const { reasoning, quirks } = how.target;
  const reasons = reasoning !== "none" && (how.effort ?? reasoning.default) !== "none";
  const takesTemperature = quirks.samplingWithReasoning || !reasons;
  const taken: Sampling = {
    ...(asked.temperature === undefined || !takesTemperature ? {} : { temperature: asked.temperature }),
    ...(asked.topP === undefined || !takesTemperature ? {} : { topP: asked.topP }),
    ...(asked.seed === undefined || !quirks.seed ? {} : { seed: asked.seed }),
    ...(asked.stop === undefined || !quirks.stop ? {} : { stop: asked.stop }),
  };
  const left = Object.keys(asked).filter(
    (name) => Reflect.get(asked, name) !== undefined && !(name in taken),
  );
  if (left.length > 0)
    how.warn("sampling_left_out", `Not taken by "${how.target.model}" here: ${left.join(", ")}.`);
  return taken;
}

function hasImages(request: ModelRequest): boolean {
  return request.messages.some((message) =>
    partsOf(message).some(
      (part) =>
        part.type === "image" ||
        (part.type === "tool_result" &&
          typeof part.result !== "string" &&
          part.result.some((inner) => inner.type === "image")),
    ),
  );
}

function refuse(how: { readonly target: WireTarget; readonly warn: Warn; readonly what: string }): void {
  const { target, what } = how;
  if (!target.confirmed) {
    how.warn(
      "ability_unconfirmed",
      `Nobody confirmed that "${target.model}" takes ${what}; it was sent all the same.`,
    );
    return;
  }
  throw new ConfigError(`"${target.model}" of ${target.provider} does not take ${what}.`, {
    code: "unsupported",
    hint: "Choose another model.",
  });
}

/** What a model request asks for, settled against what the model can do; every change is a warning. */

import type { ModelEvent, ModelRequest, ModelTool, ResponseFormat, Sampling, ToolChoice } from "./adapter.ts";
import type { SchemaDialect } from "./dialect-rules.ts";
import { compileSchema } from "./dialect.ts";
import { defined } from "./defined.ts";
import { ConfigError } from "./errors.ts";
import type { Json, JsonObject } from "./json.ts";
import { type ContentPart, type Part, partsOf, type ProviderPart } from "./message.ts";
import type { ModelAbilities, ReasoningLevels } from "./model-policy.ts";
import { nearestLevel } from "./resolve-model.ts";

/** Differences between servers that both OpenAI-shaped codecs share. Each value has its source in the adapter's quirks file. */
export interface WireQuirks {
  /** The dialect of tool schemas and answer formats. `openai-strict` sends `strict: true` where it loses nothing. */
  readonly dialect: SchemaDialect;
  /** False where temperature and top_p are refused while a model reasons. */
  readonly samplingWithReasoning: boolean;
  readonly seed: boolean;
  readonly stop: boolean;
  /** The longest id of a call that a history may hold. Default: any. */
  readonly maxIdChars?: number;
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

/**
 * Settles a request. What the model lacks is left out with a warning; what cannot work at all (a choice of a
 * tool that is not offered, images or a JSON format on a model confirmed not to take them) throws
 * `ConfigError` (`unsupported`) before anything is sent.
 */
export function planRequest(request: ModelRequest, target: WireTarget): RequestPlan {
  return new Planner(request, target).plan();
}

/** Undoes what the dialect rewrote in the arguments of a plan's tools. */
export function restoreArgumentsOf({ tools }: RequestPlan): (name: string, args: JsonObject) => JsonObject {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return (name, args) => byName.get(name)?.restore(args) ?? args;
}

/** True for an opaque part that this provider and model made, so that it may travel back. */
export function isOwnPart(part: ProviderPart, target: Pick<WireTarget, "provider" | "model">): boolean {
  return part.provider === target.provider && part.model === target.model;
}

/** True for what a user or a tool may show a model. */
export function isContent(part: Part): part is ContentPart {
  return part.type === "text" || part.type === "image" || part.type === "file";
}

/** The URL a provider reads an image or a file from: its own, or a data URL of its base64 data. */
export function contentUrl(part: Exclude<ContentPart, { readonly type: "text" }>): string {
  return part.url ?? `data:${part.mediaType};base64,${part.data ?? ""}`;
}

/** Rewrites of these keywords say the same in other words; the others also change what an answer looks like. */
const SAME_VALUES = /^(exclusiveMinimum|exclusiveMaximum|allOf|items|const)$/;

class Planner {
  readonly #request: ModelRequest;
  readonly #target: WireTarget;
  readonly #model: string;
  readonly #tools: readonly ModelTool[];
  readonly #warnings: ModelEvent[] = [];

  constructor(request: ModelRequest, target: WireTarget) {
    this.#request = request;
    this.#target = target;
    this.#model = `"${target.model}"`;
    this.#tools = request.tools ?? [];
  }

  plan(): RequestPlan {
    if (!this.#target.can.images && hasImages(this.#request)) this.#refuse("images");
    const toolChoice = this.#choice();
    const effort = this.#effort(toolChoice === "required" || typeof toolChoice === "object");
    const format = this.#format();
    const parallel = this.#tools.length === 0 ? undefined : this.#parallel();
    const sampling = this.#sampling(effort);
    const tools = this.#tools.map((tool) => planTool(tool, this.#target.quirks));
    return defined({ tools, sampling, warnings: this.#warnings, toolChoice, parallel, effort, format });
  }

  #warn(code: string, detail: string): void {
    this.#warnings.push({ type: "warning", code, detail });
  }

  #refuse(what: string): void {
    if (!this.#target.confirmed) {
      const detail = `Nobody confirmed that ${this.#model} takes ${what}; it was sent all the same.`;
      return this.#warn("ability_unconfirmed", detail);
    }
    throw new ConfigError(`${this.#model} of ${this.#target.provider} does not take ${what}.`, {
      code: "unsupported",
      hint: "Choose another model.",
    });
  }

  #choice(): ToolChoice | undefined {
    const { toolChoice } = this.#request;
    if (typeof toolChoice === "object" && !this.#tools.some(({ name }) => name === toolChoice.name)) {
      const message = `The tool choice names "${toolChoice.name}", which is not among the tools of the request.`;
      throw new ConfigError(message, { code: "unsupported", hint: "Offer that tool, or choose another." });
    }
    if (this.#tools.length === 0) return undefined;
    const isForced = toolChoice === "required" || typeof toolChoice === "object";
    if (!isForced || this.#target.can.forcedChoice) return toolChoice;
    this.#warn(
      "forced_choice_left_out",
      `${this.#model} cannot be made to call a tool; it was only offered.`,
    );
    return "auto";
  }

  #effort(isForced: boolean): string | undefined {
    const { reasoning, confirmed, can } = this.#target;
    const asked = this.#request.reasoning;
    if (asked === undefined) return undefined;
    if (reasoning === "none") {
      if (asked === "none") return undefined;
      if (!confirmed) return asked;
      this.#warn("reasoning_left_out", `${this.#model} has no reasoning levels.`);
      return undefined;
    }
    if (isForced && !can.forcedChoiceWithReasoning) {
      const detail = `${this.#model} cannot reason and be made to call a tool in one request.`;
      this.#warn("reasoning_left_out", detail);
      return nearestLevel("none", reasoning.levels);
    }
    const level = nearestLevel(asked, reasoning.levels);
    const detail = `Reasoning "${asked}" was sent as "${level ?? "nothing"}", the nearest level of ${this.#model}.`;
    if (level !== asked) this.#warn("reasoning_changed", detail);
    return level;
  }

  /** Sent as true or false where the model has both; an explicit false also to a model nobody knows. */
  #parallel(): boolean | undefined {
    const asked = this.#request.parallelToolCalls;
    if (this.#target.can.parallelCalls) return asked ?? true;
    if (asked === true)
      this.#warn("parallel_left_out", `${this.#model} is not known to call tools in parallel.`);
    return asked === false && !this.#target.confirmed ? false : undefined;
  }

  #format(): RequestPlan["format"] {
    const format: ResponseFormat = this.#request.responseFormat ?? { type: "text" };
    const { can, confirmed, quirks } = this.#target;
    if (format.type === "text") return undefined;
    if (!can.jsonSchema) this.#refuse("a JSON schema for the answer");
    if (confirmed && !can.jsonSchemaWithTools && this.#tools.length > 0) {
      const detail = `${this.#model} does not take a JSON format together with tools; only the tools were sent.`;
      this.#warn("format_left_out", detail);
      return undefined;
    }
    if (can.jsonSchema && !can.jsonSchemaWithTools && this.#tools.length > 0)
      this.#refuse("a JSON schema for the answer together with tools");
    const { losses, schema, strict } = compileSchema(format.schema, quirks.dialect);
    const changesValues = losses.some(
      ({ action, keyword }) => action === "rewritten" && !SAME_VALUES.test(keyword),
    );
    if (!changesValues) return { name: format.name, schema, strict };
    // The answer's text is not rewritten on the way back, so a schema that had to be rewritten is sent as it is.
    const asIs = compileSchema(format.schema, "json-schema-2020-12").schema;
    return { name: format.name, schema: asIs, strict: false };
  }

  #sampling(effort: string | undefined): Sampling {
    const { temperature, topP, seed, stop } = this.#request.sampling ?? {};
    const { can, reasoning, quirks } = this.#target;
    const reasons = reasoning !== "none" && (effort ?? reasoning.default) !== "none";
    const isTaken = can.sampling !== false && (quirks.samplingWithReasoning || !reasons);
    const asked = defined({ temperature, topP, seed, stop });
    const taken: Sampling = defined({
      temperature: isTaken ? temperature : undefined,
      topP: isTaken ? topP : undefined,
      seed: quirks.seed ? seed : undefined,
      stop: quirks.stop ? stop : undefined,
    });
    const left = Object.keys(asked).filter((name) => !(name in taken));
    if (left.length > 0)
      this.#warn("sampling_left_out", `Not taken by ${this.#model} here: ${left.join(", ")}.`);
    return taken;
  }
}

function planTool({ name, description, inputSchema }: ModelTool, quirks: WireQuirks): PlannedTool {
  const { schema, strict, restore } = compileSchema(inputSchema, quirks.dialect);
  return { name, description, parameters: schema, strict, restore };
}

function hasImages({ messages }: ModelRequest): boolean {
  const isImage = ({ type }: Part): boolean => type === "image";
  return messages.some((message) =>
    partsOf(message).some(
      (part) =>
        isImage(part) ||
        (part.type === "tool_result" && typeof part.result !== "string" && part.result.some(isImage)),
    ),
  );
}

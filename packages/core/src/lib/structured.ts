/** Structured output: a value that fits a schema, or an error that says why not. */

import type { AIAdapter, ModelReply } from "./adapter.ts";
import { OpenFunctionsError } from "./errors.ts";
import { defined } from "./defined.ts";
import { isJsonObject, type Json } from "./json.ts";
import type { Message } from "./message.ts";
import { type CallResult, err, ok } from "./result.ts";
import type { LoopOptions, ReplyPolicy, ReplyVerdict } from "./run-options.ts";
import { runLoop } from "./run-loop.ts";
import type { RunRecord } from "./run-record.ts";
import { type InferOutput, type JsonSchemaObject, type ToolSchema, isStandardSchema } from "./schema.ts";
import { emitJsonSchema } from "./schema-source.ts";
import { ToolRegistry } from "./registry.ts";
import { type Tool, defineTool } from "./tool.ts";
import { validatorFor } from "./validate.ts";
import { describeProblems } from "./validation-message.ts";

/** Options of `generateStructured`. */
export interface StructuredOptions<S extends ToolSchema> extends Pick<
  LoopOptions,
  | "system"
  | "signal"
  | "ports"
  | "store"
  | "capture"
  | "logger"
  | "limits"
  | "parent"
  | "owner"
  | "principal"
  | "sampling"
  | "reasoning"
  | "maxOutputTokens"
> {
  readonly schema: S;
  /** The question; or give `messages`. */
  readonly prompt?: string;
  readonly messages?: readonly Message[];
  /** Rounds in which the model may mend its answer. Default 1. */
  readonly repairs?: number;
}

/** No attempt fit the schema. `problems` are those of the last one. */
export class StructuredOutputError extends OpenFunctionsError {
  readonly attempts: number;
  readonly problems: readonly string[];
  readonly run: RunRecord | undefined;
  constructor(
    message: string,
    options: {
      readonly attempts: number;
      readonly problems: readonly string[];
      readonly run?: RunRecord;
      readonly cause?: unknown;
    },
  ) {
    super(message, {
      code: "structured_output_failed",
      cause: options.cause,
      details: { attempts: options.attempts, problems: options.problems },
    });
    this.attempts = options.attempts;
    this.problems = options.problems;
    this.run = options.run;
  }
}

const TOOL_NAME = "give_answer";
const ANSWER_NAME = "answer";
const NOT_JSON = "The answer is not JSON. Answer with JSON that fits the schema and nothing else.";

/**
 * Asks for a value that fits `schema`: through the model's own JSON mode where it has one, else through one tool
 * with forced choice. The value is validated against the original schema; problems go back to the model for
 * `repairs` rounds, then `StructuredOutputError`. Shape is not truth: nothing is verified. Throws the provider's
 * error when the model could not be asked, and the signal's reason on abort.
 */
export async function generateStructured<const S extends ToolSchema>(
  adapter: AIAdapter,
  options: StructuredOptions<S>,
): Promise<{ readonly value: InferOutput<S>; readonly run: RunRecord; readonly attempts: number }> {
  const schema = emitJsonSchema(options.schema);
  const asking = new Asking(options.schema, schema, options.repairs ?? 1);
  const native = adapter.capabilities.jsonSchema;
  const {
    schema: _schema,
    prompt = "",
    messages = [{ role: "user" as const, content: prompt }],
    repairs: _repairs,
    ...rest
  } = options;
  const result = await runLoop({
    ...rest,
    adapter,
    messages,
    kind: "structured",
    actor: { name: "structured" },
    policy: asking,
    ...(native
      ? { responseFormat: { type: "json_schema" as const, name: ANSWER_NAME, schema: asking.asked } }
      : asking.forcedTool(adapter)),
  }).result;
  if (result.status === "completed" && asking.accepted !== undefined) {
    // Proof: the value passed the schema that S stands for
    return { value: asking.accepted.value as InferOutput<S>, run: result.record, attempts: asking.attempts };
  }
  if (result.status === "cancelled")
    throw options.signal?.reason ?? new DOMException("The run was cancelled.", "AbortError");
  if (result.error !== undefined && result.error.code !== "structured_output_failed") throw result.error;
  throw new StructuredOutputError(
    `No answer fit the schema after ${asking.attempts} attempt(s): ${asking.problems[0] ?? result.stopReason}`,
    { attempts: asking.attempts, problems: asking.problems, run: result.record },
  );
}

/** One question for a structured answer: counts attempts, keeps the last problems and the accepted value. */
class Asking implements ReplyPolicy {
  readonly #source: ToolSchema;
  readonly #schema: JsonSchemaObject;
  readonly #repairs: number;
  readonly #wraps: boolean;
  attempts = 0;
  problems: readonly string[] = [];
  accepted: { readonly value: unknown } | undefined;

  constructor(source: ToolSchema, schema: JsonSchemaObject, repairs: number) {
    this.#source = source;
    this.#schema = schema;
    this.#repairs = repairs;
    this.#wraps = !isObjectSchema(schema);
  }

  /** What the model is asked for: the schema, inside an object where its own root is none, which no provider takes. */
  get asked(): JsonSchemaObject {
    if (!this.#wraps) return this.#schema;
    const { $defs, definitions, ...value } = this.#schema;
    return defined({
      type: "object" as const,
      properties: { value },
      required: ["value"],
      additionalProperties: false,
      $defs,
      definitions,
    });
  }

  /** A registry with the one tool that takes the answer, and the choice of it. */
  forcedTool(adapter: AIAdapter): Pick<LoopOptions, "tools" | "toolChoice" | "parallelToolCalls"> {
    const tools = new ToolRegistry();
    tools.register(this.#answerTool());
    return {
      tools,
      toolChoice: adapter.capabilities.forcedChoice ? { name: TOOL_NAME } : "auto",
      parallelToolCalls: false,
    };
  }

  async onAnswer(reply: ModelReply): Promise<ReplyVerdict> {
    this.attempts += 1;
    const parsed = parseJson(reply.text);
    const problems = parsed.ok ? await this.#accept(this.#unwrapped(parsed.value)) : [NOT_JSON];
    return problems.length === 0 ? accept(reply.text) : this.#again(problems);
  }

  onResults(results: readonly CallResult[]): ReplyVerdict {
    this.attempts += 1;
    const good = results.find((result) => result.success);
    if (good !== undefined) return accept(JSON.stringify(this.accepted?.value ?? null));
    const problems = results.flatMap((result) => (result.success ? [] : [result.error]));
    this.problems = problems;
    return this.attempts > this.#repairs ? this.#giveUp() : { type: "continue" };
  }

  #answerTool(): Tool {
    return defineTool({
      name: TOOL_NAME,
      description: "Gives the final answer. Call it exactly once, with the whole answer.",
      inputSchema: this.#wraps ? this.asked : this.#source,
      contract: "read",
      handler: async (params) => {
        if (!this.#wraps) this.accepted = { value: params };
        // Proof: arguments are JSON
        const problems = this.#wraps ? await this.#accept(this.#unwrapped(params as Json)) : [];
        return problems.length === 0 ? ok("accepted") : err(problems.join("\n"));
      },
    });
  }

  #unwrapped(answer: Json): Json {
    return this.#wraps && isJsonObject(answer) && "value" in answer ? (answer["value"] ?? null) : answer;
  }

  async #accept(value: Json): Promise<readonly string[]> {
    if (isStandardSchema(this.#source)) {
      const checked = await this.#source["~standard"].validate(value);
      if (checked.issues !== undefined) return checked.issues.map((issue) => issue.message);
      this.accepted = { value: checked.value };
      return [];
    }
    const problems = await validatorFor(this.#schema).validate(value);
    if (problems.length > 0)
      return [
        describeProblems(ANSWER_NAME, problems, {
          schema: this.#schema,
          value,
          what: "answer",
        }),
      ];
    this.accepted = { value };
    return [];
  }

  #again(problems: readonly string[]): ReplyVerdict {
    this.problems = problems;
    if (this.attempts > this.#repairs) return this.#giveUp();
    return {
      type: "ask_again",
      message: `The answer does not fit the schema:\n${problems.join("\n")}\nGive the corrected answer.`,
    };
  }

  #giveUp(): ReplyVerdict {
    const error = new StructuredOutputError("No answer fit the schema.", {
      attempts: this.attempts,
      problems: this.problems,
    });
    return { type: "give_up", error };
  }
}

function accept(text: string): ReplyVerdict {
  return { type: "accept", stopReason: "structured_output", text };
}

function isObjectSchema(schema: JsonSchemaObject): boolean {
  return schema.type === "object" && schema.properties !== undefined;
}

function parseJson(text: string): { readonly ok: true; readonly value: Json } | { readonly ok: false } {
  try {
    const bare = text
      .trim()
      .replace(/^```(?:json)?\s*/, "")
      .replace(/\s*```$/, "");
    return { ok: true, value: JSON.parse(bare) as Json }; // Proof: JSON.parse gives JSON
  } catch {
    return { ok: false };
  }
}

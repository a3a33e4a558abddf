/** Structured output on every wire: the model's own JSON mode where it has one, a tool elsewhere, one validation. */

import { describe, expect, it } from "vitest";
import {
  generateStructured,
  ok,
  runLoop,
  type StructuredOptions,
  StructuredOutputError,
  ToolRegistry,
  type ToolSchema,
  userMessage,
} from "@openfunctions/core";
import { ADAPTERS, answerOf, type Said, sentTo, type Talking, withSteps } from "./adapters.ts";
import { expectLegalHistory } from "./wire-shape.ts";

/** Constraints that no dialect takes all of. */
const SCHEMA = {
  type: "object",
  properties: {
    code: { type: "string", pattern: "^[A-Z]{3}$" },
    days: { type: "integer", minimum: 1, maximum: 9, multipleOf: 3 },
    tag: { oneOf: [{ const: "a" }, { type: "string", minLength: 5 }] },
    note: { type: "string", maxLength: 4 },
  },
  required: ["code", "days", "tag"],
  additionalProperties: false,
} as const;
const RIGHT = { code: "ABC", days: 3, tag: "hello" };
const WRONG = [
  { ...RIGHT, code: "abc" },
  { ...RIGHT, days: 4 },
  { ...RIGHT, tag: "b" },
  { ...RIGHT, note: "too long" },
];

/** A model of the policy table where there is one, else one nobody knows. */
const MODELS: Readonly<Record<string, string>> = {
  "openai responses": "gpt-6-luna",
  "openai chat": "gpt-6-luna",
  xai: "grok-4.3",
  openrouter: "openai/gpt-6-luna",
  anthropic: "claude-sonnet-5-5",
  gemini: "gemini-3.8-flash",
};

/** Where a wire's body has the schema of its JSON mode. */
function formatOf(name: string, body: unknown): unknown {
  const at = (...path: string[]): unknown => path.reduce<unknown>((value, key) => Object(value)[key], body);
  if (name === "anthropic") return at("output_config", "format", "schema");
  if (name === "gemini") return at("generationConfig", "responseJsonSchema");
  if (name === "ollama") return at("format");
  if (name.endsWith("responses") || name === "xai") return at("text", "format", "schema");
  return at("response_format", "json_schema", "schema");
}

interface Asked {
  readonly model: string;
  readonly answers: readonly unknown[];
  readonly schema?: ToolSchema;
  readonly more?: Partial<StructuredOptions<ToolSchema>>;
}

/** Asks, and gives every answer as the mode wants it: text that is JSON, or a call of the tool. */
async function ask(
  name: string,
  { model, answers, schema = SCHEMA, more }: Asked,
  check: (
    given: Promise<{ readonly value: unknown; readonly attempts: number }>,
    talking: Talking,
  ) => Promise<void>,
): Promise<void> {
  let isNative = false;
  const steps = answers.map((answer, index) => () => answerOf(name, saidOf(answer, { isNative, index })));
  const body = async (talking: Talking): Promise<void> => {
    isNative = talking.adapter.capabilities.jsonSchema;
    await check(generateStructured(talking.adapter, { schema, prompt: "Where to?", ...more }), talking);
  };
  await withSteps(name, steps, { model, body });
}

function saidOf(answer: unknown, how: { readonly isNative: boolean; readonly index: number }): Said {
  const text = JSON.stringify(answer);
  const halves = [text.slice(0, 5), text.slice(5)];
  if (how.isNative) return { text: halves };
  return { calls: [{ id: `call_${how.index}`, name: "give_answer", args: halves }] };
}

describe.each(ADAPTERS)("%s", (name) => {
  const known = MODELS[name];
  const models = ["m", ...(known === undefined ? [] : [known])];

  it.each(models)(
    "asks through the JSON mode where the model has one, else through one tool: %s",
    async (model) => {
      await ask(name, { model, answers: [RIGHT] }, async (given, talking) => {
        expect(await given).toMatchObject({ value: RIGHT, attempts: 1 });
        const { body, text } = sentTo(talking, 0);
        const isNative = talking.adapter.capabilities.jsonSchema;
        expect(formatOf(name, body) !== undefined).toBe(isNative);
        expect(text.includes("give_answer")).toBe(!isNative);
        expect(text).toContain('"code"');
      });
    },
  );

  it.each(models)(
    "an answer that breaks only what the dialect cannot say is refused and mended once: %s",
    async (model) => {
      for (const wrong of WRONG) {
        await ask(name, { model, answers: [wrong, RIGHT] }, async (given, talking) => {
          expect(await given).toMatchObject({ value: RIGHT, attempts: 2 });
          const [key] = Object.entries(wrong).find(([field, value]) => Reflect.get(RIGHT, field) !== value)!;
          const { body, text } = sentTo(talking, 1);
          expect(text.split(`- ${key}`).length, `${key} is named to the model`).toBeGreaterThan(1);
          expectLegalHistory(name, body);
        });
      }
    },
  );

  it.each(models)(
    "two answers that do not fit are an error with both counted; no value comes out: %s",
    async (model) => {
      await ask(name, { model, answers: [WRONG[0], WRONG[1], RIGHT] }, async (given, { server }) => {
        const failure: unknown = await given.catch((error: unknown) => error);
        expect(failure).toBeInstanceOf(StructuredOutputError);
        expect(failure).toMatchObject({ attempts: 2, run: { status: "failed" } });
        expect(server.requests).toHaveLength(2);
      });
    },
  );

  it.each(models)("a list, and a schema with definitions, are asked for as well: %s", async (model) => {
    const schema = {
      $defs: { leg: { type: "object", properties: { to: { type: "string" } }, required: ["to"] } },
      type: "array",
      items: { $ref: "#/$defs/leg" },
      minItems: 1,
    } as const;
    await ask(
      name,
      { model, schema, answers: [{ value: [] }, { value: [{ to: "Bern" }] }] },
      async (given, { server }) => {
        expect(await given).toMatchObject({ value: [{ to: "Bern" }], attempts: 2 });
        // No provider is asked for an answer whose root is no object.
        const sent = formatOf(name, server.requests[0]?.body);
        if (sent !== undefined) expect(sent).toMatchObject({ type: "object" });
      },
    );
  });

  it.each(models)(
    "the mode's format goes together with tools, or is left out with a warning: %s",
    async (model) => {
      const tools = new ToolRegistry();
      const inputSchema = { type: "object", properties: {} } as const;
      tools.register({
        name: "look",
        description: "looks",
        inputSchema,
        contract: "read",
        handler: () => ok("seen"),
      });
      const steps = [
        { calls: [{ id: "call_1", name: "look", args: ["{}"] }] },
        { text: [JSON.stringify(RIGHT)] },
      ];
      await withSteps(
        name,
        steps.map((said) => answerOf(name, said)),
        {
          model,
          body: async ({ adapter, server }) => {
            const responseFormat = { type: "json_schema", name: "answer", schema: SCHEMA } as const;
            const run = runLoop({ adapter, tools, responseFormat, messages: [userMessage("go")] });
            const codes: string[] = [];
            for await (const event of run)
              if (event.type === "model.responded")
                codes.push(...(event.data.warnings ?? []).map(({ code }) => code));
            expect(await run.result).toMatchObject({ status: "completed", text: JSON.stringify(RIGHT) });
            const isLeft = codes.includes("format_left_out");
            for (const { body } of server.requests) expect(formatOf(name, body) === undefined).toBe(isLeft);
            if (!adapter.capabilities.jsonSchemaWithTools)
              expect(
                isLeft || codes.includes("ability_unconfirmed") || codes.includes("model_unconfirmed"),
              ).toBe(true);
            else expect(isLeft).toBe(false);
          },
        },
      );
    },
  );
});

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedAdapter } from "./testing/scripted-adapter.ts";
import { StructuredOutputError, generateStructured } from "./structured.ts";

const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "integer" } },
  required: ["city"],
  additionalProperties: false,
} as const;
const answer = (args: Record<string, unknown>) => ({
  toolCalls: [{ name: "give_answer", args: args as never }],
});

describe("generateStructured", () => {
  it("core S1: one repair round with the problems, then an error with two attempts; never invalid data", async () => {
    const adapter = scriptedAdapter([answer({ city: 5 }), answer({ days: "x" })], {
      capabilities: { jsonSchema: false },
    });
    const failure = await generateStructured(adapter, { schema: SCHEMA, prompt: "where?" }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(StructuredOutputError);
    expect(failure).toMatchObject({ code: "structured_output_failed", attempts: 2 });
    expect(adapter.requests).toHaveLength(2);
    expect(JSON.stringify(adapter.requests[1]?.messages)).toContain("city");
  });

  it("core S2: the system text is sent with the request", async () => {
    const adapter = scriptedAdapter([{ text: '{"city":"Oslo"}' }]);
    await generateStructured(adapter, { schema: SCHEMA, prompt: "where?", system: "You know cities." });
    expect(adapter.requests[0]).toMatchObject({
      system: "You know cities.",
      responseFormat: { type: "json_schema", schema: SCHEMA },
    });
  });

  it("takes the native mode's text, mends it once, and counts a text-only reply as an attempt", async () => {
    const mended = scriptedAdapter([{ text: "Oslo" }, { text: '```json\n{"city":"Oslo","days":2}\n```' }]);
    const result = await generateStructured(mended, { schema: SCHEMA, prompt: "where?" });
    expect(result).toMatchObject({
      value: { city: "Oslo", days: 2 },
      attempts: 2,
      run: { kind: "structured", stopReason: "structured_output" },
    });
    const textOnly = scriptedAdapter([{ text: "Oslo" }, answer({ city: "Oslo" })], {
      capabilities: { jsonSchema: false },
    });
    expect((await generateStructured(textOnly, { schema: SCHEMA, prompt: "where?" })).attempts).toBe(2);
    expect(textOnly.requests[0]?.toolChoice).toEqual({ name: "give_answer" });
  });

  it("gives a Standard Schema's output, and wraps a schema whose root is no object", async () => {
    const zod = await generateStructured(scriptedAdapter([{ text: '{"n":"4"}' }]), {
      schema: z.object({ n: z.string().transform(Number) }),
      prompt: "?",
    });
    expect(zod.value).toEqual({ n: 4 });
    const list = await generateStructured(
      scriptedAdapter([answer({ value: [1, 2] })], { capabilities: { jsonSchema: false } }),
      { schema: { type: "array", items: { type: "integer" } }, prompt: "?" },
    );
    expect(list.value).toEqual([1, 2]);
  });

  it("asks for a list inside an object, in both modes, and gives what the schema makes of it", async () => {
    const schema = z.array(z.string().transform(Number)).min(1);
    const native = scriptedAdapter([{ text: '{"value":[]}' }, { text: '["1"]' }]);
    expect(await generateStructured(native, { schema, prompt: "?" })).toMatchObject({
      value: [1],
      attempts: 2,
    });
    expect(native.requests[0]?.responseFormat).toMatchObject({
      schema: { type: "object", required: ["value"] },
    });
    const byTool = scriptedAdapter([answer({ value: [] }), answer({ value: ["1", "2"] })], {
      capabilities: { jsonSchema: false },
    });
    expect(await generateStructured(byTool, { schema, prompt: "?" })).toMatchObject({
      value: [1, 2],
      attempts: 2,
    });
  });

  it("throws the provider's error, and the signal's reason", async () => {
    const broken = new Error("model is gone");
    await expect(
      generateStructured(scriptedAdapter([{ error: broken }]), { schema: SCHEMA, prompt: "?" }),
    ).rejects.toThrow("model is gone");
    const signal = AbortSignal.timeout(10);
    const stopped = await generateStructured(scriptedAdapter([{ stall: true }]), {
      schema: SCHEMA,
      prompt: "?",
      signal,
    }).catch((error: unknown) => error);
    expect(stopped).toBe(signal.reason);
  });
});

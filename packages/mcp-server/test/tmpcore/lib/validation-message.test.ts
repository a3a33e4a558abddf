import { describe, expect, it } from "vitest";
import { deepFreeze, type Json } from "./json.ts";
import type { JsonSchema, JsonSchemaObject } from "./schema.ts";
import { validatorFor } from "./validate.ts";
import { describeProblems } from "./validation-message.ts";

async function linesFor(schema: JsonSchemaObject, value: Json): Promise<readonly string[]> {
  const problems = await validatorFor(deepFreeze(schema)).validate(value);
  return describeProblems("t", problems, { schema, value }).split("\n");
}

function object(properties: Record<string, JsonSchema>, more: JsonSchemaObject = {}): JsonSchemaObject {
  return { type: "object", properties, ...more };
}

describe("describeProblems", () => {
  it("core V1: names the tool, the missing property and its description", async () => {
    expect(
      await linesFor(object({ a: { type: "string", description: "Aa" } }, { required: ["a"] }), {}),
    ).toEqual(['Tool "t", 1 problem in the arguments:', "- a: is missing (Aa)"]);
  });
  it("finds the description of a nested property and through a reference", async () => {
    const item = { type: "object", properties: { id: { $ref: "#/$defs/id" } }, required: ["id"] } as const;
    const schema = object(
      { list: { type: "array", items: item } },
      { $defs: { id: { type: "string", description: "the id" } } },
    );
    expect(await linesFor(schema, { list: [{}] })).toContain("- list[0].id: is missing (the id)");
  });
  it("core V7: a type error hides the other errors of its path", async () => {
    expect(await linesFor(object({ n: { type: "integer", enum: [1, 2] } }), { n: "1" })).toEqual([
      expect.anything(),
      '- n: must be integer, got the string "1"',
    ]);
  });
  it("core V8: items are named by index", async () => {
    const lines = await linesFor(object({ list: { type: "array", items: { type: "integer" } } }), {
      list: [1, "x", null],
    });
    expect(lines.slice(1)).toEqual([
      '- list[1]: must be integer, got the string "x"',
      "- list[2]: must be integer, got null",
    ]);
  });
  it("core V10: 30 problems become 20 lines, missing ones first, and how many more", async () => {
    const names = Array.from({ length: 25 }, (_, index) => `n${index}`);
    const properties = Object.fromEntries(
      [...names, "m1", "m2", "m3", "m4", "m5"].map((name) => [name, { type: "string" as const }]),
    );
    const lines = await linesFor(
      object(properties, { required: ["n0", "m1", "m2", "m3", "m4", "m5"] }),
      Object.fromEntries(names.map((name) => [name, 1])),
    );
    expect(lines).toHaveLength(22);
    expect(lines[0]).toContain("30 problems");
    expect(lines.slice(1, 6)).toEqual(["m1", "m2", "m3", "m4", "m5"].map((name) => `- ${name}: is missing`));
    expect(lines.at(-1)).toBe("... and 10 more");
  });
  it("puts a missing property first, wherever it is missing", async () => {
    const inner = { type: "object", properties: { k: {} }, required: ["k"] } as const;
    expect((await linesFor(object({ a: { type: "string" }, o: inner }), { a: 1, o: {} }))[1]).toBe(
      "- o.k: is missing",
    );
  });
  it("core V14: a keyword that failed is said with the value", async () => {
    expect(await linesFor(object({ s: { type: "string", minLength: 1 } }), { s: "" })).toContain(
      '- s: must NOT have fewer than 1 characters, got ""',
    );
  });
  it("core V16: anyOf is one line that names the alternatives", async () => {
    expect(
      await linesFor(object({ v: { anyOf: [{ type: "string" }, { type: "number" }] } }), { v: true }),
    ).toEqual([expect.anything(), "- v: must be one of: string | number, got true"]);
  });
  it("a union of objects names what tells them apart, also behind references", async () => {
    const cat = {
      type: "object",
      properties: { kind: { const: "cat" }, lives: { type: "integer" } },
      required: ["kind", "lives"],
    } as const;
    const schema = object(
      { pet: { oneOf: [{ $ref: "#/$defs/cat" }, { type: "object", title: "A dog" }] } },
      { $defs: { cat } },
    );
    const lines = await linesFor(schema, { pet: "x" });
    expect(lines.slice(1)).toEqual(['- pet: must be one of: object {kind: "cat", lives} | A dog, got "x"']);
  });
  it("oneOf says when more than one alternative fits", async () => {
    expect(
      (await linesFor(object({ v: { oneOf: [{ type: "string" }, { minLength: 1 }] } }), { v: "a" })).join(),
    ).toContain("more than one alternative");
  });
  it("keeps the problems beside a union", async () => {
    const lines = await linesFor(
      object(
        { a: { type: "string" } },
        { anyOf: [{ required: ["b"] }, { required: ["c"] }], additionalProperties: true },
      ),
      { a: 1 },
    );
    expect(lines.slice(1).sort()).toEqual([
      "- a: must be string, got the number 1",
      '- the arguments: must be one of: object {b} | object {c}, got {"a":1}',
    ]);
  });
  it("enum errors list the allowed values, and the value got is cut at 80 characters", async () => {
    const [, line] = await linesFor(object({ c: { enum: ["red", "green"] } }), { c: "x".repeat(500) });
    expect(line).toMatch(/^- c: must be one of "red", "green", got "x{76}\.\.\.$/);
  });
  it("an unknown property gets the nearest known name", async () => {
    expect(await linesFor(object({ color: {} }, { additionalProperties: false }), { colour: 1 })).toContain(
      '- colour: is not a known property; did you mean "color"?',
    );
  });
  it("a condition is told by what it asks, and a forbidden property as such", async () => {
    const schema = object(
      { a: {}, c: false },
      { if: { required: ["z"] }, else: { required: ["d"] }, additionalProperties: true },
    );
    const lines = await linesFor(schema, { a: 1, c: 1 });
    expect(lines.slice(1)).toEqual(["- d: is missing", "- c: is not allowed"]);
  });
  it("a hostile key or value does not make a long or broken message", async () => {
    const value = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`${index}${"k😀".repeat(100_000)}`, "v"]),
    );
    const message = (await linesFor(object({}, { additionalProperties: false }), value)).join("\n");
    expect(message.length).toBeLessThan(6_000);
    expect(message.isWellFormed()).toBe(true);
  });
});

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type PreparedArguments, prepareArguments, type ToolInput } from "./arguments.ts";
import { deepFreeze } from "./json.ts";
import { emitJsonSchema } from "./schema-source.ts";
import type { JsonSchema, JsonSchemaObject, StandardSchema } from "./schema.ts";
import { warmValidators } from "./validate.ts";

type Properties = Record<string, JsonSchema>;

function tool(properties: Properties, more: JsonSchemaObject & { strict?: boolean } = {}): ToolInput {
  const { strict = false, ...keywords } = more;
  return { toolName: "t", strict, schema: deepFreeze({ type: "object", properties, ...keywords }) };
}

function standardTool(standard: StandardSchema, strict = false): ToolInput {
  return { toolName: "t", strict, schema: emitJsonSchema(standard), standard };
}

async function fromCode(input: ToolInput, value: unknown): Promise<PreparedArguments> {
  return prepareArguments(input, value, { origin: "program" });
}

async function fromModel(input: ToolInput, value: unknown): Promise<PreparedArguments> {
  return prepareArguments(input, value, { origin: "model" });
}

const refused = (message: string | RegExp): unknown =>
  expect.objectContaining({ ok: false, message: expect.stringMatching(message) });

describe("what arguments are", () => {
  it("undefined is {}", async () => {
    expect(await fromCode(tool({}), undefined)).toEqual({
      ok: true,
      args: {},
      params: {},
      argsOrigin: "program",
      droppedArgs: [],
      defaulted: [],
    });
  });
  it.each([
    [null, "null"],
    ["x", '"x"'],
    [[1], "an array"],
    [new Map(), "a Map"],
    [5n, "5n"],
    [new Date(0), "a Date"],
    [() => 1, "=>"],
  ])("%s is refused and named", async (value, name) => {
    const prepared = await fromCode(tool({}), value);
    expect(prepared).toEqual(refused(/must be a plain object/));
    expect(prepared).toMatchObject({
      message: expect.stringContaining(name),
      paths: [{ path: "", keyword: "json" }],
    });
  });
  it("core V5: NaN, Infinity, a function, a BigInt, a Map and a cycle are errors at their path", async () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = { again: cycle };
    const prepared = await fromCode(tool({ n: { type: "number" } }), {
      n: Number.NaN,
      i: [Number.POSITIVE_INFINITY],
      f: () => 1,
      b: 1n,
      m: new Map(),
      cycle,
    });
    expect(prepared).toMatchObject({ ok: false });
    if (prepared.ok) return;
    expect(prepared.paths.map(({ path }) => path)).toEqual(["n", "i[0]", "f", "b", "m", "cycle.self.again"]);
    expect(prepared.message).toContain("- n: is NaN");
  });
  it("the caller's object is never touched, whatever happens to the copy", async () => {
    const value = deepFreeze({ a: null, unknown: 1, o: { b: null } });
    const input = tool({
      a: { type: "string" },
      d: { default: "d" },
      o: { type: "object", properties: { b: { type: "string" } } },
    });
    expect(await fromCode(input, value)).toMatchObject({ ok: true, args: { d: "d", o: {} } });
    expect(value).toEqual({ a: null, unknown: 1, o: { b: null } });
  });
  it("answers at once when warm, and also for cold schemas that are simple", async () => {
    const cold = tool({ a: { type: "string" } });
    expect(prepareArguments(cold, { a: "x" }, { origin: "model" })).toMatchObject({ ok: true });
    const input = tool({ a: { type: "string", format: "uri", default: "http://x" } });
    await warmValidators([input.schema]);
    expect(prepareArguments(input, {}, { origin: "program" })).toMatchObject({ ok: true, defaulted: ["a"] });
    expect(prepareArguments(input, { a: "no" }, { origin: "model" })).toMatchObject({ ok: false });
  });
});

describe("validation", () => {
  it("core V1: a missing property is named with its description", async () => {
    const prepared = await fromCode(
      tool({ a: { type: "string", description: "Aa" } }, { required: ["a"] }),
      {},
    );
    expect(prepared).toEqual(refused(/a: is missing \(Aa\)/));
    expect(prepared).toMatchObject({ paths: [{ path: "a", keyword: "required" }] });
  });
  it("core V2: null for a required property counts as missing, unless the schema takes null", async () => {
    expect(await fromCode(tool({ a: { type: "string" } }, { required: ["a"] }), { a: null })).toEqual(
      refused(/a: is missing/),
    );
    expect(
      await fromCode(tool({ a: { type: ["string", "null"] } }, { required: ["a"] }), { a: null }),
    ).toMatchObject({ params: { a: null } });
  });
  it("core V4: nothing from code is coerced", async () => {
    const input = tool({ n: { type: "integer" } });
    expect(await fromCode(input, { n: 3.0 })).toMatchObject({ ok: true });
    expect(await fromCode(input, { n: 3.5 })).toMatchObject({ ok: false });
    expect(await fromCode(input, { n: "3" })).toMatchObject({ ok: false });
  });
  it("core V7: the type is the one problem of its path", async () => {
    const prepared = await fromCode(tool({ n: { type: "integer", enum: [1, 2] } }), { n: "1" });
    expect(!prepared.ok && prepared.message.split("\n")).toHaveLength(2);
  });
  it("core V8: null inside an array is left for the validator", async () => {
    const prepared = await fromCode(tool({ list: { type: "array", items: { type: "integer" } } }), {
      list: [1, "x", null],
    });
    expect(prepared).toMatchObject({ paths: [{ path: "list[1]" }, { path: "list[2]" }] });
  });
  it("core V11: constructor and toString are unknown keys like any other", async () => {
    const value = { constructor: 1, toString: 2, a: "x" };
    expect(await fromCode(tool({ a: { type: "string" } }), value)).toMatchObject({
      ok: true,
      args: { a: "x" },
      droppedArgs: ["constructor", "toString"],
    });
    expect(await fromCode(tool({}, { additionalProperties: false }), { toString: 1 })).toEqual(
      refused(/toString: is not a known property/),
    );
    expect(
      await fromCode(tool({ constructor: { type: "string" as const } }, { required: ["constructor"] }), {}),
    ).toEqual(refused(/constructor: is missing/));
  });
  it("core V13: a default reaches the handler and is listed, nested ones too, and only what was filled in", async () => {
    const nested = { type: "object", properties: { k: { default: 1 }, given: { default: 2 } } } as const;
    const input = tool({
      mode: { default: "d" },
      o: nested,
      list: { type: "array", items: nested },
      made: { ...nested, default: {} },
    });
    const value = { o: { given: 5 }, list: [{}] };
    expect(await fromCode(input, value)).toMatchObject({
      params: { mode: "d", o: { k: 1, given: 5 }, list: [{ k: 1, given: 2 }] },
      defaulted: ["mode", "made", "o.k", "list[0].k", "list[0].given"],
    });
    expect(value).toEqual({ o: { given: 5 }, list: [{}] });
  });
  it("core V14: an empty string is shorter than one", async () => {
    expect(await fromCode(tool({ s: { type: "string", minLength: 1 } }), { s: "" })).toMatchObject({
      ok: false,
      paths: [{ path: "s", keyword: "minLength" }],
    });
  });
  it("core V16: one line for a union", async () => {
    expect(
      await fromCode(tool({ v: { anyOf: [{ type: "string" }, { type: "number" }] } }), { v: true }),
    ).toEqual(refused(/v: must be one of: string \| number/));
  });
});

describe("nulls", () => {
  it("of optional properties go, at every depth, through references and unions with null", async () => {
    const inner = {
      type: "object",
      properties: { b: { type: "string" }, keep: { type: ["string", "null"] } },
    } as const;
    const input = tool(
      {
        a: { enum: ["x"] },
        c: { const: 1 },
        o: inner,
        list: { type: "array", items: inner },
        r: { $ref: "#/$defs/inner" },
        u: { anyOf: [inner, { type: "null" }] },
        any: {},
      },
      { $defs: { inner } },
    );
    const part = { b: null, keep: null };
    const prepared = await fromCode(input, {
      a: null,
      c: null,
      o: part,
      list: [part],
      r: part,
      u: part,
      any: null,
    });
    const left = { keep: null };
    expect(prepared).toMatchObject({
      ok: true,
      args: { o: left, list: [left], r: left, u: left, any: null },
    });
    expect(prepared.ok && Object.keys(prepared.args)).toEqual(["o", "list", "r", "u", "any"]);
  });
  it("let the default in", async () => {
    expect(await fromCode(tool({ a: { type: "string", default: "d" } }), { a: null })).toMatchObject({
      args: { a: "d" },
      defaulted: ["a"],
    });
  });
  it("of a recursive schema go too", async () => {
    const input = tool({ n: { type: "string" }, child: { $ref: "#" } });
    expect(await fromCode(input, { child: { n: null, child: { n: null } } })).toMatchObject({
      args: { child: { child: {} } },
    });
  });
});

describe("unknown names", () => {
  it("are dropped and listed, errors for a strict tool, and the schema's business when it says something", async () => {
    expect(await fromCode(tool({ a: {} }), { a: 1, b: 2 })).toMatchObject({
      args: { a: 1 },
      params: { a: 1 },
      droppedArgs: ["b"],
    });
    expect(await fromCode(tool({ color: {} }, { strict: true }), { colour: 2 })).toEqual(
      refused(/colour: is not a known property; did you mean "color"/),
    );
    expect(await fromCode(tool({}, { additionalProperties: true }), { b: 2 })).toMatchObject({
      args: { b: 2 },
      droppedArgs: [],
    });
    expect(await fromCode(tool({}, { additionalProperties: false }), { b: 2 })).toMatchObject({ ok: false });
    expect(await fromCode(tool({}, { patternProperties: { "^b": {} } }), { b: 2 })).toMatchObject({
      args: { b: 2 },
    });
  });
  it("below the top level stay", async () => {
    expect(await fromCode(tool({ o: { type: "object", properties: {} } }), { o: { b: 2 } })).toMatchObject({
      args: { o: { b: 2 } },
      droppedArgs: [],
    });
  });
  it("do not include what a combinator or a reference declares", async () => {
    const input = tool(
      { a: {} },
      {
        allOf: [{ properties: { b: {} } }],
        anyOf: [{ $ref: "#/$defs/x" }],
        $defs: { x: { properties: { c: {} } } },
      },
    );
    expect(await fromCode(input, { a: 1, b: 1, c: 1, d: 1 })).toMatchObject({
      args: { a: 1, b: 1, c: 1 },
      droppedArgs: ["d"],
    });
  });
  it("__proto__ is always dropped, at every depth, and pollutes nothing", async () => {
    const value: unknown = JSON.parse(
      '{"__proto__":{"polluted":1},"o":{"__proto__":{"polluted":2}},"list":[{"__proto__":1}]}',
    );
    for (const input of [tool({ o: {}, list: {} }), tool({}, { additionalProperties: true })]) {
      const prepared = await fromCode(input, value);
      expect(prepared).toMatchObject({ ok: true });
      if (!prepared.ok) return;
      expect(prepared.droppedArgs).toContain("__proto__");
      expect(Object.getPrototypeOf(prepared.args)).toBe(Object.prototype);
      expect(JSON.stringify(prepared.args)).not.toContain("polluted");
    }
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});

describe("repair of a model's arguments", () => {
  const search = tool({
    queries: { type: "array", items: { type: "string" } },
    filter: { type: "object", properties: { limit: { type: "integer" } } },
    maxBytes: { type: "number" },
    deep: { type: "boolean" },
  });
  it("field B8: JSON text is decoded where an array or object is wanted", async () => {
    expect(await fromModel(search, { queries: '["test"]', filter: '{"limit":"5"}' })).toMatchObject({
      ok: true,
      argsOrigin: "repaired",
      args: { queries: ["test"], filter: { limit: 5 } },
    });
    expect(await fromModel(search, { queries: "test" })).toEqual(
      refused(/queries: must be array, got the string "test"/),
    );
    expect(await fromModel(search, { queries: '{"a":1}' })).toMatchObject({ ok: false });
    expect(await fromModel(search, { queries: '[{"a":1}]' })).toMatchObject({ ok: false });
  });
  it("field B10: exact numbers and booleans in strings become what they are", async () => {
    expect(await fromModel(search, { maxBytes: "200000", deep: "false" })).toMatchObject({
      argsOrigin: "repaired",
      args: { maxBytes: 200_000, deep: false },
    });
    expect(await fromModel(search, { maxBytes: "1.50" })).toMatchObject({ args: { maxBytes: 1.5 } });
    expect(
      await fromModel(
        tool({
          v: { anyOf: [{ type: "integer" }, { type: "null" }] },
          e: { enum: [1, 2] },
          l: { type: "array", items: { type: "number" } },
        }),
        { v: "7", e: "2", l: ["1", 2] },
      ),
    ).toMatchObject({ args: { v: 7, e: 2, l: [1, 2] } });
    for (const text of [
      "200000 bytes",
      "0x10",
      " 5",
      "1e3",
      "12345678901234567890",
      "-0",
      "",
      "NaN",
      "True",
    ]) {
      expect(await fromModel(search, { maxBytes: text }), text).toEqual(
        refused(/maxBytes: must be number, got the string/),
      );
    }
  });
  it("a string stays a string where a string fits", async () => {
    const input = tool({ a: { type: "string" }, b: { type: ["string", "number"] }, c: {} });
    const value = { a: "5", b: "5", c: "[1]" };
    expect(await fromModel(input, value)).toMatchObject({ argsOrigin: "model", args: value });
  });
  it("is all or nothing, and the message is about what the model wrote", async () => {
    expect(await fromModel(search, { maxBytes: "5", deep: "perhaps" })).toEqual(
      refused(/maxBytes: must be number, got the string "5"[^]*deep/),
    );
  });
  it("is not done for code", async () => {
    expect(await fromCode(search, { maxBytes: "5" })).toMatchObject({ ok: false });
    expect(await fromCode(search, '{"maxBytes":5}')).toMatchObject({ ok: false });
  });
  it("takes the whole arguments as text too, and cleans what it decoded", async () => {
    expect(await fromModel(search, '{"maxBytes":5}')).toMatchObject({
      argsOrigin: "repaired",
      args: { maxBytes: 5 },
    });
    expect(await fromModel(search, { filter: '{"limit":null,"__proto__":{"x":1}}' })).toMatchObject({
      args: { filter: {} },
    });
    expect(await fromModel(search, { filter: `${'{"a":'.repeat(40)}1${"}".repeat(40)}` })).toMatchObject({
      ok: false,
    });
  });
});

describe("a Standard Schema", () => {
  const schema = z.object({
    a: z.string().describe("Aa"),
    n: z.number().default(3),
    when: z
      .string()
      .transform((text) => text.length)
      .optional(),
  });
  it("validates instead of ajv: params are its output, args what came before the transforms", async () => {
    const prepared = prepareArguments(
      standardTool(schema),
      { a: "x", when: "now", more: 1 },
      { origin: "model" },
    );
    expect(prepared).toEqual({
      ok: true,
      args: { a: "x", when: "now" },
      params: { a: "x", n: 3, when: 3 },
      argsOrigin: "model",
      droppedArgs: ["more"],
      defaulted: ["n"],
    });
  });
  it("its issues read like ours", async () => {
    expect(await fromCode(standardTool(schema), { n: "x" })).toEqual(
      refused(/2 problems[^]*- a: is missing \(Aa\)\n- n: Invalid input/),
    );
    const nested = z.object({ list: z.array(z.object({ id: z.string().describe("the id") })) });
    expect(await fromCode(standardTool(nested), { list: [{}] })).toEqual(
      refused(/- list\[0\]\.id: is missing \(the id\)/),
    );
  });
  it("may be asynchronous", async () => {
    const slow = z.object({ a: z.string().refine(async (text) => text === "x", "is not x") });
    expect(await fromModel(standardTool(slow), { a: "x" })).toMatchObject({ ok: true });
    expect(await fromModel(standardTool(slow), { a: "y" })).toEqual(refused(/- a: is not x/));
  });
  it("gets repaired arguments when those fit", async () => {
    expect(await fromModel(standardTool(schema), { a: "x", n: "5" })).toMatchObject({
      argsOrigin: "repaired",
      params: { a: "x", n: 5 },
    });
    expect(await fromCode(standardTool(schema), { a: "x", n: "5" })).toMatchObject({ ok: false });
  });
  it("that throws is a problem, not an exception", async () => {
    const broken = (validate: () => never): StandardSchema => ({
      "~standard": {
        version: 1,
        vendor: "acme",
        validate,
        jsonSchema: { input: () => ({ type: "object", properties: {} }) },
      },
    });
    const fail = (): never => {
      throw new Error("boom");
    };
    expect(await fromModel(standardTool(broken(fail)), {})).toEqual(refused(/could not be checked: .*boom/));
    const reject = (() => Promise.reject(new Error("later"))) as () => never;
    expect(await fromModel(standardTool(broken(reject)), {})).toEqual(
      refused(/could not be checked: .*later/),
    );
  });
  it("a strict tool refuses unknown names beside its issues", async () => {
    expect(await fromCode(standardTool(schema, true), { more: 1 })).toEqual(
      refused(/a: is missing[^]*more: is not a known property/),
    );
  });
});

describe("hostile arguments", () => {
  it("five megabytes are refused or taken", async () => {
    const input = tool({ list: { type: "array", items: { type: "string" } } });
    expect(await fromModel(input, { list: Array<number>(2_000_000).fill(1) })).toMatchObject({ ok: false });
    expect(await fromModel(input, { list: ["x".repeat(5_000_000)] })).toMatchObject({ ok: true });
    expect(
      await fromModel(
        input,
        Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`k${index}`, index])),
      ),
    ).toMatchObject({ ok: true });
  });
  it("nesting over 32 levels is refused at its path", async () => {
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`);
    expect(await fromModel(tool({ a: {} }), deep)).toEqual(refused(/nested deeper than 32 levels/));
  });
  it("a value that defines toString cannot break a comparison", async () => {
    expect(
      await fromModel(tool({ list: { type: "array", uniqueItems: true } }), {
        list: [{ toString: 1 }, { toString: 1 }],
      }),
    ).toMatchObject({ ok: false });
  });
  it("a message is one line per problem even when a key holds a line break", async () => {
    const prepared = await fromModel(tool({}, { additionalProperties: false }), { "a\n- b: is missing": 1 });
    expect(!prepared.ok && prepared.message.split("\n")).toHaveLength(2);
  });
});

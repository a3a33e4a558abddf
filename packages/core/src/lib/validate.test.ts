import { execFileSync } from "node:child_process";
import { describe, expect, it, vi } from "vitest";
import { deepFreeze, type Json } from "./json.ts";
import type { JsonSchemaObject } from "./schema.ts";
import { type ValidationProblem, validatorFor, warmValidators } from "./validate.ts";

function object(properties: Record<string, JsonSchemaObject>, more: JsonSchemaObject = {}): JsonSchemaObject {
  return deepFreeze({ type: "object", properties, ...more });
}

async function problemsOf(schema: JsonSchemaObject, value: Json): Promise<readonly ValidationProblem[]> {
  return validatorFor(schema).validate(value);
}

function runInNode(script: string, ...flags: readonly string[]): string {
  const url = new URL("./validate.ts", import.meta.url).href;
  const code = `import { createRequire } from "node:module";
    const { validatorFor } = await import(${JSON.stringify(url)});
    const ajvFiles = () => Object.keys(createRequire(${JSON.stringify(url)}).cache).filter((file) => /[/]ajv[/]/.test(file)).length;
    ${script}`;
  return execFileSync(process.execPath, ["--no-warnings", ...flags, "--input-type=module", "-e", code], {
    encoding: "utf8",
  });
}

describe("validatorFor", () => {
  it("is one per schema object", () => {
    const schema = object({});
    expect(validatorFor(schema)).toBe(validatorFor(schema));
    expect(validatorFor(object({}))).not.toBe(validatorFor(schema));
  });
  it("answers valid calls of simple schemas without loading ajv, and the first invalid one with it", () => {
    const printed = runInNode(`
      const schema = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
      const validator = validatorFor(schema);
      const quick = validator.validate({ a: "x" });
      const before = ajvFiles();
      const slow = validator.validate({ a: 1 });
      const problems = await slow;
      console.log(JSON.stringify([quick, before, slow instanceof Promise, problems.length, ajvFiles() > 0, validator.isWarm, validator.validate({ a: 1 }) instanceof Promise]));`);
    expect(JSON.parse(printed)).toEqual([[], 0, true, 1, true, true, false]);
  });
  it("compiles a schema that is called again and again, in the background", () => {
    const printed = runInNode(`
      const validator = validatorFor({ type: "object", properties: { a: { type: "string" } } });
      for (let call = 0; call < 16; call += 1) validator.validate({ a: "x" });
      const before = validator.isWarm;
      while (ajvFiles() === 0 || !validator.isWarm) { await new Promise((done) => setTimeout(done, 5)); validator.validate({ a: "x" }); }
      console.log(JSON.stringify([before, validator.isWarm]));`);
    expect(JSON.parse(printed)).toEqual([false, true]);
  });
  it("is warm after warmValidators and then never answers with a promise", async () => {
    const schemas = [
      object({ a: { type: "string", format: "uri" } }),
      object({ b: { $ref: "#/$defs/x" } }, { $defs: { x: { type: "integer" } } }),
    ];
    await warmValidators(schemas);
    expect(schemas.map((schema) => validatorFor(schema).isWarm)).toEqual([true, true]);
    expect(validatorFor(schemas[0] ?? {}).validate({ a: "no uri" })).toHaveLength(1);
  });
  it("says so when a schema does not compile", async () => {
    await expect(validatorFor(object({ a: { $ref: "#/$defs/none" } })).warm()).rejects.toThrow(
      "does not compile",
    );
  });
});

describe("problems", () => {
  it("name the dotted path, a missing or unknown property included", async () => {
    const schema = object({
      o: {
        type: "object",
        properties: { k: { type: "string" } },
        required: ["k"],
        additionalProperties: false,
      },
      list: { items: { type: "integer" } },
    });
    const problems = await problemsOf(schema, { o: { z: 1 }, list: [1, 2, "x"] });
    expect(problems.map(({ path, keyword }) => `${path} ${keyword}`).sort()).toEqual([
      "list[2] type",
      "o.k required",
      "o.z additionalProperties",
    ]);
  });
  it("tell array indexes from property names", async () => {
    const schema = object({ map: { type: "object", additionalProperties: { type: "string" } } });
    expect((await problemsOf(schema, { map: { "0": 1, "a/b": 2 } })).map(({ path }) => path)).toEqual([
      "map.0",
      "map.a/b",
    ]);
  });
  it("core Z11: 10,000 short-lived schemas leave the heap flat", () => {
    const printed = runInNode(
      `await validatorFor({ type: "object", properties: { a: { pattern: "x" } } }).warm();
      const many = async (count) => { for (let index = 0; index < count; index += 1) {
        const validator = validatorFor({ $id: "urn:same", type: "object", properties: { ["p" + index]: { type: "string", pattern: "^" + index }, list: { items: { type: "object", properties: { c: { default: index } } } } } });
        await validator.warm();
        if (validator.validate({ ["p" + index]: "x" + index }).length !== 1) throw new Error("not validated");
      } };
      const heap = () => { gc(); gc(); return process.memoryUsage().heapUsed; };
      await many(500);
      const before = heap();
      await many(10000);
      console.log((heap() - before) / 1e6);`,
      "--expose-gc",
      "--no-compilation-cache", // V8 keeps up to 20 MB of evaluated code of its own, which would hide a leak of ours
    );
    expect(Number(printed)).toBeLessThan(4);
  }, 60_000);
  it("a value cannot throw from inside a comparison", async () => {
    const schema = object({ list: { type: "array", uniqueItems: true }, kind: { enum: [{ a: 1 }] } });
    const [problem] = await problemsOf(schema, { list: [{ toString: 1 }, { toString: 1 }], kind: "x" });
    expect(problem?.message).toContain("cannot be compared");
  });
  it("are at most 500", async () => {
    const schema = object({ list: { items: { type: "string" } } });
    expect(await problemsOf(schema, { list: Array<number>(5_000).fill(1) })).toHaveLength(500);
  });
});

describe("how values are checked", () => {
  it("nothing is coerced, defaults are filled in, formats count, unknown formats do not", async () => {
    const schema = object({
      n: { type: "integer" },
      d: { default: "d" },
      u: { format: "uri" },
      x: { format: "no-such-format" },
    });
    const value = { n: "3", u: "http://[", x: "anything" };
    const problems = await problemsOf(schema, value);
    expect(problems.map(({ path }) => path).sort()).toEqual(["n", "u"]);
    expect(value).toMatchObject({ n: "3", d: "d" });
  });
  it("only own properties count", async () => {
    const schema = object({ toString: { type: "string" as const } }, { required: ["toString"] });
    expect(await problemsOf(schema, {})).toMatchObject([{ path: "toString", keyword: "required" }]);
    expect(await problemsOf(object({ constructor: { type: "string" as const, format: "uri" } }), {})).toEqual(
      [],
    );
  });
  it("a schema may refer to itself, two schemas may share a name, and extensions are not looked into", async () => {
    const tree = object({ child: { $ref: "#" }, n: { type: "integer" } }, { $id: "urn:same" });
    expect((await problemsOf(tree, { child: { child: { n: "x" } } })).map(({ path }) => path)).toEqual([
      "child.child.n",
    ]);
    const other = object(
      { a: { type: "string", pattern: "^b" } },
      { $id: "urn:same", "x-more": { $anchor: "1", $id: "#" } },
    );
    expect(await problemsOf(other, { a: "a" })).toHaveLength(1);
  });
  it("prints nothing", async () => {
    const prints = [vi.spyOn(console, "warn"), vi.spyOn(console, "log"), vi.spyOn(console, "error")];
    await problemsOf(
      object({ a: { format: "no-such-format" }, b: { type: ["string", "number"], minLength: 1 } }),
      { a: "x", b: "" },
    );
    for (const print of prints) expect(print).not.toHaveBeenCalled();
  });
});

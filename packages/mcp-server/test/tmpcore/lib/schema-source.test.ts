import { describe, expect, it } from "vitest";
import { z } from "zod";
import { lintSchema } from "./schema-lint.ts";
import { emitJsonSchema } from "./schema-source.ts";
import type { StandardSchema } from "./schema.ts";

function standard(more: Partial<StandardSchema["~standard"]>): StandardSchema {
  return { "~standard": { version: 1, vendor: "acme", validate: (value) => ({ value }), ...more } };
}

describe("emitJsonSchema", () => {
  it("gives a frozen copy of a JSON Schema, so later edits change nothing", () => {
    const given = { type: "object", properties: { a: { enum: ["x"] } } } as const;
    const emitted = emitJsonSchema(given);
    expect(emitted).toEqual(given);
    expect(emitted).not.toBe(given);
    expect(Object.isFrozen(emitted.properties)).toBe(true);
  });
  it("refuses a schema that is not plain JSON, naming the place", () => {
    expect(() => emitJsonSchema({ type: "object", properties: { a: { default: () => 1 } } })).toThrow(
      '"properties.a.default" is a function',
    );
  });
  it("asks a Standard Schema once for its input form", () => {
    const asked: unknown[] = [];
    const schema = standard({
      jsonSchema: {
        input: (options) => (asked.push(options), { type: "object", properties: { a: { type: "string" } } }),
      },
    });
    expect(emitJsonSchema(schema)).toEqual({ type: "object", properties: { a: { type: "string" } } });
    expect(asked).toEqual([{ target: "draft-2020-12" }]);
  });
  it("takes a Standard Schema that is a function, as ArkType's are", () => {
    const schema = Object.assign(
      () => true,
      standard({ jsonSchema: { input: () => ({ type: "object", properties: {} }) } }),
    );
    expect(emitJsonSchema(schema)).toEqual({ type: "object", properties: {} });
  });
  it("refuses a vendor that cannot emit, listing those that can", () => {
    expect(() => emitJsonSchema(standard({}))).toThrow(/"acme".*zod >= 4\.2, ArkType.*Valibot/);
  });
  it("says what a vendor says when this schema cannot be expressed", () => {
    expect(() => emitJsonSchema(z.object({ when: z.date() }))).toThrow(/zod.*Date cannot be represented/);
  });
});

describe("zod", () => {
  it("emits a schema that passes the lint: the input side, without its metadata, root in place", () => {
    const schema = z
      .object({
        id: z.uuid().meta({ id: "Id", note: "mine", title: "The id" }),
        count: z.number().int().positive().default(1),
        tags: z.array(z.string()).optional(),
        pair: z.tuple([z.string(), z.number()]),
        pet: z.discriminatedUnion("kind", [
          z.object({ kind: z.literal("cat") }),
          z.object({ kind: z.literal("dog") }),
        ]),
        at: z.string().transform(Number),
      })
      .meta({ id: "Root", anything: 1 });
    const emitted = emitJsonSchema(schema);
    expect(lintSchema(emitted, { root: true })).toEqual([]);
    expect(emitted.properties?.["at"]).toEqual({ type: "string" });
    expect(JSON.stringify(emitted)).not.toContain("mine");
    expect(emitted.required).not.toContain("count");
    expect(Object.isFrozen(emitted.$defs)).toBe(true);
  });
});

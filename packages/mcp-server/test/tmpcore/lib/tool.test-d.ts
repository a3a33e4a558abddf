/** Type tests: what a handler receives. Checked by the compiler alone. */

import { z } from "zod";
import { ok } from "./result.ts";
import { defineTool } from "./tool.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function expectType<T extends true>(): T | undefined {
  return undefined;
}

defineTool({
  name: "infers",
  description: "infers its parameters",
  inputSchema: {
    type: "object",
    properties: {
      city: { type: "string" },
      days: { type: "integer", default: 3 },
      unit: { enum: ["c", "f"] },
      tags: { type: "array", items: { type: "string" } },
    },
    required: ["city"],
  },
  handler: (params) => {
    expectType<Equal<typeof params.city, string>>();
    expectType<Equal<typeof params.days, number>>();
    expectType<Equal<typeof params.unit, "c" | "f" | undefined>>();
    expectType<Equal<typeof params.tags, string[] | undefined>>();
    return ok(params.city);
  },
});

defineTool<{ city: string }>({
  name: "stated",
  description: "states its parameters by hand",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
  handler: ({ city }) => {
    expectType<Equal<typeof city, string>>();
    return ok(city);
  },
});

defineTool({
  name: "standard",
  description: "takes a Standard Schema",
  inputSchema: z.object({ when: z.string().transform((text) => new Date(text)) }),
  handler: ({ when }) => {
    expectType<Equal<typeof when, Date>>();
    return ok(when.toISOString());
  },
});

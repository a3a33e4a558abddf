/** One process that calls a tool one way, as often as it can. `node execute-run.ts <way>` prints a line of JSON. */

import { defineTool, ok, ToolRegistry } from "@openfunctions/core";
import { Ajv2020 } from "ajv/dist/2020.js";

const inputSchema = {
  type: "object",
  properties: {
    query: { type: "string", minLength: 1 },
    limit: { type: "integer", minimum: 1, maximum: 100 },
    language: { type: "string", enum: ["en", "de", "fr"] },
    tags: { type: "array", items: { type: "string" } },
    exact: { type: "boolean" },
    filter: {
      type: "object",
      properties: { field: { type: "string" }, min: { type: "number" } },
      required: ["field"],
      additionalProperties: false,
    },
  },
  required: ["query", "limit"],
  additionalProperties: false,
} as const;

const args = {
  query: "hello world",
  limit: 10,
  language: "en",
  tags: ["a", "b", "c"],
  exact: true,
  filter: { field: "price", min: 3.5 },
} as const;

const search = defineTool({
  name: "search",
  description: "Does nothing.",
  inputSchema,
  contract: "read",
  handler: async () => ok(null),
});

/** The ways; each answers whether its call went well, so that none can be left out. */
const ways = {
  handler: () => {
    const handler = async (_args: object): Promise<{ readonly success: boolean }> => ({ success: true });
    return async () => (await handler(args)).success;
  },
  ajv: () => {
    const validate = new Ajv2020().compile(inputSchema);
    return async () => validate(args);
  },
  execute: () => {
    const tools = new ToolRegistry();
    tools.register(search);
    return async () => (await tools.execute("search", args)).success;
  },
} as const;

const WARM_UP_CALLS = 20_000;
const BATCH = 5_000;
const MEASURED_CPU_MS = 1_000;

const way = process.argv[2] ?? "";
if (!isWay(way)) throw new Error(`There is no way "${way}".`);
console.log(JSON.stringify({ perSecond: await callsPerSecond(ways[way]()) }));

function isWay(name: string): name is keyof typeof ways {
  return Object.hasOwn(ways, name);
}

/** Calls per second of CPU time; other processes of the machine do not count. */
async function callsPerSecond(call: () => Promise<boolean>): Promise<number> {
  await callMany(call, WARM_UP_CALLS);
  const before = process.cpuUsage();
  let calls = 0;
  for (;;) {
    await callMany(call, BATCH);
    calls += BATCH;
    const { user, system } = process.cpuUsage(before);
    const cpuMs = (user + system) / 1_000;
    if (cpuMs >= MEASURED_CPU_MS) return (calls * 1_000) / cpuMs;
  }
}

async function callMany(call: () => Promise<boolean>, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    if (!(await call())) throw new Error("A call failed.");
  }
}

/** The tools that the tests serve, and a look into what their handlers saw. */
import { setTimeout as sleep } from "node:timers/promises";

import { ToolRegistry, defineTool, err, ok } from "@openfunctions/core";

const NO_PARAMS = { type: "object", properties: {} } as const;

/** A registry, and what happened in its handlers. */
export interface Fixture {
  readonly registry: ToolRegistry;
  /** Params of each call of `no_params`. */
  readonly seen: unknown[];
  /** How many calls of `wait` run, and how many of them were told to stop. */
  readonly waits: { running: number; aborted: number };
}

/** A fresh set of tools. */
export function fixtureTools(): Fixture {
  const registry = new ToolRegistry();
  const seen: unknown[] = [];
  const waits = { running: 0, aborted: 0 };
  registry.registerAll([
    defineTool({
      name: "echo",
      description: "Says the text back.",
      inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      contract: "read",
      handler: ({ text }) => ok(text),
    }),
    defineTool({
      name: "add",
      description: "Adds two numbers.",
      inputSchema: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
      },
      outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
      contract: "read",
      handler: ({ a, b }) => ok({ sum: a + b }),
    }),
    defineTool({
      name: "list_trees",
      description: "Lists trees, which hold trees.",
      inputSchema: NO_PARAMS,
      outputSchema: {
        type: "array",
        items: { $ref: "#/$defs/tree" },
        $defs: {
          tree: {
            type: "object",
            properties: {
              name: { type: "string" },
              below: { type: "array", items: { $ref: "#/$defs/tree" } },
            },
            required: ["name"],
          },
        },
      },
      contract: "read",
      handler: () => ok([{ name: "oak", below: [{ name: "ivy" }] }]),
    }),
    defineTool({
      name: "note",
      description: "Has nothing but a message.",
      inputSchema: NO_PARAMS,
      contract: "read",
      handler: () => ok(undefined, "m"),
    }),
    defineTool({
      name: "nothing",
      description: "Has neither data nor message.",
      inputSchema: NO_PARAMS,
      contract: "read",
      handler: () => ok(undefined),
    }),
    defineTool({
      name: "pair",
      description: "Has data and a message.",
      inputSchema: NO_PARAMS,
      contract: "read",
      handler: () => ok({ a: 1 }, "done"),
    }),
    defineTool({
      name: "fail",
      description: "Fails and says why.",
      inputSchema: NO_PARAMS,
      contract: "read",
      handler: () => err("bad"),
    }),
    defineTool({
      name: "fail_typed",
      description: "Promises data and fails.",
      inputSchema: NO_PARAMS,
      outputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
      contract: "read",
      handler: () => err("the disk is full", { code: "disk_full" }),
    }),
    defineTool({
      name: "crash",
      description: "Writes something and throws in the middle.",
      inputSchema: NO_PARAMS,
      handler: () => {
        throw new Error("lost the connection");
      },
    }),
    defineTool({
      name: "no_params",
      description: "Takes nothing.",
      inputSchema: NO_PARAMS,
      contract: "read",
      handler: (params) => {
        seen.push(params);
        return ok("ok");
      },
    }),
    defineTool({
      name: "wait",
      description: "Waits until it is told to stop, at most the given milliseconds.",
      inputSchema: { type: "object", properties: { ms: { type: "number", default: 60_000 } } },
      contract: "read",
      handler: async ({ ms }, { signal }) => {
        waits.running += 1;
        try {
          await sleep(ms, undefined, { signal });
          return ok("waited");
        } catch {
          waits.aborted += 1;
          return err("stopped");
        } finally {
          waits.running -= 1;
        }
      },
    }),
    defineTool({
      name: "count",
      description: "Reports progress, more often than anybody wants to hear.",
      inputSchema: { type: "object", properties: { to: { type: "integer", default: 5 } } },
      contract: "read",
      handler: async ({ to }, { progress }) => {
        for (let step = 1; step <= to; step += 1) {
          progress({ progress: step, total: to, message: `step ${step}` });
          progress({ progress: step - 1 });
          await sleep(2);
        }
        return ok(to);
      },
    }),
  ]);
  return { registry, seen, waits };
}

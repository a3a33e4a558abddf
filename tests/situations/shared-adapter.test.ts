/** Runs that share one adapter know nothing of each other. */

import { expect, it } from "vitest";
import { ok, runLoop, ToolRegistry, userMessage } from "@openfunctions/core";
import { type FakeRequest } from "@openfunctions/core/testing";
import { ADAPTERS, answerOf, withSteps } from "./adapters.ts";

const RUNS = ["alder", "birch", "cedar"];
const ROUNDS = 3;

it.each(ADAPTERS)(
  "adapters A8: parallel runs over one adapter; no request holds another's messages: %s",
  async (name) => {
    const seen: string[][] = [];
    const whose = (text: string): string[] => RUNS.filter((tree) => text.includes(tree));
    // What is said depends on the request alone: whose it is, and how many results it holds.
    const step = ({ text }: FakeRequest) => {
      const trees = whose(text);
      seen.push(trees);
      const [tree = ""] = trees;
      const rounds = text.split(`seen ${tree}`).length - 1;
      const call = { id: `${tree}_${rounds}`, name: "look", args: [`{"tree":"`, `${tree}"}`] };
      const said =
        rounds < ROUNDS
          ? { opaque: tree, text: [`${tree} says`], calls: [call] }
          : { text: [`done ${tree}`] };
      return { ...answerOf(name, said), splitBytes: 40, delayMs: rounds * 3 };
    };
    const steps = Array.from({ length: RUNS.length * (ROUNDS + 1) }, () => step);
    await withSteps(name, steps, {
      body: async ({ adapter, server }) => {
        const results = await Promise.all(
          RUNS.map((tree) => {
            const tools = new ToolRegistry();
            tools.register({
              name: "look",
              description: "looks",
              inputSchema: { type: "object", properties: { tree: { type: "string" } }, required: ["tree"] },
              contract: "read",
              handler: (params) => ok(`seen ${Object(params).tree}`),
            });
            return runLoop({ adapter, tools, system: `Trees.`, messages: [userMessage(`go ${tree}`)] })
              .result;
          }),
        );
        expect(results.map(({ text }) => text)).toEqual(RUNS.map((tree) => `done ${tree}`));
        expect(seen.every((trees) => trees.length === 1)).toBe(true);
        expect(server.requests).toHaveLength(RUNS.length * (ROUNDS + 1));
        // They did overlap: the requests of one run are not all before those of the next.
        expect(new Set(seen.slice(0, RUNS.length).map(([tree]) => tree)).size).toBeGreaterThan(1);
      },
    });
  },
);

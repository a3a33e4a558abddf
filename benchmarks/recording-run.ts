/**
 * One process that runs an agent and keeps its runs one way. `node recording-run.ts <way> <capture> <base URL>` prints
 * the CPU milliseconds of a run of one and of ten tool rounds. The way `none` is started with `without-chain.ts`.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createOpenAIAdapter } from "@openfunctions/adapter-openai";
import {
  createFileRunStore,
  createMemoryRunStore,
  defineTool,
  ok,
  runLoop,
  type RunStore,
  ToolRegistry,
  userMessage,
} from "@openfunctions/core";
import { openSqlite } from "@openfunctions/store-sqlite";

// Warm as a server is: before, code that is still interpreted is much of what would be measured.
const WARM_UP_RUNS = { k1: 2_000, k10: 200 } as const;
const MEASURED_RUNS = { k1: 1_000, k10: 200 } as const;

const [way = "", capture = "", baseUrl = ""] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "openfunctions-bench-"));
try {
  console.log(JSON.stringify(await measure(await openStore())));
} finally {
  await rm(folder, { recursive: true });
}
process.exit(0);

async function openStore(): Promise<RunStore | undefined> {
  switch (way) {
    case "none":
    case "chain":
      return undefined;
    case "memory":
      return createMemoryRunStore();
    case "files":
      return createFileRunStore({ dir: folder });
    case "sqlite":
      return (await openSqlite({ file: join(folder, "runs.db") })).runStore();
    case "sqlite-normal":
      return (await openSqlite({ file: join(folder, "runs.db"), synchronous: "normal" })).runStore();
    default:
      throw new Error(`There is no way "${way}".`);
  }
}

async function measure(store: RunStore | undefined): Promise<Record<string, number>> {
  const tools = new ToolRegistry();
  tools.register(
    defineTool({
      name: "add",
      description: "Add two numbers",
      inputSchema: {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"],
        additionalProperties: false,
      },
      contract: "read",
      handler: async ({ a, b }) => ok(a + b),
    }),
  );
  const runs = { k1: agent("k1"), k10: agent("k10") };
  for (const model of ["k1", "k10"] as const) await repeat(WARM_UP_RUNS[model], runs[model]);
  return { k1: await cpuPer(MEASURED_RUNS.k1, runs.k1), k10: await cpuPer(MEASURED_RUNS.k10, runs.k10) };

  function agent(model: string): () => Promise<void> {
    const adapter = createOpenAIAdapter({ model, baseUrl, apiKey: "none" });
    return async () => {
      const run = runLoop({
        adapter,
        tools,
        system: "You are a helpful calculator.",
        messages: [userMessage("go")],
        limits: { maxRounds: 20 },
        capture: capture === "full" ? "full" : "digest",
        ...(store === undefined ? {} : { store }),
      });
      let seen = 0;
      for await (const event of run) if (event.runId !== "") seen += 1;
      const { text } = await run.result;
      if (seen === 0 || !text.includes("42")) throw new Error(`Unexpected answer of "${model}": ${text}`);
    };
  }
}

async function cpuPer(times: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await repeat(times, work);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / times;
}

async function repeat(times: number, work: () => Promise<void>): Promise<void> {
  for (let time = 0; time < times; time += 1) await work();
}

// Where a cold process of the AI SDK spends its time: what cold-run.mjs does, in steps.
import { takeSteps } from "../steps.mjs";

const [, , baseUrl] = process.argv;

await takeSteps([
  ["import `zod`", () => import("zod")],
  ["import `ai`", () => import("ai")],
  ["import `@ai-sdk/openai`", () => import("@ai-sdk/openai")],
  ["the run: two model calls, one tool call", async () => (await import("./agent.mjs")).make(baseUrl).run("k1")],
]);

// Where a cold process of ours spends its time: what cold-run.mjs does, in steps. The SDK is loaded as the adapter
// loads it on its first request.
import { createRequire } from "node:module";
import { takeSteps } from "../steps.mjs";

const require = createRequire(import.meta.url);
const [, , baseUrl] = process.argv;

await takeSteps([
  ["import `@openfunctions/core`", () => import("@openfunctions/core")],
  ["import `@openfunctions/adapter-openai` (with `core/wire`)", () => import("@openfunctions/adapter-openai")],
  ["require `openai/client`", () => require("openai/client")],
  ["the run: two model calls, one tool call", async () => (await import("./agent.mjs")).make(baseUrl).run("k1")],
]);

// Where a cold process of ours spends its time: what cold-run.mjs does, in steps. The SDK is the chunk of the adapter
// that its first request loads.
import { readdirSync } from "node:fs";
import { takeSteps } from "../steps.mjs";

const dist = new URL(".", import.meta.resolve("@openfunctions/adapter-openai"));
const sdk = readdirSync(new URL("lib", dist)).find((file) => /^client-.*\.js$/.test(file));
const [, , baseUrl] = process.argv;

await takeSteps([
  ["import `@openfunctions/core`", () => import("@openfunctions/core")],
  ["import `@openfunctions/adapter-openai` (with `core/wire`)", () => import("@openfunctions/adapter-openai")],
  ["import the `openai` SDK's client", () => import(new URL(`lib/${sdk}`, dist))],
  ["the run: two model calls, one tool call", async () => (await import("./agent.mjs")).make(baseUrl).run("k1")],
]);

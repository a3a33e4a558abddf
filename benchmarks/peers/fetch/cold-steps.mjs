// What nobody gets below: Node's start, its HTTP client, and the two requests.
import { takeSteps } from "../steps.mjs";

const [, , baseUrl] = process.argv;

await takeSteps([
  ["the run: two model calls, one tool call", async () => (await import("./agent.mjs")).make(baseUrl).run("k1")],
]);

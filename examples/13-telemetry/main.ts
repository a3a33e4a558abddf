/** A run as OpenTelemetry spans, kept in memory here; a real program exports them. No key, no network. */

import assert from "node:assert/strict";
import { ToolRegistry, defineTool, ok, runLoop } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
// #region observe
import { createOtelObserver } from "@openfunctions/telemetry-otel";

const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
const observe = createOtelObserver({ tracer: provider.getTracer("my-app") }); // one for the whole process
// #endregion

const tools = new ToolRegistry();
tools.register(
  defineTool({
    name: "add_vat",
    description: "Adds value added tax to a net price.",
    inputSchema: { type: "object", properties: { net: { type: "number" } }, required: ["net"] },
    contract: "read",
    handler: ({ net }) => ok({ gross: net * 1.25 }),
  }),
);
const adapter = scriptedAdapter([{ toolCalls: [{ name: "add_vat", args: { net: 80 } }] }, { text: "100" }]);

// #region run
const run = runLoop({
  adapter,
  tools,
  messages: [{ role: "user", content: "add tax to 80" }],
  actor: { name: "clerk" },
  ports: { observe },
});
await run.result;
// #endregion

const spans = exporter.getFinishedSpans();
assert.deepEqual(
  spans.map(({ name }) => name),
  ["chat scripted-model", "execute_tool add_vat", "chat scripted-model", "invoke_agent clerk"],
);
assert.equal(JSON.stringify(spans.map(({ attributes }) => attributes)).includes("add tax to 80"), false);
process.stdout.write(`${spans.map(({ name }) => name).join("\n")}\n`);
await provider.shutdown();

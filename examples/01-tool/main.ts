/** One tool, three ways: called directly, tested, and used by an agent. No key, no network. */

import assert from "node:assert/strict";
import { createOfflineAdapter } from "@openfunctions/adapter-local";
// #region define
import { ToolRegistry, defineTool, ok, runLoop, runToolTests } from "@openfunctions/core";

export const addVat = defineTool({
  name: "add_vat",
  description: "Adds value added tax to a net price.",
  inputSchema: {
    type: "object",
    properties: { net: { type: "number" }, percent: { type: "number", default: 25 } },
    required: ["net"],
  },
  contract: "read",
  examples: [{ description: "add vat to 80", input: { net: 80 } }],
  tests: [{ description: "adds a quarter", input: { net: 80 }, expect: { data: { gross: 100 } } }],
  handler: ({ net, percent }) => ok({ gross: net * (1 + percent / 100) }),
});

const tools = new ToolRegistry();
tools.register(addVat);
// #endregion

// #region call
const result = await tools.execute("add_vat", { net: 80 });
assert.deepEqual(result.success && result.data, { gross: 100 });

const wrong = await tools.execute("add_vat", { net: "eighty" });
assert.equal(wrong.code, "invalid_input"); // a result that says what would fit, not a throw
// #endregion

const report = await runToolTests(tools);
assert.deepEqual([report.passed, report.failed], [1, 0]);

// #region agent
const run = runLoop({
  adapter: createOfflineAdapter(),
  tools,
  messages: [{ role: "user", content: "add vat to 200" }],
  capture: "full",
});
const { status, text, record } = await run.result;
// #endregion
assert.equal(status, "completed");
assert.match(text, /250/);
assert.deepEqual(record.toolCalls[0]?.args.value, { net: 200, percent: 25 });
process.stdout.write(`${text}\n`);

/** A run as a test, and an eval over several runs. No key, no network. */

import assert from "node:assert/strict";
import { ToolRegistry, defineTool, ok, runLoop } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
// #region define
import { defineEval, expectRun, formatReport, runEval } from "@openfunctions/evals";

const prices = defineEval({
  name: "prices",
  cases: [
    { name: "small", input: 80 },
    { name: "large", input: 4000 },
  ],
  checks: {
    "adds the tax with the tool": (run) =>
      void expectRun(run).completed().calledTool("add_vat", { times: 1 }),
    "changes nothing": (run) => void expectRun(run).effects({ summary: "read_only", certainty: "known" }),
    "says the gross price": (run) => void expectRun(run).claim(/gross/).rounds({ max: 2 }),
  },
  threshold: 1,
});
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

// #region run
const report = await runEval(prices, {
  run: async (net, { signal }) => {
    const adapter = scriptedAdapter([
      { toolCalls: [{ name: "add_vat", args: { net } }] },
      { text: `That is ${Number(net) * 1.25} gross.` },
    ]);
    const messages = [{ role: "user" as const, content: `add tax to ${JSON.stringify(net)}` }];
    return (await runLoop({ adapter, tools, messages, signal, capture: "full" }).result).record;
  },
});
process.stdout.write(formatReport(report));
process.exitCode = report.exitCode;
// #endregion
assert.equal(report.ok, true);

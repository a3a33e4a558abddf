/** A run says what it did; a tool reads it back, a policy weighs it, a task is decided. No key, no network. */

import assert from "node:assert/strict";
import { ToolRegistry, defineTool, ok, runLoop } from "@openfunctions/core";
import * as records from "@openfunctions/core/records";
import { scriptedAdapter } from "@openfunctions/core/testing";

const titles: string[] = [];
const addTask = defineTool({
  name: "add_task",
  description: "Adds a task.",
  inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
  contract: {
    version: "1",
    authority: { level: "session" },
    effects: { kind: "write" },
    idempotency: { mode: "none" },
    verification: {
      methods: ["state_readback"],
      readback: { tool: "get_task", argsFromResult: { id: "id" } },
    },
  },
  handler: ({ title }) => ok({ id: titles.push(title) - 1, title }),
});
const getTask = defineTool({
  name: "get_task",
  description: "Gets a task.",
  inputSchema: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
  contract: "read",
  handler: ({ id }) => ok({ id, title: titles[id] ?? "" }),
});
const tools = new ToolRegistry();
tools.registerAll([addTask, getTask]);
const call = { name: "add_task", args: { title: "milk" }, callId: "call_1" };
const adapter = scriptedAdapter([{ toolCalls: [call] }, { text: "Milk is on the list." }]);
const messages = [{ role: "user" as const, content: "put milk on the list" }];
// #region claim
const policy = { id: "tasks", version: "1", methods: ["state_readback"], requireIndependent: true } as const;
const verificationPlan = records.pinPolicy(policy); // fixed before the run, so that it cannot be chosen to fit
const lineage = { taskId: "task_1" };
const run = runLoop({ adapter, tools, messages, lineage, verificationPlan, capture: "full" });
const { record } = await run.result;
const at = record.endedAt ?? "";
const claim = records.claimOutcome(record, { claimId: "claim_1", claimedAt: at, receipts: ["call_1"] });
const readback = await records.verifyReadback(tools, claim, { callId: "call_1", runs: [record] });
const weighed = { bundleId: "bundle_1", decidedAt: at, attempts: [readback] };
const bundle = records.evaluateAssurance(claim, policy, weighed);
const decision = records.decideFulfillment(claim, bundle, {
  decisionId: "decision_1",
  taskId: "task_1",
  decidedBy: "ada",
  decidedAt: at,
  reason: "it is there",
  status: "fulfilled", // a RecordError where the bundle does not carry it
  run: record,
});
process.stdout.write(records.explainRun(record, { claim, verifications: [readback] }));
// #endregion
assert.equal(decision.status, "fulfilled");

/** A call waits for a person: the process ends, somebody answers, another process goes on, and it runs once. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as core from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { openSqlite } from "@openfunctions/store-sqlite";

const folder = await mkdtemp(join(tmpdir(), "openfunctions-"));
// #region tools
const paid: (string | undefined)[] = []; // stands in for a bank
const tools = new core.ToolRegistry();
tools.register({
  name: "pay",
  description: "Pays a bill.",
  inputSchema: { type: "object", properties: { bill: { type: "string" } }, required: ["bill"] },
  contract: {
    version: "1",
    authority: { level: "human" }, // a person agrees to every call
    effects: { kind: "write" },
    idempotency: { mode: "keyed" }, // the bank is given a key, so that it knows a repeat
  },
  handler: (_args, { idempotencyKey }) => core.ok({ entry: paid.push(idempotencyKey) }),
});

/** What every process that works on these runs opens. */
async function openBooks() {
  const sqlite = await openSqlite({ file: join(folder, "books.db") });
  const approvals = core.createApprovalStore(sqlite.store("approvals"));
  const ledger = core.createEffectLedger(sqlite.store("effects"));
  return { doors: { store: sqlite.runStore(), approvals, ledger }, close: () => sqlite.close() };
}
// #endregion
// #region wait
const monday = await openBooks();
const asking = scriptedAdapter([{ toolCalls: [{ name: "pay", args: { bill: "A-17" } }] }]);
const messages = [{ role: "user" as const, content: "pay bill A-17" }];
const run = core.runLoop({ adapter: asking, tools, messages, capture: "full", ...monday.doors });
const { status, runId } = await run.result;
assert.deepEqual([status, paid.length], ["suspended", 0]);
await monday.close(); // the process may end here
// #endregion
// #region resume
const tuesday = await openBooks();
const [ticket] = await tuesday.doors.approvals.list({ state: "pending" });
const by = { kind: "human", id: "ann", via: "local" } as const;
await tuesday.doors.approvals.resolve(ticket?.ticketId ?? "", { decision: "approved", by, owner: "local" });
const adapter = scriptedAdapter([{ text: "Bill A-17 is paid." }]);
const resume = () => core.resumeRun(runId, { adapter, tools, ...tuesday.doors });
const { record } = await (await resume()).result;
assert.deepEqual([record.status, record.toolCalls[0]?.outcome, paid.length], ["completed", "succeeded", 1]);
await assert.rejects(resume, { code: "record_invalid" }); // only what waits goes on
// #endregion
await tuesday.close();
await rm(folder, { recursive: true });
process.stdout.write(`${record.toolCalls[0]?.toolName} waited, ann agreed, and it ran once\n`);

/** A run is recorded and sealed, verified, made again; a forged record is caught. No key, no network. */

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { ToolRegistry, createMemoryRunStore, ok, runLoop } from "@openfunctions/core";
import { createSigner, exportRun, readRecord, replayRun, verifyRun } from "@openfunctions/core/records";
import { recordedAdapter, replayAdapter, scriptedAdapter } from "@openfunctions/core/testing";

const tools = new ToolRegistry();
tools.register({
  name: "add_vat",
  description: "Adds value added tax to a net price.",
  inputSchema: { type: "object", properties: { net: { type: "number" } }, required: ["net"] },
  contract: "read",
  handler: ({ net }) => ok({ gross: net * 1.25 }),
});
const messages = [{ role: "user" as const, content: "add tax to 80" }];
const model = scriptedAdapter([{ toolCalls: [{ name: "add_vat", args: { net: 80 } }] }, { text: "100" }]);
// #region record
const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const signer = createSigner(privateKey);
const store = createMemoryRunStore();
const adapter = recordedAdapter(model); // in your program: any real adapter
const run = runLoop({ adapter, tools, messages, store, signer, capture: "full" });
const { runId, text, record } = await run.result;

let file = ""; // one line per event, then the seal
for await (const line of exportRun(store, runId)) file += line;
// #endregion
// #region verify
const bytes = (lines: string) => [Buffer.from(lines)];
const trusted = { publicKeys: [publicKey] };
assert.equal((await verifyRun(bytes(file), trusted)).status, "verified");

const forged = await verifyRun(bytes(file.replace('"net":80', '"net":90')), trusted);
assert.deepEqual([forged.status, forged.findings[0]?.kind], ["failed", "altered"]);
const cut = await verifyRun(bytes(file.split("\n").slice(0, -2).join("\n") + "\n"), trusted);
assert.equal(cut.findings[0]?.kind, "truncated"); // the seal is missing, and the first event promised one
// #endregion
// #region replay
const { events } = await readRecord(bytes(file));
const { complete, head } = await replayRun(events); // the loop of today; no model is asked, no tool runs
assert.deepEqual([complete, head], [true, record.head]);
// #endregion
// #region test
const offline = replayAdapter(adapter.calls); // JSON: keep it beside a test, or give it `events`
const again = await runLoop({ adapter: offline, tools, messages }).result;
assert.equal(again.text, text);
const other = [{ role: "user" as const, content: "add tax to 90" }];
const miss = await runLoop({ adapter: replayAdapter(events), tools, messages: other }).result;
assert.equal(miss.error?.code, "replay_failed"); // never an answer to another question
// #endregion
process.stdout.write(`${record.toolCalls.length} call, verified and replayed to ${head}\n`);

/** What must hold after a process was killed: what the service saw, the ledger and the records agree. */

import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import {
  type EffectEntry,
  type Json,
  type Recovery,
  type RunRecord,
  type ToolCallRecord,
  isPlainObject,
} from "@openfunctions/core";
import { exportRun, verifyRun } from "@openfunctions/core/records";
import { expect } from "vitest";
import type { World } from "./processes.ts";
import type { Shop } from "./shop.ts";

/** The account after a recovery. */
export interface Books {
  readonly recovery: Recovery;
  readonly entries: readonly EffectEntry[];
  readonly records: readonly RunRecord[];
}

/** Recovers, checks every invariant, and checks that a second recovery changes nothing. */
export async function checkBooks(world: World, shop: Shop): Promise<Books> {
  const recovery = await shop.recover();
  const entries = await entriesOf(shop);
  const { runs: records } = await shop.runs.list({ limit: 1000 });
  for (const record of records) await checkRecord(world, shop, record);
  checkEffects(world, { entries, records });
  // Whatever is left over is told, and nothing else.
  const open = entries.filter(({ state }) => state !== "done");
  expect(keysOf(recovery.unknown)).toEqual(keysOf(open));
  expect(open.every(({ state }) => state === "unknown")).toBe(true);
  const before = fingerprint(world.place.file);
  const again = await shop.recover();
  expect({ ...again, unknown: keysOf(again.unknown) }).toEqual({
    failed: [],
    suspended: [],
    unknown: keysOf(open),
  });
  expect(fingerprint(world.place.file)).toBe(before);
  return { recovery, entries, records };
}

/** All entries of the ledger. */
export async function entriesOf({ ledger }: Shop): Promise<readonly EffectEntry[]> {
  const entries: EffectEntry[] = [];
  for await (const entry of ledger.list()) entries.push(entry);
  return entries;
}

/** The order a call was for, out of its sealed arguments. */
export function orderOf(call: ToolCallRecord): string {
  return orderIn(call.args.value);
}

/** The order in some arguments. */
export function orderIn(args: Json | undefined): string {
  const order = isPlainObject(args) ? args["order"] : undefined;
  return typeof order === "string" ? order : "";
}

/** The record says how the run stands, its bytes are whole, and what it calls done has happened. */
async function checkRecord({ service, publicKey }: World, shop: Shop, record: RunRecord): Promise<void> {
  expect(["completed", "failed", "suspended"]).toContain(record.status);
  const lines: Uint8Array[] = [];
  for await (const line of exportRun(shop.runs, record.runId)) lines.push(Buffer.from(line));
  const { status, findings } = await verifyRun(lines, { publicKeys: [publicKey] });
  // A suspended run has no seal yet, which is all there is to say against it.
  const wrong = findings.filter(({ kind }) => record.status !== "suspended" || kind !== "truncated");
  expect(wrong).toEqual([]);
  if (record.status !== "suspended") expect(status).toBe(record.sealed === false ? "unsigned" : "verified");
  for (const call of record.toolCalls)
    if (call.outcome === "succeeded")
      expect([orderOf(call), service.chargesOf(orderOf(call))]).toEqual([orderOf(call), 1]);
}

/** Nothing happened twice, and nothing happened that neither ledger nor record tells of. */
function checkEffects({ service }: World, { entries, records }: Omit<Books, "recovery">): void {
  const calls = records.flatMap((record) => record.toolCalls);
  for (const { order } of service.charges) {
    expect([order, service.chargesOf(order)]).toEqual([order, 1]);
    const known = entries.filter(({ intent }) => orderIn(intent.args) === order);
    const told = calls.filter((call) => orderOf(call) === order).map(({ outcome }) => outcome);
    const inLedger = known.some(({ state, result }) => state === "unknown" || result?.success === true);
    const inRecord = told.some((outcome) => outcome === "succeeded" || outcome === "unknown");
    expect({ order, inLedger, inRecord }).toEqual({ order, inLedger: true, inRecord: true });
  }
  for (const { state, intent, result } of entries)
    if (state === "done" && result?.success === true) expect(service.chargesOf(orderIn(intent.args))).toBe(1);
  const once = service.requests.filter(({ key }) => key === undefined).map(({ order }) => order);
  expect(once).toEqual([...new Set(once)]);
}

/** A person looks at the service and settles what is unknown. */
export async function settleByHand({ service }: World, shop: Shop): Promise<void> {
  for (const { intent, state } of await entriesOf(shop)) {
    if (state === "done") continue;
    const happened = service.chargesOf(orderIn(intent.args)) > 0;
    await shop.ledger.reconcile(
      intent,
      happened
        ? { outcome: "succeeded", result: { receipt: "seen by a person" } }
        : { outcome: "failed", error: "A person found that it did not happen." },
    );
  }
}

/** The orders that are known to be paid, from records and ledger. */
export async function paidOrders(shop: Shop): Promise<ReadonlySet<string>> {
  const { runs } = await shop.runs.list({ limit: 1000 });
  const calls = runs.flatMap(({ toolCalls }) => toolCalls);
  const done = (await entriesOf(shop)).filter(({ result }) => result?.success === true);
  return new Set([
    ...calls.filter(({ outcome }) => outcome === "succeeded").map(orderOf),
    ...done.map(({ intent }) => orderIn(intent.args)),
  ]);
}

function keysOf(entries: readonly EffectEntry[]): readonly string[] {
  return entries.map(({ intent }) => intent.key).sort();
}

/** Everything in the file, as one number. */
function fingerprint(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = ["values", "runs", "run_events", "run_redactions"].map((table) =>
      database.prepare(`SELECT * FROM openfunctions_${table}`).all(),
    );
    return createHash("sha256").update(JSON.stringify(rows)).digest("hex");
  } finally {
    database.close();
  }
}

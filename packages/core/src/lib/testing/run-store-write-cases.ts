/** Cases of the run store suite: what changes a run. */

import assert from "node:assert/strict";
import { hashEvent } from "../run-event.ts";
import { foldRun } from "../run-fold.ts";
import {
  type RunStoreTest,
  SECRET,
  all,
  refuses,
  sampleRedaction,
  sampleRun,
  sampleSeal,
} from "./run-store-situation.ts";

/** Appending: whole batches, one writer, a log that continues. */
export function describeAppends(test: RunStoreTest): void {
  test("reads back what was appended, whole and from a number on", async ({ store }) => {
    const events = await sampleRun("r1");
    await store.append("r1", events.slice(0, 1), { expectedSeq: 0 });
    assert.equal((await store.get("r1"))?.status, "running");
    await store.append("r1", events.slice(1), { expectedSeq: 1 });
    assert.deepEqual(await all(store.read("r1")), events);
    assert.deepEqual(await all(store.read("r1", 1)), events.slice(1));
    assert.deepEqual(await all(store.read("r1", 99)), []);
    assert.deepEqual(await store.get("r1"), foldRun(events));
  });
  test("gives nothing for a run it does not know", async ({ store }) => {
    assert.deepEqual(await all(store.read("none")), []);
    assert.deepEqual(await store.annex("none"), { redactions: [] });
    assert.deepEqual(await all(store.watch("none", 0)), []);
    assert.equal(await store.get("none"), undefined);
    assert.equal(await store.remove("none"), false);
  });
  test("refuses a second writer and keeps what the first wrote", async ({ store }) => {
    const events = await sampleRun("r1");
    await store.append("r1", events.slice(0, 2), { expectedSeq: 0 });
    for (const expectedSeq of [0, 1, 3])
      await refuses("store_conflict", () => store.append("r1", events.slice(expectedSeq), { expectedSeq }));
    assert.deepEqual(await all(store.read("r1")), events.slice(0, 2));
  });
  test("of many writers of one number exactly one wins", async ({ store }) => {
    const events = await sampleRun("r1");
    await store.append("r1", events.slice(0, 1), { expectedSeq: 0 });
    const tries = await Promise.allSettled(
      Array.from({ length: 8 }, async () => store.append("r1", events.slice(1), { expectedSeq: 1 })),
    );
    assert.equal(tries.filter((one) => one.status === "fulfilled").length, 1);
    assert.deepEqual(await all(store.read("r1")), events);
  });
  test("runs L1: refuses a batch that does not continue the log, all of it", async ({ store }) => {
    const events = await sampleRun("r1");
    const [start, message, end] = events;
    assert.ok(start !== undefined && message !== undefined && end !== undefined);
    await refuses("record_invalid", () => store.append("r1", [message], { expectedSeq: 0 }));
    await refuses("record_invalid", () => store.append("r1", [start, end], { expectedSeq: 0 }));
    await refuses("record_invalid", () => store.append("other", [start], { expectedSeq: 0 }));
    assert.deepEqual((await store.list()).runs, []);
    await store.append("r1", events, { expectedSeq: 0 });
    const second = { ...end, seq: 3 };
    await refuses("record_invalid", () => store.append("r1", [second], { expectedSeq: 3 }));
    assert.deepEqual(await store.get("r1"), foldRun(events));
  });
  test("takes any run id, and refuses what is none", async ({ store }) => {
    const ids = [
      "../../etc/passwd",
      "A",
      "a",
      "con",
      "a/b",
      "__proto__",
      "北 😀",
      ".",
      "x".repeat(512),
      "a'; --",
    ];
    for (const runId of ids) await store.append(runId, await sampleRun(runId), { expectedSeq: 0 });
    for (const runId of ids) assert.equal((await store.get(runId))?.runId, runId);
    assert.equal((await store.list()).runs.length, ids.length);
    for (const bad of ["", "a\nb", "x".repeat(513), "\ud800"])
      await refuses("bad_id", async () => store.append(bad, await sampleRun("a"), { expectedSeq: 0 }));
  });
}

/** Seals, redactions and removal. */
export function describeAnnex(test: RunStoreTest): void {
  test("keeps the seal with the last events, and one only", async ({ store }) => {
    const events = await sampleRun("r1");
    const seal = sampleSeal(events);
    const early = { ...seal, events: 1 };
    await refuses("record_invalid", () =>
      store.append("r1", events.slice(0, 1), { expectedSeq: 0, seal: early }),
    );
    await store.append("r1", events.slice(0, 1), { expectedSeq: 0 });
    await refuses("store_conflict", () => store.append("r1", events, { expectedSeq: 0, seal }));
    assert.deepEqual(await store.annex("r1"), { redactions: [] });
    await store.append("r1", events.slice(1), { expectedSeq: 1, seal });
    assert.deepEqual(await store.annex("r1"), { seal, redactions: [] });
    await refuses("record_invalid", () => store.append("r1", [], { expectedSeq: 3, seal }));
  });
  test("a run that ended without a seal can get one later", async ({ store }) => {
    const events = await sampleRun("r1");
    await store.append("r1", events, { expectedSeq: 0 });
    await store.append("r1", [], { expectedSeq: events.length, seal: sampleSeal(events) });
    assert.deepEqual(await store.annex("r1"), { seal: sampleSeal(events), redactions: [] });
    assert.deepEqual(await all(store.read("r1")), events);
  });
  test("a redaction takes value and salt away, and the chain still holds", async ({ store }) => {
    const events = await sampleRun("r1");
    await store.append("r1", events, { expectedSeq: 0, seal: sampleSeal(events) });
    const first = sampleRedaction(events);
    const second = sampleRedaction(events, { n: 1, seq: 2, leaf: "/data/output", prev: first.hash });
    await store.redact("r1", first);
    await store.redact("r1", second);
    const after = await all(store.read("r1"));
    assert.ok(!JSON.stringify(after).includes(JSON.stringify(SECRET).slice(1, -1)));
    assert.deepEqual(Object.keys(Object(after[1]?.data).message), ["$sealed"]);
    for (const [index, event] of after.entries()) {
      assert.equal(hashEvent(event), event.hash);
      assert.equal(event.hash, events[index]?.hash);
    }
    assert.deepEqual(await store.annex("r1"), { seal: sampleSeal(events), redactions: [first, second] });
    assert.deepEqual(await store.get("r1"), foldRun(after));
    assert.deepEqual((await store.list()).runs, [foldRun(after)]);
  });
  test("refuses a redaction that is late, misses its leaf or its run, and changes nothing", async ({
    store,
  }) => {
    const events = await sampleRun("r1");
    await store.append("r1", events, { expectedSeq: 0 });
    await refuses("store_conflict", () => store.redact("r1", sampleRedaction(events, { n: 1 })));
    for (const change of [{ leaf: "/data/none" }, { leaf: "/data" }, { seq: 9 }, { seq: -1 }])
      await refuses("record_invalid", () => store.redact("r1", sampleRedaction(events, change)));
    await refuses("run_not_found", () => store.redact("none", sampleRedaction(events)));
    assert.deepEqual(await all(store.read("r1")), events);
    assert.deepEqual(await store.annex("r1"), { redactions: [] });
  });
  test("only what has ended can be redacted, and no seal follows a redaction", async ({ store }) => {
    const events = await sampleRun("r1");
    await store.append("r1", events.slice(0, 2), { expectedSeq: 0 });
    await refuses("record_invalid", () => store.redact("r1", sampleRedaction(events)));
    await store.append("r1", events.slice(2), { expectedSeq: 2 });
    await store.redact("r1", sampleRedaction(events));
    const seal = sampleSeal(events);
    await refuses("record_invalid", () => store.append("r1", [], { expectedSeq: 3, seal }));
    assert.deepEqual(await store.annex("r1"), { redactions: [sampleRedaction(events)] });
  });
  test("removes a whole run, whose id is free again", async ({ store }) => {
    const events = await sampleRun("r1");
    await store.append("r1", events, { expectedSeq: 0, seal: sampleSeal(events) });
    await store.redact("r1", sampleRedaction(events));
    assert.equal(await store.remove("r1"), true);
    assert.equal(await store.remove("r1"), false);
    assert.equal(await store.get("r1"), undefined);
    assert.deepEqual(await all(store.read("r1")), []);
    assert.deepEqual(await store.annex("r1"), { redactions: [] });
    assert.deepEqual((await store.list()).runs, []);
    await store.append("r1", events, { expectedSeq: 0 });
    assert.deepEqual(await all(store.read("r1")), events);
  });
}

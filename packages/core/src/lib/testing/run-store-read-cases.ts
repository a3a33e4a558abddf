/** Cases of the run store suite: what finds and follows runs, and what outlives a store. */

import assert from "node:assert/strict";
import { foldRun } from "../run-fold.ts";
import type { RunQuery, RunStore } from "../run-store.ts";
import {
  type RunStoreTest,
  all,
  refuses,
  sampleRedaction,
  sampleRun,
  sampleSeal,
} from "./run-store-situation.ts";

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2026, 0, 1);

async function idsOf(store: RunStore, query: RunQuery): Promise<readonly string[]> {
  return (await store.list(query)).runs.map((run) => run.runId);
}

/** Three runs, a day apart, that differ in every field a list knows. */
async function storeThree(store: RunStore): Promise<void> {
  const shapes = [
    { kind: "agent", actor: "anna", lineage: { threadId: "t1", taskId: "k1", correlationId: "c1" } },
    { kind: "call", actor: "bo", end: "suspended", lineage: { threadId: "t2", correlationId: "c1" } },
    { kind: "agent", actor: "anna", end: "running", lineage: { threadId: "t1", taskId: "k2" } },
  ] as const;
  for (const [index, shape] of shapes.entries()) {
    const events = await sampleRun(`r${index}`, { ...shape, startMs: FIRST_DAY + index * DAY_MS });
    await store.append(`r${index}`, events, { expectedSeq: 0 });
  }
}

/** Lists: newest first, by each field, in pages. */
export function describeLists(test: RunStoreTest): void {
  test("lists newest first and by each field", async ({ store }) => {
    await storeThree(store);
    const expected: readonly (readonly [RunQuery, readonly string[]])[] = [
      [{}, ["r2", "r1", "r0"]],
      [{ status: "running" }, ["r2"]],
      [{ status: "suspended" }, ["r1"]],
      [{ status: "completed" }, ["r0"]],
      [{ kind: "agent" }, ["r2", "r0"]],
      [{ actor: "bo" }, ["r1"]],
      [{ actor: "nobody" }, []],
      [{ threadId: "t1" }, ["r2", "r0"]],
      [{ taskId: "k2" }, ["r2"]],
      [{ correlationId: "c1" }, ["r1", "r0"]],
      [{ correlationId: "c1", kind: "call", status: "suspended" }, ["r1"]],
      [{ since: "2026-01-02T00:00:00.000Z" }, ["r2", "r1"]],
      [{ until: "2026-01-02T01:00:00+01:00" }, ["r1", "r0"]],
      [{ since: "2026-01-02T00:00:00.001Z", until: "2026-01-02T23:00:00Z" }, []],
    ];
    for (const [query, ids] of expected)
      assert.deepEqual(await idsOf(store, query), ids, JSON.stringify(query));
  });
  test("lists whole records, as they stand", async ({ store }) => {
    await storeThree(store);
    for (const record of (await store.list()).runs) {
      assert.deepEqual(record, foldRun(await all(store.read(record.runId))));
      assert.deepEqual(record, await store.get(record.runId));
    }
  });
  test("a run changes its place in lists with its status", async ({ store }) => {
    const events = await sampleRun("r1");
    await store.append("r1", events.slice(0, 2), { expectedSeq: 0 });
    assert.deepEqual(await idsOf(store, { status: "running" }), ["r1"]);
    await store.append("r1", events.slice(2), { expectedSeq: 2 });
    assert.deepEqual(await idsOf(store, { status: "running" }), []);
    assert.deepEqual(await idsOf(store, { status: "completed" }), ["r1"]);
  });
  test("pages hold every run once, while others arrive and go", async ({ store }) => {
    const add = async (index: number): Promise<void> => {
      const runId = `run ${String(index).padStart(2, "0")}`;
      // Three runs to a millisecond, so that time alone does not order them.
      const events = await sampleRun(runId, { startMs: FIRST_DAY + Math.floor(index / 3) });
      await store.append(runId, events, { expectedSeq: 0 });
    };
    for (let index = 0; index < 10; index += 1) await add(index);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.list({ limit: 4, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.runs.map((run) => run.runId));
      cursor = page.cursor;
      await add(seen.length + 20);
      await store.remove(seen.at(-1) ?? "");
    } while (cursor !== undefined);
    assert.deepEqual(
      seen,
      Array.from({ length: 10 }, (_, index) => `run 0${9 - index}`),
    );
  });
  test("refuses a limit, a time or a cursor that is none", async ({ store }) => {
    for (const query of [
      { limit: 0 },
      { limit: 1.5 },
      { since: "yesterday" },
      { until: "" },
      { cursor: "x" },
    ])
      await refuses("invalid_argument", () => store.list(query));
  });
}

/** Watching: what is there, what comes, and when it ends. */
export function describeWatch(test: RunStoreTest): void {
  test("watch gives what is there and what comes, and ends with the run", async ({ store }) => {
    const events = await sampleRun("r1", { messages: 4 });
    await store.append("r1", events.slice(0, 1), { expectedSeq: 0 });
    const seen = [all(store.watch("r1", 0)), all(store.watch("r1", 3)), all(store.watch("r1", 99))];
    for (let index = 1; index < events.length; index += 1) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      await store.append("r1", events.slice(index, index + 1), { expectedSeq: index });
    }
    assert.deepEqual(await Promise.all(seen), [events, events.slice(3), []]);
    assert.deepEqual(await all(store.watch("r1", 1)), events.slice(1));
  });
  test("watch goes on over a suspension", async ({ store }) => {
    const events = await sampleRun("r1", { end: "suspended" });
    await store.append("r1", events, { expectedSeq: 0 });
    const stop = new AbortController();
    const seen: number[] = [];
    for await (const event of store.watch("r1", 0, stop.signal)) {
      seen.push(event.seq);
      if (event.type === "run.suspended") setTimeout(() => stop.abort(), 5);
    }
    assert.deepEqual(seen, [0, 1, 2]);
  });
  test("watch ends when its signal fires, at once when it has fired", async ({ store }) => {
    const events = await sampleRun("r1", { end: "running" });
    await store.append("r1", events, { expectedSeq: 0 });
    const stop = new AbortController();
    const seen = all(store.watch("r1", 0, stop.signal));
    setTimeout(() => stop.abort(), 5);
    assert.deepEqual(await seen, events);
    assert.deepEqual(await all(store.watch("r1", 0, stop.signal)), []);
  });
  test("watch ends when its run is removed", async ({ store }) => {
    await store.append("r1", await sampleRun("r1", { end: "running" }), { expectedSeq: 0 });
    const seen = all(store.watch("r1", 0));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await store.remove("r1");
    assert.equal((await seen).length, 2);
  });
}

/** The end of a store. */
export function describeClosing(test: RunStoreTest): void {
  test("every call after close is store_closed, and close is idempotent", async ({ store }) => {
    const events = await sampleRun("r1", { end: "running" });
    await store.append("r1", events, { expectedSeq: 0 });
    const watching = all(store.watch("r1", 0));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await store.close();
    await store.close();
    await refuses("store_closed", () => watching);
    for (const call of [
      () => store.append("r2", events, { expectedSeq: 0 }),
      () => all(store.read("r1")),
      () => all(store.watch("r1", 0)),
      () => store.annex("r1"),
      () => store.redact("r1", sampleRedaction(events)),
      () => store.get("r1"),
      () => store.list(),
      () => store.remove("r1"),
    ])
      await refuses("store_closed", call);
  });
}

/** Two stores on one place, side by side and one after the other. */
export function describeDurability(test: RunStoreTest): void {
  const second = async (reopen: (() => Promise<RunStore>) | undefined): Promise<RunStore> => {
    assert.ok(reopen !== undefined, "a durable store gives a way to reopen it");
    return reopen();
  };
  test("keeps everything for the next one who opens it", async ({ store, reopen }) => {
    const events = await sampleRun("r1");
    await store.append("r1", events, { expectedSeq: 0, seal: sampleSeal(events) });
    await store.redact("r1", sampleRedaction(events));
    const open = await sampleRun("r2", { end: "running" });
    await store.append("r2", open, { expectedSeq: 0 });
    const before = [await all(store.read("r1")), await store.annex("r1"), await store.list()];
    await store.close();
    const next = await second(reopen);
    try {
      assert.deepEqual([await all(next.read("r1")), await next.annex("r1"), await next.list()], before);
      const rest = await sampleRun("r2");
      await next.append("r2", rest.slice(2), { expectedSeq: 2 });
      assert.equal((await next.get("r2"))?.status, "completed");
    } finally {
      await next.close();
    }
  });
  test("two stores on one place see each other's runs, and one number has one writer", async ({
    store,
    reopen,
  }) => {
    const other = await second(reopen);
    try {
      const events = await sampleRun("r1", { messages: 20 });
      const watching = all(other.watch("r1", 0));
      assert.deepEqual(await watching, []);
      for (let seq = 0; seq < events.length; seq += 1) {
        const batch = events.slice(seq, seq + 1);
        const tries = await Promise.allSettled(
          [store, other].map(async (one) => one.append("r1", batch, { expectedSeq: seq })),
        );
        assert.equal(tries.filter((one) => one.status === "fulfilled").length, 1);
      }
      assert.deepEqual(await all(store.read("r1")), events);
      assert.deepEqual(await all(other.read("r1")), events);
      assert.deepEqual(await store.list(), await other.list());
      await other.redact("r1", sampleRedaction(events));
      assert.deepEqual(await store.get("r1"), await other.get("r1"));
      assert.equal(await other.remove("r1"), true);
      assert.equal(await store.get("r1"), undefined);
      assert.deepEqual((await store.list()).runs, []);
    } finally {
      await other.close();
    }
  });
  test("watch sees what another store appends", async ({ store, reopen }) => {
    const other = await second(reopen);
    try {
      const events = await sampleRun("r1");
      await store.append("r1", events.slice(0, 1), { expectedSeq: 0 });
      const seen = all(other.watch("r1", 0));
      await store.append("r1", events.slice(1), { expectedSeq: 1 });
      assert.deepEqual(await seen, events);
    } finally {
      await other.close();
    }
  });
}

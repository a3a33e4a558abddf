/** The contract suite of `RunStore`: every implementation runs it. */

import assert from "node:assert/strict";
import { OpenFunctionsError } from "../errors.ts";
import { createPorts } from "../ports.ts";
import { LOCAL_PROGRAM } from "../principal.ts";
import { DEFAULT_LIMITS } from "../run-limits.ts";
import type { AnyRunEvent, RunStart } from "../run-event.ts";
import { foldRun } from "../run-fold.ts";
import { RunLog } from "../run-log.ts";
import type { RunStore } from "../run-store.ts";
import { silentLogger } from "../logger.ts";
import { fakeClock } from "./fakes.ts";
import type { SuiteRunner } from "./suite-runner.ts";

/** Runs the contract of `RunStore` against the empty stores that `make` gives, one per test. */
export function describeRunStore(name: string, make: () => Promise<RunStore>, { describe, it }: SuiteRunner): void {
  const test = (title: string, body: (store: RunStore) => Promise<void>): unknown =>
    it(title, async () => {
      const store = await make();
      try {
        await body(store);
      } finally {
        await store.close();
      }
    });
  describe(`RunStore contract: ${name}`, () => {
    describeAppends(test);
    describeLists(test);
    describeWatch(test);
  });
}

type Test = (title: string, body: (store: RunStore) => Promise<void>) => unknown;

function describeAppends(test: Test): void {
  test("reads back what was appended, whole and from a number on", async (store) => {
    const events = await sampleRun("r1", {});
    await store.append("r1", events.slice(0, 1), { expectedSeq: 0 });
    await store.append("r1", events.slice(1), { expectedSeq: 1 });
    assert.deepEqual(await all(store.read("r1")), events);
    assert.deepEqual(await all(store.read("r1", 1)), events.slice(1));
    assert.deepEqual(await store.get("r1"), foldRun(events));
  });
  test("gives nothing for a run it does not know", async (store) => {
    assert.deepEqual(await all(store.read("none")), []);
    assert.equal(await store.get("none"), undefined);
    assert.equal(await store.remove("none"), false);
  });
  test("refuses a second writer and keeps what the first wrote", async (store) => {
    const events = await sampleRun("r1", {});
    await store.append("r1", events.slice(0, 1), { expectedSeq: 0 });
    await assert.rejects(
      async () => store.append("r1", events.slice(0, 1), { expectedSeq: 0 }),
      (error) => OpenFunctionsError.is(error) && error.code === "store_conflict",
    );
    assert.equal((await all(store.read("r1"))).length, 1);
  });
  test("removes a whole run", async (store) => {
    await store.append("r1", await sampleRun("r1", {}), { expectedSeq: 0 });
    assert.equal(await store.remove("r1"), true);
    assert.equal(await store.get("r1"), undefined);
  });
}

function describeLists(test: Test): void {
  test("lists newest first, by each field, in pages", async (store) => {
    for (const [index, threadId] of ["a", "b", "a"].entries()) {
      const runId = `r${index}`;
      const events = await sampleRun(runId, { threadId, startMs: Date.UTC(2026, 0, 1 + index), open: index === 2 });
      await store.append(runId, events, { expectedSeq: 0 });
    }
    const ids = async (query: Parameters<RunStore["list"]>[0]): Promise<readonly string[]> =>
      (await store.list(query)).runs.map((run) => run.runId);
    assert.deepEqual(await ids({}), ["r2", "r1", "r0"]);
    assert.deepEqual(await ids({ threadId: "a" }), ["r2", "r0"]);
    assert.deepEqual(await ids({ status: "running" }), ["r2"]);
    assert.deepEqual(await ids({ status: "completed" }), ["r1", "r0"]);
    assert.deepEqual(await ids({ actor: "nobody" }), []);
    assert.deepEqual(await ids({ since: "2026-01-02T00:00:00.000Z" }), ["r2", "r1"]);
    assert.deepEqual(await ids({ until: "2026-01-02T00:00:00.000Z" }), ["r1", "r0"]);
    const first = await store.list({ limit: 2 });
    assert.deepEqual(first.runs.map((run) => run.runId), ["r2", "r1"]);
    assert.ok(first.cursor !== undefined);
    assert.deepEqual(await ids({ limit: 2, cursor: first.cursor }), ["r0"]);
  });
}

function describeWatch(test: Test): void {
  test("watch gives what is there and what comes, and ends with the run", async (store) => {
    const events = await sampleRun("r1", {});
    await store.append("r1", events.slice(0, 1), { expectedSeq: 0 });
    const seen = all(store.watch("r1", 0));
    await new Promise((resolve) => setTimeout(resolve, 5));
    await store.append("r1", events.slice(1), { expectedSeq: 1 });
    assert.deepEqual(await seen, events);
  });
  test("watch ends when its signal fires", async (store) => {
    const events = await sampleRun("r1", {});
    await store.append("r1", events.slice(0, 1), { expectedSeq: 0 });
    const stop = new AbortController();
    const seen = all(store.watch("r1", 0, stop.signal));
    setTimeout(() => stop.abort(), 5);
    assert.deepEqual(await seen, events.slice(0, 1));
  });
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function sampleRun(
  runId: string,
  about: { readonly threadId?: string; readonly startMs?: number; readonly open?: boolean },
): Promise<readonly AnyRunEvent[]> {
  const events: AnyRunEvent[] = [];
  const log = new RunLog({
    runId,
    ports: createPorts({ clock: fakeClock(about.startMs) }),
    capture: "full",
    redact: (value) => value,
    logger: silentLogger,
    onStoreFailure: "warn",
    deliver: (event) => {
      if ("seq" in event) events.push(event);
    },
  });
  log.emit("run.started", startOf(runId, about.threadId));
  log.emit("message.appended", { role: "user", message: log.seal({ role: "user" as const, content: "hi" }) });
  if (about.open !== true) log.emit("run.completed", { stopReason: "model_response", output: log.seal("hello") });
  await log.flush();
  return events;
}

function startOf(runId: string, threadId: string | undefined): RunStart {
  return {
    kind: "agent",
    lineage: { rootRunId: runId, correlationId: runId, attempt: 1, depth: 0, ...(threadId === undefined ? {} : { threadId }) },
    actor: { name: "agent" },
    principal: LOCAL_PROGRAM,
    owner: "local",
    capabilities: { digest: `sha256:${"0".repeat(64)}`, tools: [] },
    authority: { grants: [], waivers: [] },
    limits: DEFAULT_LIMITS,
    environment: { runtime: "node", frameworkVersion: "0.1.0" },
    capture: "full",
    sealed: false,
  };
}

import { describe, expect, it } from "vitest";
import { pruneRuns } from "./prune-runs.ts";
import type { AnyRunEvent } from "./run-event.ts";
import { type RunStore, createMemoryRunStore } from "./run-store.ts";
import { type SampleRun, sampleRun } from "./testing/run-store-situation.ts";

const DAY_MS = 86_400_000;
const FIRST_DAY = Date.UTC(2026, 0, 1);
const NOW = FIRST_DAY + 10 * DAY_MS;

/** A run of each of the first days of the year. */
async function storeOf(shapes: readonly SampleRun[]): Promise<RunStore> {
  const store = createMemoryRunStore();
  for (const [day, shape] of shapes.entries()) {
    const events = await sampleRun(`day ${day}`, { ...shape, startMs: FIRST_DAY + day * DAY_MS });
    await store.append(`day ${day}`, events, { expectedSeq: 0 });
  }
  return store;
}

async function idsIn(store: RunStore): Promise<readonly string[]> {
  return (await store.list()).runs.map((run) => run.runId);
}

/** A sample run with one tool call in it. */
async function runWithCall(runId: string, about: object): Promise<readonly AnyRunEvent[]> {
  const [start, message, end] = await sampleRun(runId, { startMs: FIRST_DAY });
  const call = {
    callId: "c",
    round: 0,
    index: 0,
    toolName: "pay",
    args: { $sealed: "sha256:0" },
    argsOrigin: "model",
  };
  const made = [{ type: "tool.requested", data: call }, about].map((part) => ({ ...message, ...part }));
  // Proof: stores do not check hashes, and the fold reads what is here
  return [start, message, ...made, end].map((event, seq) => ({
    ...event,
    seq,
  })) as unknown as readonly AnyRunEvent[];
}

describe("pruneRuns", () => {
  it("removes runs that ended too long ago", async () => {
    const store = await storeOf([{}, {}, {}]);
    const report = await pruneRuns(store, { maxAgeMs: 9 * DAY_MS, now: NOW });
    expect(report).toEqual({ removed: ["day 0"], kept: [] });
    expect(await idsIn(store)).toEqual(["day 2", "day 1"]);
  });

  it("keeps the newest runs and removes the others, over many pages", async () => {
    const store = await storeOf(Array.from({ length: 450 }, () => ({})));
    const report = await pruneRuns(store, { maxRuns: 3, now: NOW });
    expect(report.removed).toHaveLength(447);
    expect(await idsIn(store)).toEqual(["day 449", "day 448", "day 447"]);
    expect(await pruneRuns(store, { maxRuns: 3, now: NOW })).toEqual({ removed: [], kept: [] });
  });

  it("keeps what runs, is suspended, waits for an answer or has an unknown effect, and says why", async () => {
    const store = await storeOf([{ end: "running" }, { end: "suspended" }, {}]);
    const authority = { level: "human", decision: "pending" };
    const refused = {
      type: "tool.refused",
      data: { callId: "c", code: "approval_required", authority, result: {} },
    };
    const started = { type: "tool.started", data: { callId: "c", authority } };
    const granted = { ...started, data: { callId: "c", authority: { ...authority, decision: "granted" } } };
    await store.append("asks", await runWithCall("asks", refused), { expectedSeq: 0 });
    await store.append("unsure", await runWithCall("unsure", granted), { expectedSeq: 0 });
    const report = await pruneRuns(store, { maxAgeMs: 0, maxRuns: 0, now: NOW });
    expect(report.removed).toEqual(["day 2"]);
    expect(new Map(report.kept.map(({ runId, reason }) => [runId, reason]))).toEqual(
      new Map([
        ["day 0", "running"],
        ["day 1", "suspended"],
        ["asks", "pending_ticket"],
        ["unsure", "unknown_effects"],
      ]),
    );
    expect(await idsIn(store)).toHaveLength(4);
  });

  it("refuses to work without a bound, or with one that is none", async () => {
    const store = await storeOf([{}]);
    const options = [{}, { maxRuns: -1 }, { maxAgeMs: Number.NaN }, { maxRuns: 1, now: Number.NaN }];
    for (const wrong of options)
      await expect(pruneRuns(store, { now: NOW, ...wrong })).rejects.toMatchObject({
        code: "invalid_config",
      });
    expect(await idsIn(store)).toEqual(["day 0"]);
  });
});

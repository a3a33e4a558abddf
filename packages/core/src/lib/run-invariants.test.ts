/** The invariants of spec runs.md section 4, over generated runs. */

import fastCheck from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CANARY,
  type PlayedRun,
  arbitraryRunPlan,
  callIdsIn,
  playRun,
} from "./__fixtures__/arbitrary-run.ts";
import { NO_USAGE, addUsage } from "./adapter.ts";
import { isReadOnly } from "./contract.ts";
import { digest } from "./digest.ts";
import { explainRun } from "./explain-run.ts";
import { toolResultsOf } from "./message.ts";
import { claimOutcome } from "./outcome-claim.ts";
import { chainStart, hashEvent } from "./run-event.ts";
import { foldRun } from "./run-fold.ts";
import { runLoop } from "./run-loop.ts";
import { createRunContext } from "./run-start.ts";
import { scriptedAdapter } from "./testing/scripted-adapter.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");

const STOPS: Record<string, readonly string[]> = {
  completed: ["model_response", "empty_response", "structured_output", "tool_result"],
  limit_reached: [
    "max_rounds",
    "tool_quota",
    "time_budget",
    "token_budget",
    "cost_budget",
    "output_truncated",
    "repeated_calls",
  ],
  failed: [
    "provider_error",
    "refusal",
    "content_filter",
    "protocol_error",
    "context_overflow",
    "tool_effect_unknown",
    "internal_error",
  ],
  cancelled: ["caller_abort", "deadline", "parent_cancelled", "shutdown", "approval_denied"],
};
const TERMINAL = Object.keys(STOPS).map((status) => `run.${status}`);

/** Every invariant that one record can be held against, by its number. */
const INVARIANTS: Record<string, (played: PlayedRun) => void> = {
  "1: exactly one terminal event, last": ({ events }) => {
    expect(events.filter(({ type }) => TERMINAL.includes(type))).toHaveLength(1);
    expect(TERMINAL).toContain(events.at(-1)?.type);
    expect(() => foldRun([...events, ...events.slice(-1)])).toThrow(/invariant 1\)/);
  },
  "2: endedAt exactly when terminal, not before startedAt": ({ events, result }) => {
    const { startedAt, endedAt } = result.record;
    expect(endedAt !== undefined && endedAt >= startedAt).toBe(true);
    for (const length of [1, events.length - 1])
      expect(foldRun(events.slice(0, length)).endedAt).toBeUndefined();
  },
  "3: status and stop reason pair": ({ result }) => {
    expect(STOPS[result.status]).toContain(result.stopReason);
    expect(result.record).toMatchObject({ status: result.status, stopReason: result.stopReason });
  },
  "4: every asked call has one record and one result in history": ({ result }) => {
    const { record, messages } = result;
    const asked = record.modelCalls.flatMap((call) => call.toolCallIds);
    const inHistory = callIdsIn(result);
    for (const callId of inHistory) {
      expect(asked.filter((one) => one === callId)).toHaveLength(1);
      expect(record.toolCalls.filter((call) => call.callId === callId)).toHaveLength(1);
    }
    if (result.status === "cancelled") return;
    const answered = messages.flatMap(toolResultsOf).map(({ callId }) => callId);
    expect(answered.toSorted()).toEqual([...inHistory].toSorted());
  },
  "5: rounds and calls stay within their limits": ({ result }) => {
    const { record } = result;
    expect(record.rounds).toBe(record.modelCalls.length);
    expect(record.rounds).toBeLessThanOrEqual(record.limits.maxRounds);
    const started = record.toolCalls.filter((call) => call.startedAt !== undefined);
    expect(started.length).toBeLessThanOrEqual(record.limits.maxToolCalls);
  },
  "6: digests and chain are recomputable": ({ events, result, registry }) => {
    let prev = chainStart(result.runId);
    for (const event of events) {
      expect(event.prev).toBe(prev);
      expect(hashEvent(JSON.parse(JSON.stringify(event)))).toBe(event.hash);
      prev = event.hash;
    }
    expect(result.record.head).toBe(prev);
    expect(result.record.capabilities.digest).toBe(registry.digest());
  },
  "7: with capture off no content occurs anywhere": ({ events, result }) => {
    const text = JSON.stringify([events, result.record]);
    if (result.record.capture !== "full") expect(text).not.toContain(CANARY);
    if (result.record.capture === "off") expect(text).not.toContain('"salt"');
  },
  "8, 11: a claim needs a whole answer, and tells what failed or is unknown": ({ result }) => {
    const { record } = result;
    const isWhole =
      result.stopReason === "model_response" && record.modelCalls.at(-1)?.finishReason === "stop";
    const claim = (): ReturnType<typeof claimOutcome> =>
      claimOutcome(record, { claimId: "claim_1", claimedAt: record.endedAt ?? "" });
    if (!isWhole) return expect(claim).toThrow(/invariant 8/);
    const { warnings, taskId } = claim();
    expect(taskId).toBe(record.lineage.taskId);
    const doubtful = record.toolCalls.filter(({ outcome, toolName }) => {
      const kind = record.capabilities.tools.find(({ name }) => name === toolName)?.effects ?? "write";
      return outcome === "unknown" || (outcome === "failed" && (kind === "write" || kind === "destructive"));
    });
    expect(warnings).toHaveLength(doubtful.length);
    for (const { callId } of doubtful) expect(warnings.join("\n")).toContain(`"${callId}"`);
  },
  "11, 12: effects are those of the calls": ({ result, registry }) => {
    const { toolCalls, effects, status } = result.record;
    const unknown = toolCalls.filter((call) => call.outcome === "unknown").map((call) => call.callId);
    expect(effects.verificationRequired).toEqual(unknown);
    expect(effects.certainty).toBe(unknown.length > 0 ? "unknown" : "known");
    const started = toolCalls.filter((call) => call.startedAt !== undefined);
    const changed = started.some(({ toolName, outcome }) => {
      const tool = registry.get(toolName);
      return (
        tool !== undefined && !isReadOnly(tool.contract) && (outcome === "succeeded" || outcome === "unknown")
      );
    });
    const summary = changed ? (status === "completed" ? "committed" : "partial") : "read_only";
    expect(effects.summary).toBe(started.length === 0 ? "none" : summary);
  },
  "20: attempt 1 is nobody's retry": ({ result }) => {
    expect(result.record.lineage).toMatchObject({ attempt: 1 });
    expect(result.record.lineage.retryOf).toBeUndefined();
  },
  "21: what a cancelled run says of its effects agrees with its calls": ({ result }) => {
    const { cancellation, effects } = result.record;
    expect(cancellation !== undefined).toBe(result.status === "cancelled");
    if (cancellation === undefined) return;
    const changed = effects.summary === "partial" ? "partial" : "none";
    expect(cancellation.effects).toBe(effects.certainty === "unknown" ? "unknown" : changed);
  },
  "22: usage is the sum over the model calls": ({ result }) => {
    const [first = NO_USAGE, ...rest] = result.record.modelCalls.map((call) => call.usage);
    expect(result.record.usage).toEqual(rest.reduce(addUsage, first));
  },
  "23: a granted call names a grant that was valid and covers its scopes": ({ result, registry }) => {
    for (const call of result.record.toolCalls) {
      // At level session the caller's identity is the permission; there is nothing to name.
      if (call.authority?.decision !== "granted" || call.authority.level === "session") continue;
      const tool = registry.get(call.toolName);
      const grant = result.record.authority.grants.find(({ ref }) => ref === call.authority?.grantRef);
      expect(grant).toBeDefined();
      expect(grant?.scopes).toEqual(expect.arrayContaining([...(tool?.contract.authority.scopes ?? [])]));
      expect((grant?.expiresAt ?? "9") > (call.startedAt ?? "")).toBe(true);
    }
  },
  "24: a record survives a JSON round trip": ({ result, events }) => {
    expect(JSON.parse(JSON.stringify(result.record))).toEqual(result.record);
    const alien = { ...events[0], type: "from.the.future", data: { more: true } };
    const folded = foldRun(JSON.parse(JSON.stringify([...events.slice(0, -1), alien, ...events.slice(-1)])));
    expect(folded).toEqual(result.record);
  },
  "explainRun: bounded lines, no control characters, every unknown outcome told": ({ result, events }) => {
    const text = explainRun(result.record, { events });
    for (const line of text.trimEnd().split("\n")) {
      expect(line.length).toBeLessThanOrEqual(240);
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
    const doubts = text.slice(text.indexOf("Not proven:"));
    for (const call of result.record.toolCalls)
      if (call.outcome === "unknown") expect(doubts).toContain(`(${call.callId})`);
  },
};

describe("a record of any run", () => {
  it("keeps every invariant", async () => {
    const seen: Record<string, number> = {};
    await fastCheck.assert(
      fastCheck.asyncProperty(arbitraryRunPlan, async (plan) => {
        const played = await playRun(plan);
        seen[played.result.status] = (seen[played.result.status] ?? 0) + 1;
        for (const [title, check] of Object.entries(INVARIANTS)) {
          try {
            check(played);
          } catch (cause) {
            throw new Error(`invariant ${title}`, { cause });
          }
        }
      }),
      { numRuns: Math.max(150, Math.round(2_000 * SCALE)) },
    );
    // A generator that never leaves the sunny side would prove little.
    for (const status of Object.keys(STOPS)) expect(seen[status] ?? 0, status).toBeGreaterThan(0);
  }, 120_000);

  it("invariant 6: order of tools and keys does not matter, a description does", () => {
    expect(digest("t", { a: 1, b: [1, 2] })).toBe(digest("t", { b: [1, 2], a: 1 }));
    expect(digest("t", { a: 1 })).not.toBe(digest("t", { a: 2 }));
  });

  it("invariant 19: a child inherits root and correlation, is one level deeper, and ends with its parent", async () => {
    const controller = new AbortController();
    const parent = createRunContext(
      { adapter: scriptedAdapter([]), messages: [], lineage: { correlationId: "corr" } },
      controller.signal,
    );
    const child = runLoop({
      adapter: scriptedAdapter([{ stall: true }]),
      messages: [{ role: "user", content: "go" }],
      parent,
    });
    setImmediate(() => controller.abort());
    const { record } = await child.result;
    expect(record).toMatchObject({ status: "cancelled", stopReason: "parent_cancelled" });
    expect(record.lineage).toMatchObject({
      parentRunId: parent.runId,
      rootRunId: parent.rootRunId,
      correlationId: "corr",
      depth: 1,
    });
    const deep = { ...parent, depth: 5 };
    expect(() =>
      runLoop({ adapter: scriptedAdapter([]), messages: [{ role: "user", content: "x" }], parent: deep }),
    ).toThrow(/at most 5 levels/);
  });
});

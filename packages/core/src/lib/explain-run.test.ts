import { describe, expect, it } from "vitest";
import { type RunPlan, playRun } from "./__fixtures__/arbitrary-run.ts";
import { explainRun } from "./explain-run.ts";
import { claimOutcome } from "./outcome-claim.ts";
import { recordVerification } from "./verification.ts";
import type { RunRecord } from "./run-record.ts";

const PLAN: RunPlan = {
  replies: [
    {
      type: "calls",
      calls: [
        { tool: "look", behaviour: "ok", badArguments: false },
        { tool: "pay", behaviour: "ok", badArguments: false },
        { tool: "send", behaviour: "throws", badArguments: false },
        { tool: "wipe", behaviour: "ok", badArguments: false },
      ],
    },
  ],
  limits: {},
  capture: "full",
  grants: ["pay"],
  grantExpired: false,
  priced: true,
  stopOnUnknown: false,
  taskId: undefined,
};
const AT = "2026-01-01T00:00:00.000Z";

function part(text: string, title: string): string {
  const from = text.indexOf(`\n${title}:`);
  const rest = text.slice(from + 1);
  const end = rest.search(/\n\S/);
  return end < 0 ? rest : rest.slice(0, end);
}

describe("explainRun", () => {
  it("tells what was asked, each call, effects, limits, cost, why it stopped, and what is not proven", async () => {
    const { result, events } = await playRun(PLAN);
    const text = explainRun(result.record, { events })
      .replaceAll(result.runId, "RUN")
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
      .replace(/[\d.]+ m?s\b/g, "N ms");
    expect(text).toMatchInlineSnapshot(`
      "Run RUN: agent "agent"
      Status: completed (model_response), TIME, took N ms
      Asked by: program "local" (local), for owner "local"
      Asked: "please canary-7f3a"
      Model: asked for scripted/scripted-model (injected), reported scripted-model
      Model calls:
        1. 9 tokens in (2 of them cache), 6 out, $0.25, N ms (first event N ms), no retries, ended with tool_calls
        2. 0 tokens in, 0 out, price unknown, N ms (first event N ms), no retries, ended with stop
      Tool calls:
        1. look {"behaviour":"ok","text":"canary-7f3a 0 0"}; authority none: not_required; succeeded after N ms
        2. pay {"behaviour":"ok","text":"canary-7f3a 0 1"}; authority grant: granted by grant_pay; succeeded after N ms
        3. send {"behaviour":"throws","text":"canary-7f3a 0 2"}; authority session: granted; OUTCOME UNKNOWN (tool_failed) after N ms
        4. wipe {"behaviour":"ok","text":"canary-7f3a 0 3"}; authority grant: pending; did not run (approval_required)
      Changed in the world:
        UNKNOWN in part: see Not proven
        pay (c_0_1): done, as the tool says
        send (c_0_2): may or may not have happened
      Limits:
        model calls: 2 of 10
        tool calls: 4 of 64
        time: N ms of N ms
      Cost:
        $0.25 for 9 tokens in (2 of them cache), 6 out
      Why it stopped:
        model_response
      Not proven:
        Whether "send" (c_0_2) happened: it started and its outcome is unknown; look before anybody does it again.
        The answer: it is what the model said, and no claim of it was given here.
        The changes: they are what the tools said of themselves.
        What it cost: 1 of 2 model calls have no known price.
        That nobody changed this record: it is not signed.
      "
    `);
  });

  it("runs L11: never turns an unknown outcome into something done", async () => {
    const { result, events } = await playRun(PLAN);
    const text = explainRun(result.record, { events });
    expect(part(text, "Tool calls")).toMatch(/3\. send .*OUTCOME UNKNOWN/);
    expect(part(text, "Changed in the world")).toMatch(/send \(c_0_2\): may or may not have happened/);
    expect(part(text, "Not proven")).toMatch(/"send" \(c_0_2\).*look before anybody does it again/);
    expect(text).not.toMatch(/send.*(done|succeeded)/);
  });

  it("runs L13: the model asked for and the model that answered both stand there", async () => {
    const { result } = await playRun(PLAN);
    const { model } = result.record;
    const run: RunRecord = {
      ...result.record,
      ...(model && { model: { ...model, reported: ["other-model"] } }),
    };
    const text = explainRun(run);
    expect(text).toContain("asked for scripted/scripted-model (injected), reported other-model");
    expect(part(text, "Not proven")).toContain("the provider reported other-model");
  });

  it("makes hostile content harmless: no escapes, no lines of its own, no endless line", async () => {
    const { result, events } = await playRun({ ...PLAN, replies: [] });
    const evil = "\u001b[2J\u0007Not proven:\n  nothing\u202e\u2028\ud800".repeat(1000);
    const { output } = result.record;
    const run: RunRecord = {
      ...result.record,
      actor: { name: evil },
      ...(output && { output: { ...output, value: evil } }),
    };
    const claim = claimOutcome(run, {
      claimId: "c",
      claimedAt: AT,
      assertions: [{ key: evil, text: evil, coverage: [] }],
      warnings: [evil],
    });
    const lines = explainRun(run, { events, claim }).trimEnd().split("\n");
    expect(lines.filter((line) => line.startsWith("Not proven:"))).toHaveLength(1);
    for (const line of lines) {
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      expect(line.length).toBeLessThanOrEqual(240);
    }
  });

  it("lists assertions until verifications support all of them", async () => {
    const { result, events } = await playRun({ ...PLAN, replies: [] });
    const run = result.record;
    const claim = claimOutcome(run, {
      claimId: "c",
      claimedAt: AT,
      assertions: [{ key: "sent", text: "the mail went out", coverage: ["mail"] }],
    });
    const passed = recordVerification(
      claim,
      {
        attemptId: "a",
        method: { kind: "receipt" },
        verifier: { id: "v", kind: "program" },
        status: "passed",
        coverage: ["mail"],
        evidence: [],
        startedAt: AT,
        performedAt: AT,
      },
      [run],
    );
    const doubts = (verifications: (typeof passed)[]) =>
      part(explainRun(run, { events, claim, verifications }), "Not proven");
    expect(doubts([])).toContain("Assertion sent");
    expect(doubts([passed])).not.toContain("Assertion sent");
    expect(doubts([{ ...passed, status: "inconclusive" }])).toContain("Assertion sent");
  });

  it("says what it cannot know: no events, no content, no price, no end, redactions, a missing seal", async () => {
    const dark = (await playRun({ ...PLAN, capture: "digest", priced: false })).result.record;
    const doubts = part(explainRun(dark), "Not proven");
    expect(doubts).toMatch(/events were not given/);
    expect(doubts).toMatch(/content was not kept \(capture digest\)/);
    expect(doubts).toMatch(/2 of 2 model calls have no known price|1 of 2 model calls have no known price/);
    expect(doubts).toMatch(/not signed/);
    const { endedAt: _end, stopReason: _stop, ...rest } = dark;
    expect(explainRun({ ...rest, status: "running" })).toMatch(/as it stood at sha256:/);
    const sealed: RunRecord = { ...dark, sealed: { keyId: "sha256:k" } };
    expect(explainRun(sealed, { annex: { redactions: [] } })).toMatch(/has no seal/);
  });

  it("counts values that were taken out of a full record", async () => {
    const { result, events } = await playRun(PLAN);
    const gone = events.map((event) =>
      event.type === "tool.requested"
        ? { ...event, data: { ...event.data, args: { $sealed: event.hash } } }
        : event,
    );
    expect(part(explainRun(result.record, { events: gone }), "Not proven")).toContain("4 recorded values");
  });
});

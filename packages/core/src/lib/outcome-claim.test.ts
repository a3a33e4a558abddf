/** Claims, verifications, assurance and fulfillment, each against a run that really ran. */

import fastCheck from "fast-check";
import { describe, expect, it } from "vitest";
import { type RunPlan, playRun } from "./__fixtures__/arbitrary-run.ts";
import { type AssurancePolicy, evaluateAssurance, pinPolicy } from "./assurance.ts";
import { decideFulfillment } from "./fulfillment.ts";
import { claimOutcome, retireClaim } from "./outcome-claim.ts";
import { checkRetry } from "./retry-check.ts";
import { runLoop } from "./__fixtures__/replayed-loop.ts";
import type { RunRecord } from "./run-record.ts";
import { scriptedAdapter } from "./testing/scripted-adapter.ts";
import { type Verification, type VerificationInput, recordVerification } from "./verification.ts";

const AT = "2026-01-01T00:00:00.000Z";
const PLAN: RunPlan = {
  replies: [],
  limits: {},
  capture: "full",
  grants: ["pay"],
  grantExpired: false,
  priced: false,
  stopOnUnknown: false,
  taskId: "task_1",
};
const POLICY: AssurancePolicy = { id: "p", version: "1", methods: ["state_readback"] };

async function record(plan: Partial<RunPlan> = {}): Promise<RunRecord> {
  return (await playRun({ ...PLAN, ...plan })).result.record;
}

const calling = (tool: "send" | "put" | "pay", behaviour: "ok" | "fails" | "throws"): RunPlan["replies"] => [
  { type: "calls", calls: [{ tool, behaviour, badArguments: false }] },
];

const claimOf = (run: RunRecord, input: object = {}) =>
  claimOutcome(run, { claimId: "claim_1", claimedAt: AT, ...input });

function attempt(id: string, rest: Partial<VerificationInput> = {}): VerificationInput {
  return {
    attemptId: id,
    method: { kind: "state_readback" },
    verifier: { id: "reader", kind: "tool" },
    status: "passed",
    coverage: [],
    evidence: [],
    startedAt: AT,
    performedAt: AT,
    ...rest,
  };
}

const evaluate = (run: RunRecord, policy: AssurancePolicy | undefined, attempts: readonly Verification[]) =>
  evaluateAssurance(claimOf(run), policy, { bundleId: "bundle_1", decidedAt: AT, attempts });

describe("claimOutcome", () => {
  it("runs L2: a run that reached a limit cannot claim; the error names the invariant", async () => {
    const run = await record({ replies: calling("put", "ok"), limits: { maxRounds: 1 } });
    expect(run.status).toBe("limit_reached");
    expect(() => claimOf(run)).toThrow(
      expect.objectContaining({ code: "record_invalid", details: { invariant: 8 } }) as Error,
    );
  });

  it("runs L11: a write of unknown outcome, then an answer: warned, uncertain, and named for verification", async () => {
    const run = await record({ replies: calling("send", "throws") });
    expect(run).toMatchObject({
      status: "completed",
      effects: { certainty: "unknown", verificationRequired: ["c_0_0"] },
    });
    expect(claimOf(run).warnings).toEqual([expect.stringMatching(/"c_0_0".*unknown outcome/)]);
  });

  it("takes text, task and claimer from the run, and warns of a failed write", async () => {
    const run = await record({ replies: calling("put", "fails") });
    const claim = claimOf(run, { receipts: ["c_0_0"] });
    expect(claim).toMatchObject({ taskId: "task_1", claimedBy: "agent", state: "asserted" });
    expect(claim.statement.text).toBe(run.output);
    expect(claim.warnings).toEqual([expect.stringMatching(/failed/)]);
  });

  it("refuses a receipt of a call that is not there, never started, or of an unrelated run", async () => {
    const [run, other] = [await record({ replies: calling("pay", "ok"), grants: [] }), await record()];
    expect(() => claimOf(run, { receipts: ["nope"] })).toThrow(/invariant 10/);
    expect(() => claimOf(run, { receipts: ["c_0_0"] })).toThrow(/never started.*invariant 10/);
    expect(() => claimOf(run, { descendants: [other] })).toThrow(/does not descend.*invariant 10/);
  });

  it("names calls of descendants, at any depth, and tells their unknown outcomes", async () => {
    const run = await record();
    const below = await record({ replies: calling("send", "throws") });
    const child: RunRecord = { ...below, lineage: { ...below.lineage, parentRunId: "between" } };
    const between: RunRecord = {
      ...(await record()),
      runId: "between",
      lineage: { ...below.lineage, parentRunId: run.runId },
    };
    const claim = claimOf(run, { receipts: ["c_0_0"], descendants: [child, between] });
    expect(claim.warnings).toHaveLength(1);
    const circle = { ...between, lineage: { ...between.lineage, parentRunId: child.runId } };
    expect(() => claimOf(run, { descendants: [child, circle] })).toThrow(/does not descend/);
  });

  it("invariant 9: a run has at most one asserted claim; another supersedes or follows a withdrawn one", async () => {
    const run = await record();
    const first = claimOf(run);
    const again = { claimId: "claim_2" };
    expect(() => claimOf(run, { ...again, earlier: [first] })).toThrow(
      /asserts claim "claim_1".*invariant 9/,
    );
    expect(() => claimOf(run, { earlier: [first] })).toThrow(/exists already/);
    expect(() => claimOf(run, { ...again, supersedes: "none" })).toThrow(/not among the earlier/);
    expect(claimOf(run, { ...again, earlier: [first], supersedes: "claim_1" }).supersedes).toBe("claim_1");
    const withdrawn = retireClaim(first, "withdrawn");
    expect(claimOf(run, { ...again, earlier: [withdrawn] }).state).toBe("asserted");
    expect(() => retireClaim(withdrawn, "superseded")).toThrow(/withdrawn already/);
  });
});

describe("recordVerification", () => {
  it("runs L5: a verifier that is the claimer is not independent, whatever the input says", async () => {
    const run = await record();
    const input = { ...attempt("a", { verifier: { id: "agent", kind: "program" } }), independent: true };
    expect(recordVerification(claimOf(run), input, [run]).independent).toBe(false);
  });

  it("invariant 13: a verifier inside the claim's tree is not independent; one outside is", async () => {
    const [run, other] = [await record(), await record()];
    const inTree = { ...other, runId: "child", lineage: { ...other.lineage, rootRunId: run.runId } };
    const by = (kind: "program" | "model", runId?: string) =>
      attempt("a", { verifier: { id: "judge", kind, ...(runId === undefined ? {} : { runId }) } });
    const independent = (input: VerificationInput, ...more: RunRecord[]): boolean =>
      recordVerification(claimOf(run), input, [run, ...more]).independent;
    expect(independent(by("program"))).toBe(true);
    expect(independent(by("program", other.runId), other)).toBe(true);
    expect(independent(by("program", "child"), inTree)).toBe(false);
    expect(independent(by("program", run.runId))).toBe(false);
    expect(independent(by("model"))).toBe(false);
    expect(independent(by("model", other.runId), other)).toBe(true);
    const fork = { ...other, lineage: { ...other.lineage, forkOf: { runId: run.runId, seq: 3 } } };
    expect(independent(by("model", fork.runId), fork)).toBe(false);
    expect(() => independent(by("model", "unseen"))).toThrow(/record of run "unseen".*invariant 13/);
  });

  it("invariant 13: a model in the same thread had the same conversation", async () => {
    const base = await record();
    const run = { ...base, lineage: { ...base.lineage, threadId: "t" } };
    const judge = await record();
    const same = { ...judge, lineage: { ...judge.lineage, threadId: "t" } };
    const input = attempt("a", { verifier: { id: "judge", kind: "model", runId: judge.runId } });
    expect(recordVerification(claimOf(run), input, [run, same]).independent).toBe(false);
  });

  it("refuses a human judgment by anything but a person, a time that goes back, an unknown status", async () => {
    const run = await record();
    const check = (rest: object) => () => recordVerification(claimOf(run), attempt("a", rest), [run]);
    expect(check({ method: { kind: "human_judgment" } })).toThrow(/given by a person/);
    expect(check({ performedAt: "2025-01-01T00:00:00.000Z" })).toThrow(/before it starts/);
    expect(check({ status: "fine" })).toThrow(/not "fine"/);
  });
});

describe("evaluateAssurance", () => {
  it("runs L4: a failed required method, then a passing attempt that supersedes it, is satisfied", async () => {
    const run = await record();
    const verify = (input: VerificationInput) => recordVerification(claimOf(run), input, [run]);
    const failed = verify(attempt("a", { status: "failed", coverage: ["paid"] }));
    expect(evaluate(run, POLICY, [failed]).decision).toBe("unsatisfied");
    const later = verify(attempt("b", { performedAt: "2026-01-02T00:00:00.000Z" }));
    expect(evaluate(run, POLICY, [failed, later]).decision).toBe("unsatisfied");
    expect(evaluate(run, POLICY, [failed, { ...later, supersedes: "a" }]).decision).toBe("satisfied");
  });

  it("invariant 14: a policy that asks for nothing is refused; none at all is incomplete", async () => {
    const run = await record();
    const passed = recordVerification(claimOf(run), attempt("a"), [run]);
    expect(() => evaluate(run, { id: "p", version: "1" }, [passed])).toThrow(/invariant 14/);
    expect(evaluate(run, undefined, [passed])).toMatchObject({
      decision: "incomplete",
      reasons: [{ code: "no_policy" }],
    });
  });

  it("refuses attempts about another claim and two of one id", async () => {
    const run = await record();
    const passed = recordVerification(claimOf(run), attempt("a"), [run]);
    expect(() => evaluate(run, POLICY, [{ ...passed, claimId: "x" }])).toThrow(/about claim "x"/);
    expect(() => evaluate(run, POLICY, [passed, passed])).toThrow(/same id/);
  });

  it("a human gate opens to a person's passing judgment only, and a decision may expire", async () => {
    const run = await record();
    const policy: AssurancePolicy = { id: "p", version: "1", humanGate: true, validForMs: 1000 };
    const person = attempt("a", {
      method: { kind: "human_judgment" },
      verifier: { id: "ada", kind: "human" },
    });
    const judged = recordVerification(claimOf(run), person, [run]);
    expect(evaluate(run, policy, []).reasons).toMatchObject([{ code: "human_gate" }]);
    expect(evaluate(run, policy, [judged])).toMatchObject({
      decision: "satisfied",
      expiresAt: "2026-01-01T00:00:01.000Z",
    });
    expect(evaluate(run, policy, [{ ...judged, status: "failed" }]).decision).toBe("unsatisfied");
  });

  it("invariants 15 to 17: errored, inconclusive and dependent attempts never satisfy; a live failure decides", async () => {
    const run = await record();
    const arbitraryAttempt = fastCheck.record({
      kind: fastCheck.constantFrom("state_readback" as const, "receipt" as const),
      status: fastCheck.constantFrom<Verification["status"]>("passed", "failed", "inconclusive", "errored"),
      coverage: fastCheck.subarray(["a", "b"]),
      independent: fastCheck.boolean(),
      day: fastCheck.integer({ min: 1, max: 4 }),
      supersedes: fastCheck.option(fastCheck.integer({ min: 0, max: 4 }), { nil: undefined }),
    });
    const policies = fastCheck.record({
      methods: fastCheck.subarray(["state_readback" as const, "receipt" as const]),
      coverage: fastCheck.subarray(["a", "b"], { minLength: 1 }),
      requireIndependent: fastCheck.boolean(),
    });
    fastCheck.assert(
      fastCheck.property(fastCheck.array(arbitraryAttempt, { maxLength: 5 }), policies, (plans, policy) => {
        const attempts = plans.map(({ kind, day, supersedes, ...rest }, index): Verification => ({
          ...recordVerification(claimOf(run), attempt(`a${index}`), [run]),
          ...rest,
          method: { kind },
          performedAt: `2026-01-0${day}T00:00:00.000Z`,
          ...(supersedes === undefined ? {} : { supersedes: `a${supersedes}` }),
        }));
        const { decision, reasons } = evaluate(run, { id: "p", version: "1", ...policy }, attempts);
        const counted = attempts.filter((one) => one.independent || !policy.requireIndependent);
        const passed = counted.filter(({ status }) => status === "passed");
        expect(decision === "satisfied").toBe(reasons.length === 0);
        if (decision === "satisfied") {
          for (const item of policy.coverage)
            expect(passed.some((one) => one.coverage.includes(item))).toBe(true);
          for (const kind of policy.methods)
            expect(passed.some((one) => one.method.kind === kind)).toBe(true);
        }
        const failed = counted.filter(({ status }) => status === "failed");
        if (decision === "unsatisfied")
          expect(failed.some(({ method }) => policy.methods.includes(method.kind as never))).toBe(true);
        const untouched = failed.find(
          (one) =>
            policy.methods.includes(one.method.kind as never) &&
            !counted.some((other) => other !== one && other.performedAt >= one.performedAt),
        );
        if (untouched !== undefined) expect(decision).toBe("unsatisfied");
      }),
    );
  });
});

describe("decideFulfillment", () => {
  async function decided(policy: AssurancePolicy = POLICY) {
    const base = await record();
    const run: RunRecord = { ...base, verificationPlan: pinPolicy(POLICY) };
    const claim = claimOf(run);
    const attempts = [recordVerification(claim, attempt("a"), [run])];
    const bundle = evaluateAssurance(claim, policy, { bundleId: "bundle_1", decidedAt: AT, attempts });
    const input = {
      decisionId: "d",
      taskId: "task_1",
      status: "fulfilled" as const,
      decidedBy: "ada",
      decidedAt: AT,
      reason: "read back",
      run,
    };
    return { run, claim, bundle, input };
  }

  it("fulfils a task by a satisfied bundle under the plan that the run pinned", async () => {
    const { claim, bundle, input } = await decided();
    expect(decideFulfillment(claim, bundle, input)).toEqual({
      schema: "fulfillment/1",
      decisionId: "d",
      taskId: "task_1",
      claimId: "claim_1",
      bundleId: "bundle_1",
      status: "fulfilled",
      decidedBy: "ada",
      decidedAt: AT,
      reason: "read back",
    });
  });

  it("runs L7: a claim cannot decide another task, even by override", async () => {
    const { claim, bundle, input } = await decided();
    const override = { by: "ada", reason: "trust me" };
    expect(() => decideFulfillment(claim, bundle, { ...input, taskId: "task_2", override })).toThrow(
      expect.objectContaining({ code: "record_invalid", details: { invariant: 18 } }) as Error,
    );
  });

  it("invariant 18: unpinned, unsatisfied, expired and withdrawn do not fulfil; an override stays visible", async () => {
    const { run, claim, bundle, input } = await decided();
    const { verificationPlan: _plan, ...unpinned } = run;
    const decide =
      (more: object, of = bundle, by = claim) =>
      () =>
        decideFulfillment(by, of, { ...input, ...more });
    expect(decide({ run: unpinned })).toThrow(/pinned no verification plan/);
    expect(decide({}, { ...bundle, decision: "incomplete" })).toThrow(/is incomplete/);
    expect(decide({}, { ...bundle, expiresAt: "2025-01-01T00:00:00.000Z" })).toThrow(/expired/);
    expect(decide({}, bundle, retireClaim(claim, "withdrawn"))).toThrow(/is withdrawn/);
    expect(decide({}, { ...bundle, claimId: "x" })).toThrow(/do not belong together/);
    expect(decide({ override: { by: "ada", reason: " " } })).toThrow(/needs "by" and "reason"/);
    const other = await decided({ ...POLICY, version: "2" });
    expect(() => decideFulfillment(other.claim, other.bundle, other.input)).toThrow(/another plan/);
    const override = { by: "ada", reason: "seen with my own eyes" };
    expect(decide({ run: unpinned, override })().override).toEqual(override);
    expect(decide({ status: "undetermined" }, { ...bundle, decision: "incomplete" })().status).toBe(
      "undetermined",
    );
  });
});

describe("checkRetry", () => {
  it("runs Z34: refuses while an unknown effect could happen twice; forced, the reason is in the lineage", async () => {
    const run = await record({ replies: calling("send", "throws") });
    expect(() => checkRetry(run)).toThrow(/unknown whether "send" \(c_0_0\).*invariant 20/);
    expect(() => checkRetry(run, { force: { reason: " " } })).toThrow(/needs a "reason"/);
    const lineage = checkRetry(run, { force: { reason: "the bank says it did not arrive" } });
    expect(lineage).toMatchObject({
      attempt: 2,
      retryOf: run.runId,
      taskId: "task_1",
      forced: { reason: "the bank says it did not arrive", callIds: ["c_0_0"] },
    });
    const adapter = scriptedAdapter([{ text: "done" }]);
    const again = await runLoop({ adapter, messages: [{ role: "user", content: "again" }], lineage }).result;
    expect(again.record.lineage).toMatchObject(lineage);
  });

  it("invariant 20: a naturally idempotent write of the same tool is no obstacle; a key of one run is", async () => {
    const natural = await playRun({ ...PLAN, replies: calling("put", "throws") });
    expect(() => checkRetry(natural.result.record)).toThrow(/invariant 20/);
    expect(checkRetry(natural.result.record, { tools: natural.registry })).toMatchObject({ attempt: 2 });
    const keyed = await playRun({ ...PLAN, replies: calling("pay", "throws") });
    expect(() => checkRetry(keyed.result.record, { tools: keyed.registry })).toThrow(/invariant 20/);
  });

  it("refuses a run that has not ended", async () => {
    const { endedAt: _end, ...open } = await record();
    expect(() => checkRetry({ ...open, status: "running" })).toThrow(/only a run that has ended/);
  });
});

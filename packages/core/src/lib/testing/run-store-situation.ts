/** What the cases of the run store suite are made of. */

import assert from "node:assert/strict";
import { digest } from "../digest.ts";
import { type ErrorCode, OpenFunctionsError } from "../errors.ts";
import { silentLogger } from "../logger.ts";
import { createPorts } from "../ports.ts";
import { LOCAL_PROGRAM } from "../principal.ts";
import type { RedactionLine, SealLine } from "../record-line.ts";
import type { AnyRunEvent, Lineage, RunKind, RunStart } from "../run-event.ts";
import { DEFAULT_LIMITS } from "../run-limits.ts";
import { RunLog } from "../run-log.ts";
import type { RunStore } from "../run-store.ts";
import { fakeClock } from "./fakes.ts";

/** What the suite needs: an empty store, and where runs last, another one on the same place. */
export interface RunStoreFixture {
  readonly store: RunStore;
  /** Opens the same place a second time, as another process would. Present exactly where `durable` is true. */
  readonly reopen?: () => Promise<RunStore>;
}

/** Registers one case; the fixture's store is closed after it. */
export type RunStoreTest = (title: string, body: (fixture: RunStoreFixture) => Promise<void>) => unknown;

/** What a sample run is to look like. */
export interface SampleRun {
  readonly kind?: RunKind;
  readonly actor?: string;
  readonly lineage?: Partial<Lineage>;
  readonly startMs?: number;
  /** Default `completed`. */
  readonly end?: "running" | "suspended" | "completed";
  /** How many messages it has. Default 1. */
  readonly messages?: number;
}

/** The events of a run that says hi. */
export async function sampleRun(runId: string, about: SampleRun = {}): Promise<readonly AnyRunEvent[]> {
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
  log.emit("run.started", startOf(runId, about));
  for (let index = 0; index < (about.messages ?? 1); index += 1) {
    const content = index === 0 ? SECRET : `message ${index}`;
    log.emit("message.appended", { role: "user", message: log.seal({ role: "user" as const, content }) });
  }
  const end = about.end ?? "completed";
  if (end === "suspended") log.emit("run.suspended", { stopReason: "approval_required", pending: [] });
  if (end === "completed")
    log.emit("run.completed", { stopReason: "model_response", output: log.seal("hello") });
  await log.flush();
  return events;
}

/** The first message of every sample run; has parts that text formats escape. */
export const SECRET = 'hi, "42 Å" 北\u2028😀';

function startOf(runId: string, about: SampleRun): RunStart {
  return {
    kind: about.kind ?? "agent",
    lineage: { rootRunId: runId, correlationId: runId, attempt: 1, depth: 0, ...about.lineage },
    actor: { name: about.actor ?? "agent" },
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

/** A seal over these events; what it signs is not checked by stores. */
export function sampleSeal(events: readonly AnyRunEvent[]): SealLine {
  const last = events.at(-1);
  assert.ok(last !== undefined);
  return {
    type: "seal",
    runId: last.runId,
    events: events.length,
    head: last.hash,
    alg: "ed25519",
    keyId: digest("key/1", "k"),
    signedAt: last.at,
    signature: "c2lnbmF0dXJl",
  };
}

/** A redaction of the first message of a sample run. */
export function sampleRedaction(
  events: readonly AnyRunEvent[],
  change: Partial<RedactionLine> = {},
): RedactionLine {
  const prev = events.at(-1)?.hash ?? digest("none/1", null);
  const line = {
    type: "redaction",
    n: 0,
    seq: 1,
    leaf: "/data/message",
    by: "anna",
    reason: "asked to",
  } as const;
  return { ...line, at: "2026-01-01T00:00:00.000Z", prev, hash: digest("redaction/1", line), ...change };
}

/** All that an iterable gives. */
export async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Fails unless the work fails with this code. */
export async function refuses(code: ErrorCode, work: () => Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.equal(OpenFunctionsError.is(error) ? error.code : error, code);
    return true;
  });
}

/** A record to verify: events with sealed leaves, as a run writes them, and its seal. */

import { createPrivateKey, createPublicKey } from "node:crypto";
import { createPorts } from "../ports.ts";
import { LOCAL_PROGRAM } from "../principal.ts";
import { encodeRecordLine } from "../record-file.ts";
import type { SealLine } from "../record-line.ts";
import { DEFAULT_LIMITS } from "../run-limits.ts";
import type { AnyRunEvent } from "../run-event.ts";
import { RunLog } from "../run-log.ts";
import { createSigner, sealRun } from "../run-seal.ts";
import type { Capture } from "../sealed.ts";
import { silentLogger } from "../logger.ts";
import { fakeClock } from "../testing/fakes.ts";

/** A key for tests, from RFC 8032 section 7.1, test 1. */
export const TEST_KEY = createPrivateKey({
  key: Buffer.from(
    "302e020100300506032b6570042204209d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "hex",
  ),
  format: "der",
  type: "pkcs8",
});
export const TEST_PUBLIC_KEY = createPublicKey(TEST_KEY);
export const TEST_SIGNER = createSigner(TEST_KEY);

/** How the sample is to be. */
export interface SampleOptions {
  readonly events: number;
  readonly sealed: boolean;
  readonly capture?: Capture;
  readonly runId?: string;
}

/** The lines of a record with so many events; the last of them, where it is sealed, is the seal. */
export async function sampleRecord(options: SampleOptions): Promise<readonly string[]> {
  const { events, seal } = await sampleRun(options);
  return [...events, ...(seal === undefined ? [] : [seal])].map((line) => encodeRecordLine(line));
}

/** The same as events and seal. */
export async function sampleRun(
  options: SampleOptions,
): Promise<{ readonly events: readonly AnyRunEvent[]; readonly seal?: SealLine }> {
  const { sealed, capture = "full", runId = "0192f0c0-5e1f-7000-8000-00000000000a" } = options;
  const events: AnyRunEvent[] = [];
  const log = new RunLog({
    runId,
    ports: createPorts({ clock: fakeClock() }),
    capture,
    redact: (value) => value,
    logger: silentLogger,
    onStoreFailure: "warn",
    deliver: (event) => {
      if ("seq" in event) events.push(event);
    },
  });
  log.emit("run.started", {
    kind: "agent",
    lineage: { rootRunId: runId, correlationId: runId, attempt: 1, depth: 0 },
    actor: { name: "agent" },
    principal: LOCAL_PROGRAM,
    owner: "local",
    capabilities: { digest: `sha256:${"0".repeat(64)}`, tools: [] },
    authority: { grants: [], waivers: [] },
    limits: DEFAULT_LIMITS,
    environment: { runtime: "node", frameworkVersion: "0.1.0" },
    capture,
    sealed: sealed ? { keyId: TEST_SIGNER.keyId } : false,
  });
  for (let index = 1; index < options.events - 1; index += 1) {
    const content = `Zeile ${index}: "grün" \\ 😀\n\u0001 ${index / 7}`;
    log.emit("message.appended", { role: "user", message: log.seal({ role: "user" as const, content }) });
  }
  log.emit("run.completed", { stopReason: "model_response", output: log.seal("done") });
  await log.flush();
  const last = events.at(-1);
  if (!sealed || last === undefined) return { events };
  const seal = { runId, events: events.length, head: last.hash, signedAt: "2026-01-01T00:00:00.000Z" };
  return { events, seal: sealRun(seal, TEST_SIGNER) };
}

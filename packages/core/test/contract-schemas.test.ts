import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import {
  type AnyRunEvent,
  type RunRecord,
  type RunStore,
  createMemoryRunStore,
  createMemoryStore,
  defineTool,
  err,
  ok,
  runLoop,
  ToolRegistry,
} from "@openfunctions/core";
import { makeRedaction } from "@openfunctions/core/records";
import { type ScriptedCall, scriptedAdapter } from "@openfunctions/core/testing";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it } from "vitest";
import { TEST_SIGNER } from "../src/lib/__fixtures__/sample-record.ts";
import { createApprovalStore } from "../src/lib/approval-store.ts";
import { claimOutcome } from "../src/lib/outcome-claim.ts";
import { recordVerification } from "../src/lib/verification.ts";

const SCHEMAS = join(import.meta.dirname, "..", "..", "..", "contracts", "schemas");

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true });
beforeAll(async () => {
  const names = (await readdir(SCHEMAS)).filter((name) => name.endsWith(".schema.json"));
  expect(names.length).toBeGreaterThanOrEqual(6);
  for (const name of names) ajv.addSchema(JSON.parse(await readFile(join(SCHEMAS, name), "utf8")));
});

function problems(schema: string, value: unknown): readonly string[] {
  const plain: unknown = JSON.parse(JSON.stringify(value));
  if (ajv.validate(`${schema}.schema.json`, plain)) return [];
  return (ajv.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message ?? ""}`);
}

const write = defineTool({
  name: "add_row",
  description: "Adds a row.",
  inputSchema: { type: "object", properties: { row: { type: "string" } }, required: ["row"] },
  contract: "write",
  handler: async ({ row }) => (row === "bad" ? err("No such table.") : ok({ row })),
});

interface Ran {
  readonly store: RunStore;
  readonly record: RunRecord;
}

/** Runs that end in different ways, so that most event types occur. */
async function runs(): Promise<readonly Ran[]> {
  const tools = new ToolRegistry();
  tools.register(write);
  const call = (row: string | number): ScriptedCall => ({
    name: "add_row",
    args: { row },
  });
  const scripts: readonly Parameters<typeof scriptedAdapter>[0][] = [
    [{ toolCalls: [call("a"), call("bad")] }, { toolCalls: [call(1)] }, { text: "done" }],
    [{ text: "" }],
    [{ toolCalls: [{ name: "none", args: {} }] }, { text: "sorry" }],
    [],
    [{ toolCalls: [call("a")] }, { toolCalls: [call("b")] }],
  ];
  return Promise.all(
    scripts.map(async (script, index): Promise<Ran> => {
      const store = createMemoryRunStore();
      const run = runLoop({
        adapter: scriptedAdapter(script),
        tools,
        store,
        system: "Be brief.",
        messages: [{ role: "user", content: "go" }],
        capture: index % 2 === 0 ? "full" : "digest",
        limits: { maxRounds: index === 4 ? 2 : 10 },
        ...(index === 2 ? {} : { signer: TEST_SIGNER }),
      });
      return { store, record: (await run.result).record };
    }),
  );
}

async function firstEvent({ store, record }: Ran): Promise<AnyRunEvent> {
  for await (const event of store.read(record.runId)) return event;
  throw new Error("The run has no event.");
}

describe("the published schemas", () => {
  it("fit every event, seal, redaction and record of real runs", async () => {
    const seen = new Set<string>();
    for (const { store, record } of await runs()) {
      expect(problems("record", record)).toEqual([]);
      const { runId } = record;
      for await (const event of store.read(runId)) {
        seen.add(event.type);
        expect(problems("event", event), event.type).toEqual([]);
        expect(problems("line", event), event.type).toEqual([]);
      }
      const annex = await store.annex(runId);
      if (annex.seal !== undefined) expect(problems("line", annex.seal)).toEqual([]);
      const about = { seq: 1, leaf: "/data/text", by: "me", at: record.startedAt, reason: "asked for" };
      const signer = annex.seal === undefined ? {} : { signer: TEST_SIGNER };
      expect(problems("line", makeRedaction({ annex, head: record.head, ...signer }, about))).toEqual([]);
    }
    expect(
      [...seen].filter((type) => type.startsWith("run.") || type.startsWith("tool.")).toSorted(),
    ).toEqual(
      expect.arrayContaining([
        "run.completed",
        "run.failed",
        "run.started",
        "tool.finished",
        "tool.refused",
        "tool.requested",
        "tool.started",
      ]),
    );
  });

  it("fit claims and verifications", async () => {
    const [ran] = await runs();
    if (ran === undefined) throw new Error("Nothing ran.");
    const at = ran.record.startedAt;
    const claim = claimOutcome(ran.record, {
      claimId: "c1",
      claimedAt: at,
      assertions: [{ key: "a", text: "Added.", coverage: ["row"] }],
    });
    expect(problems("claim", claim)).toEqual([]);
    const attempt = recordVerification(
      claim,
      {
        attemptId: "v1",
        method: { kind: "human_judgment" },
        verifier: { id: "ann", kind: "human" },
        status: "passed",
        coverage: ["row"],
        evidence: [{ summary: "Looked." }],
        startedAt: at,
        performedAt: at,
      },
      [ran.record],
    );
    expect(problems("verification", attempt)).toEqual([]);
  });

  it("fit tickets, asked and answered", async () => {
    const [ran] = await runs();
    if (ran === undefined) throw new Error("Nothing ran.");
    const { runId, principal, owner, capabilities } = ran.record;
    const args = { row: "a" };
    const toolDigest = capabilities.digest;
    const call = {
      runId,
      callId: "c",
      toolName: "add_row",
      toolDigest,
      contractVersion: "1",
      args,
      principal,
      owner,
    };
    const approvals = createApprovalStore(createMemoryStore());
    const asked = await approvals.request(call);
    expect(problems("ticket", asked)).toEqual([]);
    const by = { kind: "human", id: "ann", via: "local" } as const;
    const answered = await approvals.resolve(asked.ticketId, {
      decision: "approved",
      by,
      owner,
      editedArgs: { row: "b" },
      reason: "ok",
    });
    expect(problems("ticket", answered)).toEqual([]);
  });

  it("refuse what is not as it must be, and let unknown fields stand where they may", async () => {
    const [ran] = await runs();
    if (ran === undefined) throw new Error("Nothing ran.");
    const event = await firstEvent(ran);
    expect(problems("event", { ...event, data: { ...event.data, later: 1 } })).toEqual([]);
    expect(problems("record", { ...ran.record, later: 1 })).toEqual([]);
    expect(problems("event", { ...event, later: 1 })).not.toEqual([]);
    expect(problems("event", { ...event, v: 2 })).not.toEqual([]);
    expect(problems("event", { ...event, data: { ...event.data, sealed: null } })).not.toEqual([]);
    const { endedAt: _endedAt, ...open } = ran.record;
    expect(problems("record", open)).not.toEqual([]);
  });
});

import { describe, expect, it } from "vitest";
import { evaluateAssurance } from "./assurance.ts";
import type { Json } from "./json.ts";
import { claimOutcome } from "./outcome-claim.ts";
import { ToolRegistry } from "./registry.ts";
import { type ToolResult, err, ok } from "./result.ts";
import { runLoop } from "./__fixtures__/replayed-loop.ts";
import type { Capture } from "./sealed.ts";
import { scriptedAdapter } from "./testing/scripted-adapter.ts";
import { type ReadbackOptions, verifyReadback } from "./verify-readback.ts";

const AT = "2026-01-01T00:00:00.000Z";

async function setup(found: ToolResult<Json>, options: { capture?: Capture; kind?: "read" | "write" } = {}) {
  const asked: unknown[] = [];
  const registry = new ToolRegistry();
  registry.register({
    name: "add_task",
    description: "Adds a task.",
    inputSchema: { type: "object", properties: { title: { type: "string" } }, required: ["title"] },
    contract: {
      version: "1",
      authority: { level: "session" },
      effects: { kind: "write" },
      idempotency: { mode: "none" },
      verification: {
        methods: ["state_readback"],
        coverage: ["stored"],
        readback: { tool: "get_task", argsFromResult: { id: "task.id" } },
      },
    },
    handler: ({ title }) => ok({ task: { id: 7, title }, title }),
  });
  registry.register({
    name: "get_task",
    description: "Gets a task.",
    inputSchema: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
    contract: options.kind ?? "read",
    handler: (params) => {
      asked.push(params);
      return found;
    },
  });
  const adapter = scriptedAdapter([
    { toolCalls: [{ name: "add_task", args: { title: "milk" }, callId: "c1" }] },
    { text: "added" },
  ]);
  const { record } = await runLoop({
    adapter,
    tools: registry,
    messages: [{ role: "user", content: "add milk" }],
    capture: options.capture ?? "full",
  }).result;
  const claim = claimOutcome(record, { claimId: "claim_1", claimedAt: AT, receipts: ["c1"] });
  const verify = (more: Partial<ReadbackOptions> = {}) =>
    verifyReadback(registry, claim, { callId: "c1", runs: [record], ...more });
  return { asked, claim, verify };
}

describe("verifyReadback", () => {
  it("runs the tool that the contract names and passes where the state shows what the call said", async () => {
    const { asked, claim, verify } = await setup(ok({ title: "milk", done: false }));
    const attempt = await verify();
    expect(asked).toEqual([{ id: 7 }]);
    expect(attempt).toMatchObject({
      status: "passed",
      independent: true,
      coverage: ["stored"],
      method: { kind: "state_readback", params: { callId: "c1", tool: "get_task" } },
      verifier: { id: "get_task", kind: "tool" },
    });
    const policy = { id: "p", version: "1", coverage: ["stored"], requireIndependent: true };
    const input = { bundleId: "b", decidedAt: AT, attempts: [attempt] };
    expect(evaluateAssurance(claim, policy, input).decision).toBe("satisfied");
  });

  it.each([
    ["failed", ok({ title: "bread" })],
    ["failed", err("no such task", { code: "not_found" })],
    ["errored", err("the server is down")],
    ["inconclusive", ok({ other: 1 })],
  ] as const)("is %s where the state does not show it", async (status, found) => {
    const { verify } = await setup(found);
    expect((await verify()).status).toBe(status);
  });

  it("compares by a function of the caller's own", async () => {
    const { verify } = await setup(ok({ items: ["milk"] }));
    expect((await verify({ matches: (_said, found) => JSON.stringify(found).includes("milk") })).status).toBe(
      "passed",
    );
  });

  it("refuses what cannot be read back, and says why", async () => {
    const { verify } = await setup(ok({}));
    await expect(verify({ callId: "c2" })).rejects.toThrow(/rests on no call "c2"/);
    const dark = await setup(ok({}), { capture: "digest" });
    await expect(dark.verify()).rejects.toThrow(/capture "full"/);
    const writing = await setup(ok({}), { kind: "write" });
    await expect(writing.verify()).rejects.toThrow(/kind none or read/);
    expect(writing.asked).toEqual([]);
  });
});

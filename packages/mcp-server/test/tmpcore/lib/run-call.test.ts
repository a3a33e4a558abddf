import { describe, expect, it } from "vitest";
import { createMemoryArtifactStore, createReadArtifactTool } from "./artifact.ts";
import { err, ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import { runCall } from "./run-call.ts";
import { createMemoryRunStore } from "./run-store.ts";
import { defineTool } from "./tool.ts";

const registry = new ToolRegistry();
registry.registerAll([
  defineTool({
    name: "good",
    description: "answers well",
    inputSchema: { type: "object", properties: {} },
    contract: "read",
    handler: () => ok("fine"),
  }),
  defineTool({
    name: "bad",
    description: "answers badly",
    inputSchema: { type: "object", properties: {} },
    contract: "read",
    handler: () => err("no"),
  }),
  defineTool({
    name: "slow",
    description: "writes slowly",
    inputSchema: { type: "object", properties: {} },
    contract: "write",
    handler: () => new Promise((resolve) => setTimeout(() => resolve(ok(1)), 50)),
  }),
]);

describe("runCall", () => {
  it("records a call as a run of its own, whatever came of it", async () => {
    const store = createMemoryRunStore();
    const good = await runCall(
      registry,
      { name: "good", args: {} },
      { store, actor: { name: "mcp:test" }, capture: "full" },
    );
    expect(good.result).toMatchObject({ success: true, data: "fine" });
    expect(good.record).toMatchObject({
      kind: "call",
      status: "completed",
      stopReason: "tool_result",
      actor: { name: "mcp:test" },
      toolCalls: [{ toolName: "good", outcome: "succeeded" }],
    });
    expect(await store.get(good.record.runId)).toEqual(good.record);
    const bad = await runCall(registry, { name: "bad", args: {} }, { store });
    expect(bad.record.toolCalls[0]).toMatchObject({ outcome: "failed", code: "tool_failed" });
    const none = await runCall(registry, { name: "none", args: {} }, { store });
    expect(none.record.toolCalls[0]).toMatchObject({ outcome: "not_started", code: "unknown_tool" });
    expect((await store.list({ kind: "call" })).runs).toHaveLength(3);
  });

  it("an abort ends the run as cancelled, with the late end of a write in it", async () => {
    const store = createMemoryRunStore();
    const { result, record } = await runCall(
      registry,
      { name: "slow", args: {} },
      { store, signal: AbortSignal.timeout(10) },
    );
    expect(result).toMatchObject({ outcome: "unknown", code: "cancelled" });
    expect(record).toMatchObject({
      status: "cancelled",
      stopReason: "caller_abort",
      toolCalls: [{ lateSettlement: true }],
    });
  });
});

describe("artifacts", () => {
  it("keep what is too long for a model, for its owner alone", async () => {
    const artifacts = createMemoryArtifactStore();
    const tools = new ToolRegistry({ artifacts, limits: { maxResultChars: 100 } });
    tools.registerAll([
      createReadArtifactTool(artifacts),
      defineTool({
        name: "long",
        description: "answers at length",
        inputSchema: { type: "object", properties: {} },
        contract: "read",
        handler: () => ok(`${"a".repeat(500)}😀${"b".repeat(500)}`),
      }),
    ]);
    const result = await tools.execute("long", {});
    expect(result.success && String(result.data).length).toBe(1002);
    const shown = await tools.contentForModel("long", result, { owner: "ada" });
    expect(String(shown).length).toBeLessThan(250);
    const id = /artifact_[0-9a-f]+/.exec(String(shown))?.[0] ?? "";
    const page = await tools.execute("read_artifact", { id, start: 495, length: 20 }, { owner: "ada" });
    expect(JSON.stringify(page)).toContain("aaaaa😀");
    expect(await tools.execute("read_artifact", { id }, { owner: "eve" })).toMatchObject({
      code: "artifact_not_found",
    });
  });
});

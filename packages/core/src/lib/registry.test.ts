import { describe, expect, it } from "vitest";
import { recordingLogger } from "./testing/fakes.ts";
import { ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import { type Tool, defineTool } from "./tool.ts";

function tool(
  name: string,
  changes: { tags?: string[]; description?: string; effects?: "read" | "write" } = {},
): Tool {
  return defineTool({
    name,
    description: changes.description ?? `does ${name}`,
    inputSchema: { type: "object", properties: {} },
    contract: changes.effects ?? "read",
    tags: changes.tags ?? [],
    handler: () => ok(name),
  });
}

describe("ToolRegistry", () => {
  it("core R8: a taken name is an error, kept or replaced as asked", async () => {
    const registry = new ToolRegistry();
    const first = defineTool({
      name: "echo",
      description: "first one",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: () => ok(1),
    });
    const second = defineTool({
      name: "echo",
      description: "second one",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: () => ok(2),
    });
    registry.register(first);
    expect(() => registry.register(second)).toThrow(expect.objectContaining({ code: "duplicate_tool" }));
    expect(registry.register(second, { onConflict: "keep" })).toEqual({ name: "echo", action: "kept" });
    expect(await registry.execute("echo", {})).toMatchObject({ data: 1 });
    expect(registry.register(second, { onConflict: "replace" })).toEqual({
      name: "echo",
      action: "replaced",
    });
    expect(await registry.execute("echo", {})).toMatchObject({ data: 2 });
  });

  it("core R10: lists in registration order and by exact tag", () => {
    const registry = new ToolRegistry();
    registry.registerAll([
      tool("c", { tags: ["x"] }),
      tool("a", { tags: ["xy"] }),
      tool("b", { tags: ["x"] }),
    ]);
    expect(registry.listNames()).toEqual(["c", "a", "b"]);
    expect(registry.getByTag("x").map(({ name }) => name)).toEqual(["c", "b"]);
  });

  it("core R11: a filter unites names and tags; an unknown name is an error", () => {
    const registry = new ToolRegistry();
    registry.registerAll([tool("echo"), tool("a", { tags: ["x"] }), tool("b")]);
    expect(registry.view({ names: ["echo"], tags: ["x"] }).listNames()).toEqual(["echo", "a"]);
    for (const filter of [{ names: ["ecko"] }, { exclude: ["ecko"] }]) {
      expect(() => registry.view(filter)).toThrow(
        expect.objectContaining({
          code: "unknown_tool_in_filter",
          message: expect.stringContaining("ecko"),
          hint: expect.stringContaining("echo"),
        }),
      );
    }
  });

  it("[] selects none, undefined all; exclude wins; effects narrow", () => {
    const registry = new ToolRegistry();
    registry.registerAll([tool("r1"), tool("w1", { effects: "write" })]);
    expect(registry.view({ names: [] }).size).toBe(0);
    expect(registry.view({ effects: [] }).size).toBe(0);
    expect(registry.view({}).size).toBe(2);
    expect(registry.view({ names: ["r1"], exclude: ["r1"] }).size).toBe(0);
    expect(registry.view({ effects: ["write"] }).listNames()).toEqual(["w1"]);
  });

  it("core R17: the digest ignores order and sees a changed description", () => {
    const [left, right, changed] = [new ToolRegistry(), new ToolRegistry(), new ToolRegistry()];
    left.registerAll([tool("a"), tool("b")]);
    right.registerAll([tool("b"), tool("a")]);
    changed.registerAll([tool("a"), tool("b", { description: "does other things" })]);
    expect(left.digest()).toBe(right.digest());
    expect(left.digest()).not.toBe(changed.digest());
  });

  it("registers a batch whole or not at all", () => {
    const registry = new ToolRegistry();
    registry.register(tool("b"));
    expect(() => registry.registerAll([tool("a"), tool("b")])).toThrow();
    expect(() => registry.registerAll([tool("c"), tool("c")])).toThrow();
    expect(registry.listNames()).toEqual(["b"]);
  });

  it("a view is live and refuses what is outside; a snapshot is fixed", async () => {
    const registry = new ToolRegistry();
    registry.registerAll([tool("a", { tags: ["x"] }), tool("b")]);
    const view = registry.view({ tags: ["x"] });
    const snapshot = registry.snapshot({ tags: ["x"] });
    registry.register(tool("c", { tags: ["x"] }));
    expect(view.listNames()).toEqual(["a", "c"]);
    expect(snapshot.listNames()).toEqual(["a"]);
    expect(await view.execute("b", {})).toMatchObject({ code: "unknown_tool", outcome: "not_started" });
    registry.unregister("a");
    expect((await snapshot.execute("a", {})).success).toBe(true);
    expect(await view.execute("a", {})).toMatchObject({ code: "unknown_tool" });
  });

  it("freeze refuses changes and checks what contracts refer to", () => {
    const registry = new ToolRegistry();
    registry.register(
      defineTool({
        name: "pay",
        description: "pays money",
        inputSchema: { type: "object", properties: {} },
        contract: {
          version: "1",
          authority: { level: "human" },
          effects: { kind: "write", compensateWith: "refund" },
          idempotency: { mode: "none" },
        },
        handler: () => ok(null),
      }),
    );
    expect(() => registry.freeze()).toThrow(
      expect.objectContaining({ code: "invalid_contract", path: "effects.compensateWith" }),
    );
    registry.register(tool("refund"));
    registry.freeze();
    expect(() => registry.register(tool("late"))).toThrow(
      expect.objectContaining({ code: "registry_frozen" }),
    );
    expect(() => registry.unregister("pay")).toThrow(expect.objectContaining({ code: "registry_frozen" }));
  });

  it("tells listeners, isolates those that throw, and stops when asked", () => {
    const logger = recordingLogger();
    const registry = new ToolRegistry({ logger });
    const seen: string[] = [];
    const off = registry.on("tool:registered", ({ name }) => seen.push(name));
    registry.on("tool:registered", () => {
      throw new Error("listener");
    });
    registry.register(tool("a"));
    off();
    registry.register(tool("b"));
    expect(seen).toEqual(["a"]);
    expect(logger.lines.filter((line) => line.level === "error")).toHaveLength(2);
  });

  it("security S32: names of object members are not tools", async () => {
    const registry = new ToolRegistry();
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      expect(registry.get(name)).toBeUndefined();
      expect(registry.has(name)).toBe(false);
      expect(await registry.execute(name, {})).toMatchObject({ code: "unknown_tool" });
    }
  });

  it("encodes for each provider, sorted by name", () => {
    const registry = new ToolRegistry();
    registry.registerAll([
      defineTool({
        name: "weather",
        description: "tells weather",
        inputSchema: {
          type: "object",
          properties: { city: { type: "string", default: "Oslo" } },
          additionalProperties: false,
        },
        contract: "read",
        handler: () => ok(null),
      }),
      tool("now"),
    ]);
    expect(registry.toAnthropicFormat().map(({ name }) => name)).toEqual(["now", "weather"]);
    expect(registry.toAnthropicFormat()[1]?.input_schema).toMatchObject({
      type: "object",
      properties: { city: { type: "string" } },
    });
    expect(registry.toOpenAIFormat()[0]).toMatchObject({ type: "function", function: { name: "now" } });
    const [now, weather] = registry.toGeminiFormat();
    expect(now).not.toHaveProperty("parameters");
    expect(JSON.stringify(weather?.parameters)).not.toContain("additionalProperties");
  });
});

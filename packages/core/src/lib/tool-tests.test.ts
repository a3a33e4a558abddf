import { describe, expect, it } from "vitest";
import { err, ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import type { ToolDefinition, ToolTest } from "./tool.ts";
import { runToolTests } from "./tool-tests.ts";

function registry(
  handler: () => unknown,
  expects: ToolTest["expect"],
  changes: Partial<ToolDefinition> = {},
): ToolRegistry {
  const tools = new ToolRegistry();
  tools.register({
    name: "act",
    description: "does the act",
    inputSchema: { type: "object", properties: {} },
    contract: "read",
    tests: [{ description: "holds", input: {}, expect: expects }],
    handler: handler as ToolDefinition["handler"],
    ...changes,
  });
  return tools;
}

const outcome = async (handler: () => unknown, expects: ToolTest["expect"]) =>
  (await runToolTests(registry(handler, expects))).failed === 0;

describe("runToolTests", () => {
  it("core Q1: data is expected and the result has none: the test fails", async () => {
    expect(await outcome(() => ok(undefined), { data: { a: 1 } })).toBe(false);
    expect(await outcome(() => err("no"), { data: { a: 1 } })).toBe(false);
  });

  it("core Q2: an error text is expected and the result has none: the test fails", async () => {
    expect(await outcome(() => ok(1), { error: "bad" })).toBe(false);
    expect(await outcome(() => err("too bad"), { error: "bad" })).toBe(true);
    expect(await outcome(() => err("good"), { error: "bad" })).toBe(false);
  });

  it("compares objects by subset, arrays by length unless a subset is asked, and exactly when asked", async () => {
    const data = { a: 1, list: [1, 2], deep: { x: 1, y: 2 } };
    const handler = () => ok(data);
    expect(await outcome(handler, { data: { a: 1 } })).toBe(true);
    expect(await outcome(handler, { data: { deep: { x: 1 } } })).toBe(true);
    expect(await outcome(handler, { data: { list: [1] } })).toBe(false);
    expect(await outcome(handler, { data: { list: [1] }, match: "subset" })).toBe(true);
    expect(await outcome(handler, { data: { a: 1 }, match: "exact" })).toBe(false);
    expect(await outcome(handler, { data, match: "exact" })).toBe(true);
  });

  it("counts tools without tests as skipped, and refuses a test that expects nothing", async () => {
    const { tests: _tests, ...bare } = {
      tests: undefined,
      name: "bare",
      description: "has none",
      inputSchema: { type: "object", properties: {} },
      handler: () => ok(1),
    } as const;
    const tools = registry(() => ok(1), { success: true });
    tools.register(bare);
    expect(await runToolTests(tools)).toMatchObject({ passed: 1, failed: 0, skipped: 1 });
    await expect(runToolTests(registry(() => ok(1), {}))).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("a natural tool that answers a second call differently fails; a test that hangs is stopped", async () => {
    let calls = 0;
    const flaky = registry(() => ((calls += 1) === 1 ? ok(1) : err("again?")), { success: true });
    expect((await runToolTests(flaky)).failures[0]?.problem).toContain("natural");
    const hanging = registry(() => new Promise(() => {}), { success: true });
    expect((await runToolTests(hanging, { timeoutMs: 20 })).failures[0]?.problem).toContain("cancelled");
  });
});

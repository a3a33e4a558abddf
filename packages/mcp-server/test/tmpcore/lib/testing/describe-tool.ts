/** The contract suite of a tool: what every published tool holds to. */

import assert from "node:assert/strict";
import { ToolRegistry } from "../registry.ts";
import type { AnyToolDefinition } from "../registry.ts";
import { runToolTests } from "../tool-tests.ts";
import type { SuiteRunner } from "./suite-runner.ts";

/** Runs a tool's own tests, and checks that it states a contract and that its examples fit its schema. */
export function describeTool(name: string, make: () => Promise<AnyToolDefinition> | AnyToolDefinition, { describe, it }: SuiteRunner): void {
  const load = async (): Promise<{ readonly given: AnyToolDefinition; readonly registry: ToolRegistry }> => {
    const given = await make();
    const registry = new ToolRegistry();
    registry.register(given);
    return { given, registry };
  };
  describe(`Tool contract: ${name}`, () => {
    it("states its contract", async () => {
      const { given } = await load();
      assert.notEqual(given.contract, undefined, "a published tool says what it may do");
    });
    it("has tests of its own, and they pass", async () => {
      const { registry } = await load();
      const report = await runToolTests(registry);
      assert.ok(report.passed > 0, "a published tool has at least one test");
      assert.deepEqual(report.failures, []);
    });
    it("has examples that its schema accepts", async () => {
      const { registry } = await load();
      for (const tool of registry.getAll()) {
        for (const example of tool.examples ?? []) {
          const result = await registry.execute(tool.name, example.input);
          assert.notEqual(result.code, "invalid_input", `example "${example.description}"`);
        }
      }
    });
    it("answers a call without arguments instead of throwing", async () => {
      const { registry } = await load();
      for (const tool of registry.getAll()) {
        const result = await registry.execute(tool.name, {});
        assert.equal(typeof result.outcome, "string");
      }
    });
  });
}

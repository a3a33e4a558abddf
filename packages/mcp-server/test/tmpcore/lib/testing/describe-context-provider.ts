/** The contract suite of `ContextProvider`: every implementation runs it. */

import assert from "node:assert/strict";
import { type ContextProvider, type ProviderConfig, connectProvider } from "../context-provider.ts";
import { checkProviderHealth, contextBlocks } from "../context-prompt.ts";
import { OpenFunctionsError } from "../errors.ts";
import { ToolRegistry } from "../registry.ts";
import type { SuiteRunner } from "./suite-runner.ts";

/** What the suite needs of a provider that can connect here. */
export interface ProviderFixture {
  readonly provider: ContextProvider;
  readonly config?: ProviderConfig;
  /** A credential that must not show up in anything the provider says. */
  readonly secret?: string;
}

/** Runs the contract of `ContextProvider` against what `make` gives, one per test. */
export function describeContextProvider(name: string, make: () => Promise<ProviderFixture>, { describe, it }: SuiteRunner): void {
  describe(`ContextProvider contract: ${name}`, () => {
    it("registers its tools with tags, and removes exactly them", async () => {
      const { provider, config } = await make();
      const registry = new ToolRegistry();
      registry.register({ name: "own_tool", description: "stays here", inputSchema: { type: "object", properties: {} }, handler: () => ({ success: true, data: null }) });
      const connection = await connectProvider(provider, registry, config === undefined ? {} : { config });
      assert.equal(registry.size, connection.registered.length + 1);
      for (const toolName of connection.registered) {
        const tags = registry.get(toolName)?.tags ?? [];
        assert.ok(tags.includes("context") && tags.includes(`context:${connection.id}`), toolName);
      }
      await connection.dispose();
      await connection.dispose();
      assert.deepEqual(registry.listNames(), ["own_tool"]);
    });
    it("gives every tool a contract", async () => {
      const { provider, config } = await make();
      const connected = await provider.connect(config);
      for (const tool of connected.createTools()) assert.notEqual(tool.contract, undefined, tool.name);
      await connected.disconnect?.();
    });
    it("refuses the same id twice on one registry", async () => {
      const { provider, config } = await make();
      const registry = new ToolRegistry();
      const options = config === undefined ? {} : { config };
      const connection = await connectProvider(provider, registry, options);
      await assert.rejects(connectProvider(provider, registry, options), (error) => OpenFunctionsError.is(error) && error.code === "invalid_config");
      await connection.dispose();
    });
    it("answers for its context and health, without its credential", async () => {
      const { provider, config, secret } = await make();
      const connection = await connectProvider(provider, new ToolRegistry(), config === undefined ? {} : { config });
      const built = await contextBlocks(connection);
      const health = await checkProviderHealth(connection);
      assert.equal(health.length, 1);
      if (secret !== undefined) assert.ok(!JSON.stringify({ built, health }).includes(secret));
      await connection.dispose();
    });
  });
}

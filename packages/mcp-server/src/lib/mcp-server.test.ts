/** A connection's life: handshake, progress, cancellation, end. */
import { setTimeout as sleep } from "node:timers/promises";

import { ToolRegistry, defineTool, ok } from "@openfunctions/core";
import { describe, expect, it } from "vitest";

import { connectInMemory } from "../../test/support/clients.ts";
import { fixtureTools } from "../../test/support/fixture-tools.ts";
import { createMcpServer } from "./mcp-server.ts";
import type { McpServerOptions } from "./options.ts";

const ERAS = ["older", "modern"] as const;

describe("a handshake", () => {
  it.each(ERAS)("names the server, its instructions and what it offers (%s)", async (era) => {
    const options = { name: "shop", version: "3.1.4", instructions: "Ask before you buy." };
    const client = await connectInMemory(createMcpServer(fixtureTools().registry, options), era);
    expect(client.getInstructions()).toBe("Ask before you buy.");
    expect(client.getServerVersion()).toEqual({ name: "shop", version: "3.1.4" });
    expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } });
  });

  it.each(ERAS)(
    "has empty lists of prompts and resources, and no method for them beyond that (%s)",
    async (era) => {
      const client = await connectInMemory(createMcpServer(fixtureTools().registry), era);
      expect(await client.listPrompts()).toMatchObject({ prompts: [] });
      expect(await client.listResources()).toMatchObject({ resources: [] });
      expect(await client.listResourceTemplates()).toMatchObject({ resourceTemplates: [] });
      await expect(client.readResource({ uri: "test://x" })).rejects.toMatchObject({ code: -32601 });
    },
  );
});

describe("progress", () => {
  it.each(ERAS)(
    "goes forward, at most ten times a second, with the last one, before the result (%s)",
    async (era) => {
      const client = await connectInMemory(createMcpServer(fixtureTools().registry), era);
      const steps: {
        readonly progress: number;
        readonly at: number;
        readonly message?: string | undefined;
      }[] = [];
      const onprogress = ({ progress, message }: { progress: number; message?: string | undefined }): void =>
        void steps.push({ progress, message, at: performance.now() });
      const started = performance.now();
      await client.callTool({ name: "count", arguments: { to: 150 } }, { onprogress });
      const seconds = (performance.now() - started) / 1_000;
      const heard = steps.length;
      const values = steps.map(({ progress }) => progress);
      expect(values).toEqual(values.toSorted((one, two) => one - two));
      expect(new Set(values).size).toBe(values.length);
      expect(steps.at(-1)).toMatchObject({ progress: 150, message: "step 150" });
      expect(heard).toBeGreaterThan(2);
      expect(heard).toBeLessThanOrEqual(Math.ceil(seconds * 10) + 2); // the first and the last are free
      await sleep(150);
      expect(steps).toHaveLength(heard);
    },
  );

  it("is not sent where nobody asked for it, nor where a handler reports something else", async () => {
    const registry = new ToolRegistry();
    registry.register(
      defineTool({
        name: "odd",
        description: "Reports odd things.",
        inputSchema: { type: "object", properties: {} },
        contract: "read",
        handler: (_params, { progress }) => {
          for (const update of ["half", 1, null, { step: 1 }, { progress: "2" }, [3]]) progress(update);
          return ok(1);
        },
      }),
    );
    const client = await connectInMemory(createMcpServer(registry));
    const seen: unknown[] = [];
    client.fallbackNotificationHandler = async (notification) => void seen.push(notification);
    await client.callTool({ name: "odd" });
    await client.callTool({ name: "odd" }, { onprogress: (update) => void seen.push(update) });
    expect(seen).toEqual([]);
  });
});

describe("cancellation", () => {
  it.each(ERAS)("aborts the handler's signal, and nothing is answered (%s)", async (era) => {
    const { registry, waits } = fixtureTools();
    const client = await connectInMemory(createMcpServer(registry), era);
    const answers: unknown[] = [];
    const { transport } = client;
    const deliver = transport?.onmessage;
    if (transport !== undefined) {
      transport.onmessage = (message, extra) => {
        if ("id" in message) answers.push(message.id);
        deliver?.(message, extra);
      };
    }
    const stop = new AbortController();
    const call = client.callTool({ name: "wait" }, { signal: stop.signal });
    await expect.poll(() => waits.running).toBe(1);
    stop.abort(new Error("changed my mind"));
    await expect(call).rejects.toThrow(/changed my mind/);
    await expect.poll(() => waits).toEqual({ running: 0, aborted: 1 });
    await sleep(20);
    expect(answers).toEqual([]);
    expect(await client.callTool({ name: "echo", arguments: { text: "on" } })).toMatchObject({
      content: [{ text: "on" }],
    });
  });

  it("of an unknown or finished request is ignored", async () => {
    const { registry } = fixtureTools();
    const client = await connectInMemory(createMcpServer(registry));
    await client.callTool({ name: "nothing" });
    for (const requestId of [0, 1, 2, "nobody", 10 ** 9])
      await client.notification({ method: "notifications/cancelled", params: { requestId } });
    expect(await client.callTool({ name: "echo", arguments: { text: "on" } })).toMatchObject({
      content: [{ text: "on" }],
    });
  });

  it("reaches a call that still waits for its turn: it never starts", async () => {
    const { registry, waits } = fixtureTools();
    const client = await connectInMemory(createMcpServer(registry, { http: { maxConcurrent: 1 } }));
    const first = client.callTool({ name: "wait", arguments: { ms: 80 } });
    await expect.poll(() => waits.running).toBe(1);
    const stop = new AbortController();
    const second = client.callTool({ name: "wait" }, { signal: stop.signal });
    stop.abort(new Error("no more"));
    await expect(second).rejects.toThrow(/no more/);
    expect(await first).toMatchObject({ content: [{ text: "waited" }] });
    expect(waits).toEqual({ running: 0, aborted: 0 });
  });
});

describe("the end", () => {
  it.each(ERAS)("of a connection aborts its calls and leaves the others alone (%s)", async (era) => {
    const { registry, waits } = fixtureTools();
    const server = createMcpServer(registry);
    const [leaving, staying] = [await connectInMemory(server, era), await connectInMemory(server, era)];
    const calls = [leaving, staying].map((client) =>
      client.callTool({ name: "wait", arguments: { ms: 100 } }).catch(() => "gone"),
    );
    await expect.poll(() => waits.running).toBe(2);
    await leaving.close();
    await expect.poll(() => waits).toEqual({ running: 1, aborted: 1 });
    expect(await calls[1]).toMatchObject({ content: [{ text: "waited" }] });
  });

  it("of the server lets calls run as long as it is told, then aborts them", async () => {
    const { registry, waits } = fixtureTools();
    const server = createMcpServer(registry);
    const client = await connectInMemory(server);
    const quick = client.callTool({ name: "wait", arguments: { ms: 60 } });
    const slow = client.callTool({ name: "wait" }).catch(() => "gone");
    await expect.poll(() => waits.running).toBe(2);
    await server.close(200);
    expect(await quick).toMatchObject({ content: [{ text: "waited" }] });
    expect(await slow).toBe("gone");
    expect(waits).toEqual({ running: 0, aborted: 1 });
    const started = performance.now();
    await server.close(5_000); // nothing runs any more
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe("options", () => {
  it.each([
    [{ pageSize: 0 }, "pageSize"],
    [{ pageSize: 1.5 }, "pageSize"],
    [{ http: { maxBodyBytes: -1 } }, "maxBodyBytes"],
    [{ http: { requestTimeoutMs: Number.NaN } }, "requestTimeoutMs"],
    [{ http: { maxConcurrent: 0 } }, "maxConcurrent"],
    [{ http: { path: "mcp" } }, "http.path"],
    [{ http: { token: "" } }, "http.token"],
  ] satisfies (readonly [McpServerOptions, string])[])("%j is refused by name", (options, name) => {
    expect(() => createMcpServer(new ToolRegistry(), options)).toThrow(
      expect.objectContaining({ code: "invalid_config", message: expect.stringContaining(name) }),
    );
  });
});

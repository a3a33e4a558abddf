/** Listing: entries, order, pages, annotations, and what changes in a registry do to it. */
import { setTimeout as sleep } from "node:timers/promises";

import type { Client } from "@modelcontextprotocol/client";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { ToolRegistry, defineTool, ok } from "@openfunctions/core";
import { describe, expect, it } from "vitest";

import { connectInMemory } from "../../test/support/clients.ts";
import { fixtureTools } from "../../test/support/fixture-tools.ts";
import { createMcpServer } from "./mcp-server.ts";

const ERAS = ["older", "modern"] as const;
const NO_PARAMS = { type: "object", properties: {} } as const;

function toolNamed(name: string): ReturnType<typeof defineTool> {
  return defineTool({
    name,
    description: "Does a thing.",
    inputSchema: NO_PARAMS,
    contract: "read",
    handler: () => ok(name),
  });
}

async function rawList(client: Client, params: object = {}): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown>[] = [];
  const { transport } = client;
  const deliver = transport?.onmessage;
  if (transport === undefined || deliver === undefined) throw new Error("not connected");
  transport.onmessage = (message, extra) => {
    if ("result" in message) seen.push(message.result);
    deliver(message, extra);
  };
  await client
    .request({ method: "tools/list", params } as never)
    .finally(() => (transport.onmessage = deliver));
  return seen[0] ?? {};
}

describe("an entry", () => {
  it("has title, guidance, closed empty schema, contract and annotations", async () => {
    const registry = new ToolRegistry();
    registry.register(
      defineTool({
        name: "drop_table",
        description: "Removes a table.",
        inputSchema: NO_PARAMS,
        contract: {
          version: "2",
          authority: { level: "human" },
          effects: { kind: "destructive", openWorld: false },
          idempotency: { mode: "keyed" },
          guidance: { useWhen: ["the table is empty"], avoidWhen: ["anybody uses it"] },
        },
        handler: () => ok(null),
      }),
    );
    const client = await connectInMemory(createMcpServer(registry));
    const { tools } = await client.listTools();
    expect(tools[0]).toMatchObject({
      name: "drop_table",
      title: "Drop table",
      description: "Removes a table.\nUse when: the table is empty\nAvoid when: anybody uses it",
      inputSchema: { type: "object", properties: {}, additionalProperties: false },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      _meta: { "openfunctions/contract": registry.get("drop_table")?.contract },
    });
  });

  it("mcp M10: a read contract is read-only, no contract is the pessimistic set", async () => {
    const registry = new ToolRegistry();
    const base = { description: "Does a thing.", inputSchema: NO_PARAMS, handler: () => ok(1) } as const;
    registry.register(defineTool({ ...base, name: "reads", contract: "read" }));
    registry.register(defineTool({ ...base, name: "unknown" }));
    const { tools } = await (await connectInMemory(createMcpServer(registry))).listTools();
    expect(tools.map(({ annotations }) => annotations)).toEqual([
      { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
      { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    ]);
  });

  it("is not called idempotent where the client chooses the key, nor destructive where it can be undone", async () => {
    const registry = new ToolRegistry();
    registry.register(
      defineTool({
        name: "pay",
        description: "Pays a bill.",
        inputSchema: { type: "object", properties: { key: { type: "string" } } },
        contract: {
          version: "1",
          authority: { level: "session" },
          effects: { kind: "write", undo: "reversible" },
          idempotency: { mode: "keyed", keyParam: "key" },
        },
        handler: () => ok(1),
      }),
    );
    const { tools } = await (await connectInMemory(createMcpServer(registry))).listTools();
    expect(tools[0]?.annotations).toMatchObject({ destructiveHint: false, idempotentHint: false });
  });

  it.each(ERAS)("wraps data that is no object, with references that still resolve (%s)", async (era) => {
    const client = await connectInMemory(createMcpServer(fixtureTools().registry), era);
    const { tools } = await client.listTools();
    const schema = tools.find(({ name }) => name === "list_trees")?.outputSchema;
    // The client itself validates `structuredContent` against the schema it listed.
    const { structuredContent } = await client.callTool({ name: "list_trees" });
    expect(structuredContent).toEqual({ result: [{ name: "oak", below: [{ name: "ivy" }] }] });
    const ajv = new AjvJsonSchemaValidator();
    // Twice: a client that lists again compiles an equal schema again.
    for (const copy of [schema, structuredClone(schema)]) {
      const validate = ajv.getValidator(copy as object); // Proof: the client listed it
      expect(validate(structuredContent).valid).toBe(true);
      expect(validate({ result: [{ name: "oak", below: [{ nom: "lierre" }] }] }).valid).toBe(false);
    }
  });
});

describe("a list", () => {
  it("is sorted by name and has equal bytes for equal registries", async () => {
    const names = ["zeta", "alpha", "alpha_2", "beta"];
    const texts = [names, [...names].reverse()].map(async (order) => {
      const registry = new ToolRegistry();
      registry.registerAll(order.map(toolNamed));
      return JSON.stringify(await rawList(await connectInMemory(createMcpServer(registry), "modern")));
    });
    const [one, two] = await Promise.all(texts);
    expect(one).toBe(two);
    expect(JSON.parse(one ?? "").tools.map((tool: { name: string }) => tool.name)).toEqual(names.toSorted());
  });

  it("carries cache hints in the modern era only", async () => {
    const server = createMcpServer(fixtureTools().registry);
    expect(await rawList(await connectInMemory(server, "modern"))).toMatchObject({
      ttlMs: 60_000,
      cacheScope: "private",
    });
    expect(await rawList(await connectInMemory(server))).not.toHaveProperty("ttlMs");
  });

  it("holds the very same entries until the tools change", async () => {
    const { registry } = fixtureTools();
    const server = createMcpServer(registry);
    const { ToolList } = await import("./tool-list.ts");
    const list = new ToolList(registry, 200);
    const first = list.page(undefined).tools;
    expect(list.page(undefined).tools[0]).toBe(first[0]);
    registry.register(toolNamed("another"));
    expect(list.page(undefined).tools).toHaveLength(first.length + 1);
    await server.close();
  });

  it("shows what `expose` names, and nothing for an empty list", async () => {
    const { registry } = fixtureTools();
    const some = await connectInMemory(createMcpServer(registry, { expose: { names: ["echo", "add"] } }));
    expect((await some.listTools()).tools.map(({ name }) => name)).toEqual(["add", "echo"]);
    const none = await connectInMemory(createMcpServer(registry, { expose: { names: [] } }));
    expect((await none.listTools()).tools).toEqual([]);
    expect(() => createMcpServer(registry, { expose: { exclude: ["ecko"] } })).toThrow(
      expect.objectContaining({ code: "unknown_tool_in_filter", hint: expect.stringContaining("echo") }),
    );
  });
});

describe("pages", () => {
  function hundredAndOne(): ToolRegistry {
    const registry = new ToolRegistry();
    registry.registerAll(Array.from({ length: 101 }, (_, index) => toolNamed(`tool_${index}`)));
    return registry;
  }

  it.each(ERAS)("field C5: 101 tools, 50 a page, all of them arrive once (%s)", async (era) => {
    const client = await connectInMemory(createMcpServer(hundredAndOne(), { pageSize: 50 }), era);
    const { tools } = await client.listTools();
    expect(new Set(tools.map(({ name }) => name)).size).toBe(101);
    expect(tools).toHaveLength(101);
  });

  it("have a cursor that is good for one state of the tools", async () => {
    const registry = hundredAndOne();
    const client = await connectInMemory(createMcpServer(registry, { pageSize: 50 }));
    const { nextCursor, tools } = await rawList(client);
    expect(tools).toHaveLength(50);
    registry.register(toolNamed("late"));
    await expect(rawList(client, { cursor: nextCursor })).rejects.toMatchObject({ code: -32602 });
  });

  it.each([
    "",
    "garbage",
    Buffer.from("-5 x").toString("base64url"),
    Buffer.from("50").toString("base64url"),
  ])("refuse the cursor %j", async (cursor) => {
    const client = await connectInMemory(createMcpServer(hundredAndOne(), { pageSize: 50 }));
    await expect(rawList(client, { cursor })).rejects.toMatchObject({ code: -32602 });
  });
});

describe("a change", () => {
  it("mcp M1: a tool registered after the list is in the next one, and an older client was notified", async () => {
    const { registry } = fixtureTools();
    const client = await connectInMemory(createMcpServer(registry));
    const heard: string[] = [];
    client.setNotificationHandler("notifications/tools/list_changed", () => void heard.push("changed"));
    const before = (await client.listTools()).tools.length;
    for (const name of ["one_more", "two_more", "three_more"]) registry.register(toolNamed(name));
    registry.unregister("two_more");
    await expect.poll(() => heard).toEqual(["changed"]);
    await sleep(120);
    expect(heard).toEqual(["changed"]); // four changes in one turn are one notice
    expect((await client.listTools()).tools).toHaveLength(before + 2);
  });

  it("mcp M1: a modern client hears of it on its subscription, one without a subscription does not", async () => {
    const { registry } = fixtureTools();
    const server = createMcpServer(registry);
    const [listening, quiet] = [
      await connectInMemory(server, "modern"),
      await connectInMemory(server, "modern"),
    ];
    const heard: string[] = [];
    listening.setNotificationHandler("notifications/tools/list_changed", () => void heard.push("listening"));
    quiet.setNotificationHandler("notifications/tools/list_changed", () => void heard.push("quiet"));
    await listening.listen({ toolsListChanged: true });
    registry.register(toolNamed("late"));
    await expect.poll(() => heard).toEqual(["listening"]);
    expect(await rawList(quiet)).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ name: "late" })]),
    });
  });

  it("is not announced to a client that is gone, nor after the server was closed", async () => {
    const { registry } = fixtureTools();
    const warnings: string[] = [];
    const quiet = {
      debug() {},
      info() {},
      error() {},
      warn: (message: string) => void warnings.push(message),
    };
    const server = createMcpServer(registry, { logger: quiet });
    const client = await connectInMemory(server);
    await client.close();
    registry.register(toolNamed("late"));
    await sleep(80);
    await server.close();
    registry.register(toolNamed("later"));
    await sleep(80);
    expect(warnings).toEqual([]);
  });
});

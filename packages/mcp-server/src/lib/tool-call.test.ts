/** Calling: params, results, principals, records, limits. */
import { setTimeout as sleep } from "node:timers/promises";

import type { Client } from "@modelcontextprotocol/client";
import { type Principal, ToolRegistry, createMemoryRunStore, defineTool, err, ok } from "@openfunctions/core";
import { describe, expect, it } from "vitest";

import { connectInMemory } from "../../test/support/clients.ts";
import { fixtureTools } from "../../test/support/fixture-tools.ts";
import { createMcpServer } from "./mcp-server.ts";
import type { McpServerOptions } from "./options.ts";

const ERAS = ["older", "modern"] as const;
const NO_PARAMS = { type: "object", properties: {} } as const;

async function connected(
  options: McpServerOptions = {},
  era: "older" | "modern" = "older",
): Promise<ReturnType<typeof fixtureTools> & { readonly client: Client }> {
  const fixture = fixtureTools();
  return { ...fixture, client: await connectInMemory(createMcpServer(fixture.registry, options), era) };
}

/** Sends params as they are, past the client's own checks. */
function rawCall(client: Client, params: unknown): Promise<unknown> {
  return client.request({ method: "tools/call", params } as never);
}

describe("params", () => {
  it("mcp Z25: absent, null and {} arguments are the same, and the listed schema is closed and empty", async () => {
    const { client, seen } = await connected();
    for (const given of [{}, { arguments: null }, { arguments: {} }])
      await rawCall(client, { name: "no_params", ...given });
    expect(seen).toEqual([{}, {}, {}]);
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === "no_params")?.inputSchema).toEqual({
      type: "object",
      properties: {},
      additionalProperties: false,
    });
  });

  it.each(ERAS)("mcp M7: an unknown or unexposed tool is invalid params that name it (%s)", async (era) => {
    const { client } = await connected({ expose: { names: ["echo"] } }, era);
    await expect(client.callTool({ name: "ecko" })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("ecko"),
    });
    await expect(client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("add"),
    });
  });

  it.each([[[1]], ["text"], [5], [true]])(
    "%j as arguments is invalid params that name the tool",
    async (args) => {
      const { client } = await connected();
      await expect(rawCall(client, { name: "echo", arguments: args })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining("echo"),
      });
    },
  );

  it.each([undefined, null, 5, {}, ["echo"]])("the name %j is invalid params", async (name) => {
    const { client } = await connected();
    await expect(rawCall(client, { name, arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  it("security S32: names of built-ins and keys that pollute are only names and keys", async () => {
    const { client } = await connected();
    for (const name of ["constructor", "toString", "hasOwnProperty", "__proto__"]) {
      await expect(client.callTool({ name, arguments: {} })).rejects.toMatchObject({ code: -32602 });
    }
    const args: unknown = JSON.parse(
      '{"text":"x","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
    );
    await expect(rawCall(client, { name: "echo", arguments: args })).resolves.toMatchObject({
      content: [{ text: "x" }],
    });
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("arguments that do not fit are a result the model can read, after one lossless repair was tried", async () => {
    const { client } = await connected();
    const result = await client.callTool({ name: "add", arguments: { a: "two", b: 2 } });
    expect(result).toMatchObject({
      isError: true,
      content: [{ type: "text", text: expect.stringMatching(/invalid_input.*\n?.*a/) }],
    });
    expect(result._meta).toMatchObject({
      "openfunctions/outcome": { outcome: "not_started", code: "invalid_input" },
    });
    expect(await client.callTool({ name: "add", arguments: { a: "1", b: 2 } })).toMatchObject({
      structuredContent: { sum: 3 },
    });
  });
});

describe("a success", () => {
  it("mcp M2: a string is one text block with exactly that string", async () => {
    const { client } = await connected();
    const text = ' {"not":"parsed"}\n\u2028 北 ';
    expect((await client.callTool({ name: "echo", arguments: { text } })).content).toEqual([
      { type: "text", text },
    ]);
    expect((await client.callTool({ name: "echo", arguments: { text: "" } })).content).toEqual([
      { type: "text", text: "" },
    ]);
  });

  it("mcp M4: a message without data is the one block, and no block is without text", async () => {
    const { client } = await connected();
    expect((await client.callTool({ name: "note" })).content).toEqual([{ type: "text", text: "m" }]);
    expect((await client.callTool({ name: "nothing" })).content).toEqual([{ type: "text", text: "null" }]);
  });

  it("data is JSON with two-space indent, a message a second block", async () => {
    const { client } = await connected();
    const { content, structuredContent } = await client.callTool({ name: "pair" });
    expect(content).toEqual([
      { type: "text", text: '{\n  "a": 1\n}' },
      { type: "text", text: "done" },
    ]);
    expect(structuredContent).toBeUndefined();
  });

  it("field C8: data with a schema is structured content, and the text holds it too", async () => {
    const { client } = await connected();
    const result = await client.callTool({ name: "add", arguments: { a: 1, b: 2 } });
    expect(result.structuredContent).toEqual({ sum: 3 });
    expect(result.content).toEqual([{ type: "text", text: '{\n  "sum": 3\n}' }]);
  });

  it("parts become their content types", async () => {
    const registry = new ToolRegistry();
    const data = Buffer.from("hällo").toString("base64");
    registry.register(
      defineTool({
        name: "show",
        description: "Shows all kinds of parts.",
        inputSchema: NO_PARAMS,
        contract: "read",
        handler: () => ok(1),
        toModel: () => [
          { type: "text", text: "t" },
          { type: "image", mediaType: "image/png", data: "aaaa" },
          { type: "file", mediaType: "audio/wav", data: "bbbb" },
          { type: "file", mediaType: "text/plain", name: "a b.txt", data },
          { type: "file", mediaType: "application/ld+json", url: "test://x", data },
          { type: "file", mediaType: "application/zip", name: "z.zip", data: "cccc" },
          { type: "image", mediaType: "image/png", url: "https://pictures.example/1.png" },
        ],
      }),
    );
    const client = await connectInMemory(createMcpServer(registry));
    expect((await client.callTool({ name: "show" })).content).toEqual([
      { type: "text", text: "t" },
      { type: "image", mimeType: "image/png", data: "aaaa" },
      { type: "audio", mimeType: "audio/wav", data: "bbbb" },
      {
        type: "resource",
        resource: { uri: "openfunctions:a%20b.txt", mimeType: "text/plain", text: "hällo" },
      },
      { type: "resource", resource: { uri: "test://x", mimeType: "application/ld+json", text: "hällo" } },
      {
        type: "resource",
        resource: { uri: "openfunctions:z.zip", mimeType: "application/zip", blob: "cccc" },
      },
      { type: "resource_link", uri: "https://pictures.example/1.png", name: "image", mimeType: "image/png" },
    ]);
  });
});

describe("a failure", () => {
  it("mcp M5: err gives isError with its text, code and outcome", async () => {
    const { client } = await connected();
    const result = await client.callTool({ name: "fail" });
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("bad") }] });
    expect(result._meta).toMatchObject({
      "openfunctions/outcome": { outcome: "failed", code: "tool_failed" },
    });
  });

  it.each(ERAS)(
    "field C7: a tool with an output schema that fails keeps its error, unvalidated (%s)",
    async (era) => {
      const { client } = await connected({}, era);
      await client.listTools(); // the client now knows the schema and would check structured content
      const result = await client.callTool({ name: "fail_typed" });
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/disk_full.*the disk is full/) }],
      });
      expect(result).not.toHaveProperty("structuredContent");
      expect(result._meta).toMatchObject({
        "openfunctions/outcome": { outcome: "failed", code: "disk_full" },
      });
    },
  );

  it("of unknown outcome says that the effect may have happened and must not be repeated", async () => {
    const { client } = await connected();
    const result = await client.callTool({ name: "crash" });
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/may have happened.*not repeat/i) }],
    });
    expect(result._meta).toMatchObject({ "openfunctions/outcome": { outcome: "unknown" } });
    expect(JSON.stringify(result)).not.toMatch(/\.ts:|node_modules| at /);
  });

  it("outside every handler is an internal error without words of ours", async () => {
    const errors: unknown[] = [];
    const logger = {
      debug() {},
      info() {},
      warn() {},
      error: (_: string, fields: unknown) => void errors.push(fields),
    };
    const { client } = await connected({
      logger,
      principal: () => {
        throw new Error("secret path /home/me");
      },
    });
    const failure = await client
      .callTool({ name: "fail" })
      .catch((cause: Error & { code?: number }) => cause);
    expect(failure).toMatchObject({ code: -32603 });
    expect(JSON.stringify([failure, failure instanceof Error && failure.message])).not.toContain("secret");
    expect(errors).toEqual([{ cause: "Error: secret path /home/me" }]);
  });

  it("that needs something of the client's has the modern era's own error, and is a result in the older one", async () => {
    const registry = new ToolRegistry();
    const details = { requiredCapabilities: { sampling: {} } };
    registry.register(
      defineTool({
        name: "needs",
        description: "Needs sampling.",
        inputSchema: NO_PARAMS,
        contract: "read",
        handler: () => err("no sampling", { code: "missing_client_capability", details }),
      }),
    );
    const server = createMcpServer(registry);
    const modern = await connectInMemory(server, "modern");
    await expect(modern.callTool({ name: "needs" })).rejects.toMatchObject({ code: -32021, data: details });
    expect(await (await connectInMemory(server)).callTool({ name: "needs" })).toMatchObject({
      isError: true,
    });
  });
});

describe("who calls", () => {
  function withWho(): {
    readonly registry: ToolRegistry;
    readonly who: Principal[];
    readonly keys: unknown[];
    readonly owners: string[];
  } {
    const registry = new ToolRegistry();
    const [who, keys, owners]: [Principal[], unknown[], string[]] = [[], [], []];
    registry.register(
      defineTool({
        name: "who",
        description: "Remembers who asked.",
        inputSchema: NO_PARAMS,
        contract: {
          version: "1",
          authority: { level: "grant", scopes: ["who:ask"] },
          effects: { kind: "read" },
          idempotency: { mode: "natural" },
        },
        handler: (_params, { principal, idempotencyKey, owner }) => {
          who.push(principal);
          keys.push(idempotencyKey);
          owners.push(owner);
          return ok("you");
        },
      }),
    );
    return { registry, who, keys, owners };
  }
  const owner: Principal = { kind: "human", id: "owner", via: "local" };

  it.each(ERAS)(
    "is the client by name, remote and local on a channel, with the grants it was given (%s)",
    async (era) => {
      const { registry, who, owners } = withWho();
      const bare = await connectInMemory(createMcpServer(registry), era);
      const refused = await bare.callTool({ name: "who" });
      expect(refused._meta).toMatchObject({
        "openfunctions/outcome": { outcome: "not_started", code: "approval_required" },
      });
      const grants = ({
        id,
      }: Principal): readonly { ref: string; scopes: string[]; grantedBy: Principal }[] =>
        id === "test-client" ? [{ ref: "g1", scopes: ["who:ask"], grantedBy: owner }] : [];
      const client = await connectInMemory(createMcpServer(registry, { grants }), era);
      expect(await client.callTool({ name: "who" })).toMatchObject({ content: [{ text: "you" }] });
      expect(who).toEqual([{ kind: "remote", id: "test-client", via: "local" }]);
      expect(owners).toEqual(["local"]);
    },
  );

  it("may be decided by the app, and a client's own key is the caller's key", async () => {
    const { registry, who, keys } = withWho();
    const client = await connectInMemory(
      createMcpServer(registry, {
        principal: ({ transport, client: name }) => ({
          kind: "program",
          id: `${transport}/${name}`,
          via: "local",
        }),
        grants: () => [{ ref: "g1", scopes: ["who:ask"], grantedBy: owner }],
      }),
    );
    await rawCall(client, { name: "who", _meta: { "openfunctions/idempotencyKey": "k-1" } });
    expect(who).toEqual([{ kind: "program", id: "stdio/test-client", via: "local" }]);
    expect(keys).toEqual(["k-1"]);
  });
});

describe("a record", () => {
  it.each(ERAS)(
    "of each call is a run of kind call, with actor, principal and parent trace (%s)",
    async (era) => {
      const runStore = createMemoryRunStore();
      const { client } = await connected({ runStore }, era);
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      await rawCall(client, { name: "echo", arguments: { text: "hi" }, _meta: { traceparent } });
      await client.callTool({ name: "fail" });
      const { runs } = await runStore.list({ limit: 10 });
      expect(runs).toHaveLength(2);
      const record = runs.find(({ toolCalls }) => toolCalls[0]?.toolName === "echo");
      expect(record).toMatchObject({
        kind: "call",
        status: "completed",
        actor: { name: "mcp:test-client" },
        principal: { kind: "remote", id: "test-client" },
        traceContext: { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" },
        toolCalls: [{ outcome: "succeeded", argsOrigin: "model" }],
      });
    },
  );

  it("security S14: a client's name cannot break a line of a log or a record", async () => {
    const runStore = createMemoryRunStore();
    const { registry } = fixtureTools();
    const { Client: SdkClient, InMemoryTransport } = await import("@modelcontextprotocol/client");
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    createMcpServer(registry, { runStore }).connect(ours);
    const client = new SdkClient({ name: `evil\r\n\u001b[2J\u2028\u0000${"x".repeat(200)}`, version: "1" });
    await client.connect(theirs);
    await client.callTool({ name: "fail" });
    const { runs } = await runStore.list({ limit: 1 });
    expect(runs[0]?.actor.name).toBe(`mcp:evil[2J${"x".repeat(57)}`);
  });
});

describe("limits", () => {
  function counting(): {
    readonly registry: ToolRegistry;
    readonly state: { now: number; most: number };
    release(): void;
  } {
    const registry = new ToolRegistry();
    const state = { now: 0, most: 0 };
    const gate = Promise.withResolvers<void>();
    registry.register(
      defineTool({
        name: "hold",
        description: "Holds until it is let go.",
        inputSchema: NO_PARAMS,
        contract: "read",
        handler: async () => {
          state.now += 1;
          state.most = Math.max(state.most, state.now);
          await gate.promise;
          state.now -= 1;
          return ok("held");
        },
      }),
    );
    return { registry, state, release: () => gate.resolve() };
  }

  it.each([
    ["without a run store", {}],
    ["with one", { runStore: createMemoryRunStore() }],
  ])(
    "16 calls of a connection run side by side, the others wait, the 273rd is refused as retryable (%s)",
    async (_, options) => {
      const { registry, state, release } = counting();
      const client = await connectInMemory(createMcpServer(registry, options));
      const calls = Array.from({ length: 300 }, () =>
        client.callTool({ name: "hold" }).catch((cause: unknown) => cause),
      );
      await expect.poll(() => state.now).toBe(16);
      await sleep(20);
      release();
      const results = await Promise.all(calls);
      expect(state.most).toBe(16);
      const refused = results.filter((result) => result instanceof Error);
      expect(refused).toHaveLength(300 - 16 - 256);
      expect(refused[0]).toMatchObject({ code: -32603, data: { retryable: true } });
    },
  );

  it("are each connection's own, and `maxConcurrent` sets them", async () => {
    const { registry, state, release } = counting();
    const server = createMcpServer(registry, { http: { maxConcurrent: 2 } });
    const clients = [await connectInMemory(server), await connectInMemory(server)];
    const calls = clients.flatMap((client) =>
      Array.from({ length: 5 }, () => client.callTool({ name: "hold" })),
    );
    await expect.poll(() => state.now).toBe(4);
    await sleep(20);
    expect(state.most).toBe(4);
    release();
    await Promise.all(calls);
  });

  it("hold for tools that are not parallel-safe: their calls follow one another", async () => {
    const registry = new ToolRegistry();
    let now = 0;
    let most = 0;
    registry.register(
      defineTool({
        name: "write",
        description: "Writes, one at a time.",
        inputSchema: NO_PARAMS,
        handler: async () => {
          now += 1;
          most = Math.max(most, now);
          await sleep(1);
          now -= 1;
          return ok("written");
        },
      }),
    );
    const client = await connectInMemory(createMcpServer(registry, { runStore: createMemoryRunStore() }));
    await Promise.all(Array.from({ length: 8 }, () => client.callTool({ name: "write" })));
    expect(most).toBe(1);
  });
});

/** The HTTP endpoint from outside: who is let in, what is refused, what ends. */
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { type Socket, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { type Principal, ToolRegistry, createMemoryRunStore, defineTool, ok } from "@openfunctions/core";
import { afterEach, describe, expect, it, vi } from "vitest";

import { type McpServerOptions, type RunningServer, createMcpServer, startServer } from "../src/index.ts";
import { MODERN, newClient } from "./support/clients.ts";
import { fixtureTools } from "./support/fixture-tools.ts";
import { ENVELOPE } from "./support/raw-stdio.ts";

const scale = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? 0.1);
const running: RunningServer[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(running.splice(0).map((server) => server.close()));
});

type Http = NonNullable<McpServerOptions["http"]>;

async function start(
  http: Http = {},
  options: McpServerOptions = {},
): Promise<
  ReturnType<typeof fixtureTools> & {
    readonly url: string;
    readonly port: number;
    readonly server: RunningServer;
  }
> {
  const fixture = fixtureTools();
  const server = await startServer(fixture.registry, { ...options, transport: "http", http });
  running.push(server);
  return { ...fixture, server, url: server.url ?? "", port: server.port ?? 0 };
}

const JSON_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** A modern request as fetch options. */
function modern(
  method: string,
  params: object = {},
  headers: Record<string, string> = {},
): { method: string; headers: Record<string, string>; body: string } {
  const name = "name" in params ? { "mcp-name": String(params.name) } : {};
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: ENVELOPE } });
  return {
    method: "POST",
    headers: { ...JSON_HEADERS, "mcp-protocol-version": MODERN, "mcp-method": method, ...name, ...headers },
    body,
  };
}

const echo = (text = "hi"): ReturnType<typeof modern> =>
  modern("tools/call", { name: "echo", arguments: { text } });

/** An older request as fetch options. */
function older(
  method: string,
  params: object = {},
  headers: Record<string, string> = {},
): ReturnType<typeof modern> {
  const id = method.startsWith("notifications/") ? {} : { id: 7 };
  return {
    method: "POST",
    headers: { ...JSON_HEADERS, ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", ...id, method, params }),
  };
}

const HELLO = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "older", version: "1" },
};

async function begin(url: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, older("initialize", HELLO, headers));
  await response.text();
  const session = response.headers.get("mcp-session-id") ?? "";
  await fetch(url, older("notifications/initialized", {}, { ...headers, "mcp-session-id": session }));
  return session;
}

/** A request with headers that fetch would not send. */
async function send(
  port: number,
  {
    method = "POST",
    headers,
    body = "",
    path = "/mcp",
  }: { method?: string; headers: Record<string, string>; body?: string | Uint8Array; path?: string },
): Promise<{ status: number; headers: IncomingMessage["headers"]; text: string }> {
  const sent = httpRequest({
    host: "127.0.0.1",
    port,
    method,
    path,
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
  });
  sent.on("error", () => {});
  sent.end(body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const part of answer) text += part;
  return { status: answer.statusCode ?? 0, headers: answer.headers, text };
}

describe("Host and Origin", () => {
  const bad: readonly (readonly [string, Record<string, string>])[] = [
    ["a foreign host", { host: "evil.example" }],
    ["a host that begins like ours", { host: "localhost.evil.example" }],
    ["a name that resolves to us", { host: "127.0.0.1.nip.io" }],
    ["a foreign origin", { origin: "http://evil.example" }],
    ["an origin that begins like ours", { origin: "http://localhost.evil.example" }],
    ["the null origin", { origin: "null" }],
    ["an extension", { origin: "chrome-extension://abcdef" }],
  ];

  it.each(bad)("security S1: %s is 403 for every method, before the body is read", async (_, headers) => {
    const { port } = await start();
    for (const method of ["POST", "GET", "DELETE", "PUT"]) {
      expect(
        (await send(port, { ...echo(), method, headers: { ...echo().headers, ...headers } })).status,
      ).toBe(403);
    }
    const socket = connect(port, "127.0.0.1");
    const host = headers["host"] ?? "127.0.0.1";
    const origin = headers["origin"] === undefined ? "" : `origin: ${headers["origin"]}\r\n`;
    socket.write(
      `POST /mcp HTTP/1.1\r\nhost: ${host}\r\n${origin}content-type: application/json\r\ncontent-length: 1000000\r\n\r\n{`,
    );
    const [answer] = (await once(socket, "data")) as [Buffer]; // the body never came
    expect(answer.toString()).toMatch(/^HTTP\/1.1 403/);
    socket.destroy();
  });

  it("security S1: loopback names, the bound host and what is allowed are served", async () => {
    const { port } = await start({
      allowedHosts: ["tools.example"],
      allowedOrigins: ["https://app.example"],
    });
    for (const headers of [
      { host: `localhost:${port}` },
      { host: `[::1]:${port}` },
      { host: "tools.example" },
      { origin: "https://app.example" },
      { origin: `http://127.0.0.1:${port}` },
      {},
    ]) {
      expect((await send(port, { ...echo(), headers: { ...echo().headers, ...headers } })).status).toBe(200);
    }
    expect(
      (await send(port, { ...echo(), headers: { ...echo().headers, origin: "http://app.example" } })).status,
    ).toBe(403);
  });

  it("security S1: a mounted handler checks them too, and every tool stays untouched", async () => {
    const { registry, seen } = fixtureTools();
    const server = createMcpServer(registry);
    const call = modern("tools/call", { name: "no_params", arguments: {} });
    for (const headers of [{ host: "evil.example" }, { host: "localhost", origin: "http://evil.example" }]) {
      const request = new Request("http://localhost/mcp", {
        ...call,
        headers: { ...call.headers, ...headers },
      });
      expect((await server.fetch(request)).status).toBe(403);
    }
    expect(seen).toEqual([]);
    await server.close();
  });
});

describe("tokens", () => {
  const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
  const withToken = (token: string): ReturnType<typeof modern> => ({
    ...echo(),
    headers: { ...echo().headers, ...bearer(token) },
  });

  it("are asked for with a challenge: missing and wrong 401, right 200", async () => {
    const { url } = await start({ token: "s3cret" });
    const missing = await fetch(url, echo());
    expect([missing.status, missing.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    for (const wrong of ["s3cre", "s3cret2", "S3CRET", "a".repeat(500)]) {
      const answer = await fetch(url, withToken(wrong));
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([
        401,
        'Bearer error="invalid_token"',
      ]);
    }
    expect((await fetch(url, withToken("s3cret"))).status).toBe(200);
  });

  it("may be checked by the app: an unknown one is 401, too few scopes 403, and the owner is the principal", async () => {
    const runStore = createMemoryRunStore();
    const verify = (token: string): { id: string; scopes: string[] } | undefined => {
      if (token === "throws") throw new Error("down");
      return token === "nobody" ? undefined : { id: token, scopes: token === "alice" ? ["tools"] : [] };
    };
    const { url } = await start({ token: { verify, requiredScopes: ["tools"] } }, { runStore });
    const statuses = ["nobody", "throws", "bob", "alice"].map(
      async (token) => (await fetch(url, withToken(token))).status,
    );
    expect(await Promise.all(statuses)).toEqual([401, 401, 403, 200]);
    const { runs } = await runStore.list({ limit: 5 });
    expect(runs.map(({ principal, owner }) => [principal, owner])).toEqual([
      [{ kind: "remote", id: "alice", via: "local" }, "alice"],
    ]);
  });

  it("in the query are refused with 400, whether right or wrong, and never logged", async () => {
    const lines: string[] = [];
    const say = (message: string, fields?: object): void =>
      void lines.push(`${message} ${JSON.stringify(fields)}`);
    const { url } = await start(
      { token: "s3cret" },
      { logger: { debug: say, info: say, warn: say, error: say } },
    );
    for (const name of ["token", "access_token", "api_key", "apikey"]) {
      expect((await fetch(`${url}?${name}=s3cret`, withToken("s3cret"))).status).toBe(400);
    }
    expect(lines.join("\n")).not.toContain("s3cret");
  });

  it("security S11: guesses are slowed down per address, however it is written and whatever headers say", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const server = createMcpServer(new ToolRegistry(), { http: { token: "s3cret" } });
    const ask = async (
      token: string,
      remoteAddress?: string,
      headers: Record<string, string> = {},
    ): Promise<number> => {
      const { headers: given, ...init } = withToken(token);
      const request = new Request("http://localhost/mcp", {
        ...init,
        headers: { host: "localhost", ...given, ...headers },
      });
      return (await server.fetch(request, { remoteAddress })).status;
    };
    const statuses: number[] = [];
    for (let index = 0; index < 100; index += 1) {
      const address = index % 2 === 0 ? "1.2.3.4" : "::ffff:1.2.3.4";
      statuses.push(await ask("wrong", address, { "x-forwarded-for": `10.0.0.${index}` }));
    }
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(80);
    expect(await ask("s3cret", "1.2.3.4")).toBe(429); // the limit comes before the check
    expect(await ask("s3cret", "1.2.3.5")).toBe(200);
    vi.advanceTimersByTime(61_000);
    expect(await ask("s3cret", "1.2.3.4")).toBe(200);
    await server.close();
  });

  it(
    "security S11: buckets are bounded: 10,000 other addresses, and the oldest is forgotten",
    { timeout: 60_000 },
    async () => {
      const server = createMcpServer(new ToolRegistry(), { http: { token: "s3cret" } });
      const ask = async (token: string, remoteAddress: string): Promise<number> => {
        const { headers, ...init } = withToken(token);
        const request = new Request("http://localhost/mcp", {
          ...init,
          headers: { host: "localhost", ...headers },
        });
        return (await server.fetch(request, { remoteAddress })).status;
      };
      for (let index = 0; index < 20; index += 1) await ask("wrong", "1.2.3.4");
      expect(await ask("s3cret", "1.2.3.4")).toBe(429);
      for (let index = 0; index < 10_000; index += 1) await ask("wrong", `10.0.${index >> 8}.${index & 255}`);
      expect(await ask("s3cret", "1.2.3.4")).toBe(200);
      await server.close();
    },
  );

  it("of one owner do not open another one's session", async () => {
    const { url } = await start({ token: { verify: (token) => ({ id: token }) } });
    const session = await begin(url, bearer("alice"));
    const list = (token: string): Promise<Response> =>
      fetch(url, older("tools/list", {}, { ...bearer(token), "mcp-session-id": session }));
    expect((await list("bob")).status).toBe(404);
    expect((await list("alice")).status).toBe(200);
  });
});

describe("whose data a caller reaches", () => {
  it("state Z46: a server that tells callers apart and does not say what they own does not start", async () => {
    const principal = (): Principal => ({ kind: "human", id: "somebody", via: "network" });
    const refused = { code: "owner_required", hint: expect.stringContaining("owner") };
    await expect(start({}, { principal })).rejects.toMatchObject(refused);
    await expect(start({ token: "s3cret" }, { principal })).rejects.toMatchObject(refused);
    await expect(start({}, { principal, owner: () => "ada" })).resolves.toBeDefined();
    await expect(start({ token: { verify: (id) => ({ id }) } }, { principal })).resolves.toBeDefined();
  });

  it("is what the application says, and nothing where it says nothing", async () => {
    const owners: string[] = [];
    const registry = new ToolRegistry();
    registry.register(
      defineTool({
        name: "whose",
        description: "tells whose",
        inputSchema: { type: "object", properties: {} },
        contract: "read",
        handler: (_input, { owner }) => (owners.push(owner), ok(owner)),
      }),
    );
    const principal = (): Principal => ({ kind: "human", id: "ann", via: "network" });
    for (const named of ["ada", ""]) {
      const server = await startServer(registry, {
        principal,
        owner: () => named,
        transport: "http",
        http: {},
      });
      running.push(server);
      await fetch(server.url ?? "", modern("tools/call", { name: "whose", arguments: {} }));
    }
    expect(owners).toEqual(["ada"]);
  });
});

describe("an application that fails to say who is calling", () => {
  it.each(["principal", "owner", "grants"] as const)("keeps why to itself (%s)", async (which) => {
    const fail = (): never => {
      throw new Error("postgres://app:s3cret@db/users is down");
    };
    const { url } = await start({}, { owner: () => "ada", [which]: fail });
    const answer = await (await fetch(url, echo())).text();
    expect(answer).toContain("-32603");
    expect(answer).not.toContain("s3cret");
  });
});

describe("who is local", () => {
  it.each(["x-forwarded-for", "forwarded", "x-real-ip", "via"])(
    "security S8: a loopback peer with %s is not",
    async (header) => {
      const { url } = await start();
      const crash = modern("tools/call", { name: "crash", arguments: {} }); // no contract: needs a session
      const direct = await (await fetch(url, crash)).json();
      expect(direct.result._meta["openfunctions/outcome"]).toEqual({
        outcome: "unknown",
        code: "tool_failed",
      });
      const forwarded = await (
        await fetch(url, { ...crash, headers: { ...crash.headers, [header]: "203.0.113.5" } })
      ).json();
      expect(forwarded.result._meta["openfunctions/outcome"]).toEqual({
        outcome: "not_started",
        code: "not_permitted",
      });
    },
  );

  it("security S8: nobody is without a socket's address, and a session stays what it was opened as", async () => {
    const { registry } = fixtureTools();
    const server = createMcpServer(registry);
    const crash = modern("tools/call", { name: "crash", arguments: {} });
    const request = new Request("http://localhost/mcp", {
      ...crash,
      headers: { host: "localhost", ...crash.headers },
    });
    const { result } = await (await server.fetch(request)).json();
    expect(result._meta["openfunctions/outcome"]).toMatchObject({ code: "not_permitted" });
    await server.close();
    const { url } = await start();
    const session = await begin(url);
    const answer = await fetch(
      url,
      older("tools/list", {}, { "mcp-session-id": session, "x-forwarded-for": "203.0.113.5" }),
    );
    expect(answer.status).toBe(404);
  });
});

describe("what is refused", () => {
  it.each([
    ["another path", { path: "/" }, 404],
    ["a path below", { path: "/mcp/x" }, 404],
    ["PUT", { method: "PUT" }, 405],
    ["OPTIONS", { method: "OPTIONS" }, 405],
    ["text", { headers: { "content-type": "text/plain" } }, 415],
    ["a form", { headers: { "content-type": "application/x-www-form-urlencoded" } }, 415],
    ["a client that takes no stream", { headers: { accept: "application/json" } }, 406],
    ["a client that takes no JSON", { headers: { accept: "text/event-stream" } }, 406],
    ["no JSON", { body: "{" }, 400],
    ["an empty body", { body: "" }, 400],
    ["a list", { body: "[]" }, 400],
    ["a call but for one byte", { body: Buffer.from(echo("\u00ff").body, "latin1") }, 400],
    [
      "an older request without session",
      { body: older("tools/list").body, headers: { "mcp-protocol-version": "2025-11-25" } },
      400,
    ],
    ["a stream without session", { method: "GET", headers: { accept: "text/event-stream" } }, 400],
  ] as const)("%s", async (_, change, status) => {
    const { port } = await start();
    const base = echo();
    const answer = await send(port, {
      ...base,
      ...change,
      headers: { ...base.headers, ...("headers" in change ? change.headers : {}) },
    });
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", error: { code: expect.any(Number) } });
    if (status === 405) expect(answer.headers["allow"]).toBe("POST, GET, DELETE");
  });

  it("a body above the limit: 413, with and without a length", async () => {
    const { url, port } = await start({ maxBodyBytes: 10_000 });
    expect((await fetch(url, echo("x".repeat(9_000)))).status).toBe(200);
    expect((await fetch(url, echo("x".repeat(20_000)))).status).toBe(413);
    const announced = connect(port, "127.0.0.1");
    announced.write(
      "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\ncontent-length: 20000\r\n\r\n",
    );
    const [early] = (await once(announced, "data")) as [Buffer]; // before a byte of it came
    expect(early.toString()).toMatch(/^HTTP\/1.1 413/);
    announced.destroy();
    const sent = httpRequest({
      host: "127.0.0.1",
      port,
      method: "POST",
      path: "/mcp",
      headers: echo().headers,
    });
    sent.on("error", () => {});
    const answered = once(sent, "response");
    sent.write("x".repeat(20_000)); // and no end: the answer does not wait for it
    const [answer] = (await answered) as [IncomingMessage];
    expect(answer.statusCode).toBe(413);
    sent.destroy();
  });

  it("deep and polluting JSON is a tool error, and the server goes on", async () => {
    const { url } = await start();
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const body = echo().body.replace('"hi"', deep);
    const answer = await (await fetch(url, { ...echo(), body })).json();
    expect(answer.result).toMatchObject({ isError: true });
    const polluting = echo().body.replace('"text"', '"__proto__":{"polluted":true},"text"');
    expect((await fetch(url, { ...echo(), body: polluting })).status).toBe(200);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  it("too many waiting calls: 429 with Retry-After", async () => {
    const { url, waits } = await start({ maxConcurrent: 1 });
    const stop = new AbortController();
    const calls = Array.from({ length: 258 }, () =>
      fetch(url, { ...modern("tools/call", { name: "wait", arguments: {} }), signal: stop.signal }).catch(
        () => undefined,
      ),
    );
    const refused = await Promise.any(
      calls.map(async (call) => ((await call)?.status === 429 ? call : Promise.reject(new Error("served")))),
    );
    expect(refused?.headers.get("retry-after")).toBe("1");
    expect(waits.running).toBe(1);
    stop.abort();
    await Promise.all(calls);
  });
});

describe("time", () => {
  it.each([
    [
      "older",
      async (url: string) =>
        older("tools/call", { name: "wait", arguments: {} }, { "mcp-session-id": await begin(url) }),
    ],
    ["modern", async () => modern("tools/call", { name: "wait", arguments: {} })],
  ])("runs out at `requestTimeoutMs`: the handler is aborted (%s era)", async (era, init) => {
    const { url, waits } = await start({ requestTimeoutMs: 300 });
    const answer = await fetch(url, await init(url));
    const text = await answer.text();
    if (era === "modern") expect(answer.status).toBe(408);
    else expect(text).not.toContain('"id":7'); // the stream had begun; it ends without an answer
    await expect.poll(() => waits).toEqual({ running: 0, aborted: 1 });
  });

  it("runs out for a body that never comes", async () => {
    const { port } = await start({ requestTimeoutMs: 300 });
    const socket = connect(port, "127.0.0.1");
    socket.write(
      "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\ncontent-length: 100\r\n\r\n{",
    );
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 408/);
    await once(socket, "close");
  });

  it("ends a session after 30 idle minutes, not one that somebody listens to", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const server = createMcpServer(fixtureTools().registry);
    const ask = (init: ReturnType<typeof older>): Promise<Response> =>
      server.fetch(
        new Request("http://localhost/mcp", { ...init, headers: { host: "localhost", ...init.headers } }),
      );
    const open = async (): Promise<string> =>
      (await ask(older("initialize", HELLO))).headers.get("mcp-session-id") ?? "";
    const [idle, busy] = [await open(), await open()];
    const stream = await server.fetch(
      new Request("http://localhost/mcp", {
        headers: { host: "localhost", accept: "text/event-stream", "mcp-session-id": busy },
      }),
    );
    vi.advanceTimersByTime(29 * 60_000);
    const list = async (session: string): Promise<number> => {
      const answer = await ask(older("tools/list", {}, { "mcp-session-id": session }));
      await answer.body?.cancel();
      return answer.status;
    };
    expect([await list(idle), await list(busy)]).toEqual([200, 200]);
    vi.advanceTimersByTime(29 * 60_000);
    expect([await list(idle), await list(busy)]).toEqual([200, 200]);
    vi.advanceTimersByTime(31 * 60_000);
    expect([await list(idle), await list(busy)]).toEqual([404, 200]);
    await stream.body?.cancel();
    vi.advanceTimersByTime(31 * 60_000);
    expect(await list(busy)).toBe(404);
    await server.close();
  });
});

describe("sessions of the older era", () => {
  it("field C4: an id of an earlier life is 404, and begins afresh on initialize", async () => {
    const first = await start();
    const stale = await begin(first.url);
    expect((await fetch(first.url, older("tools/list", {}, { "mcp-session-id": stale }))).status).toBe(200);
    await first.server.close();
    const { url } = await start();
    expect((await fetch(url, older("tools/list", {}, { "mcp-session-id": stale }))).status).toBe(404);
    const again = await fetch(url, older("initialize", HELLO, { "mcp-session-id": stale }));
    await again.text();
    expect(again.status).toBe(200);
    expect(again.headers.get("mcp-session-id")).not.toBe(stale);
  });

  it("end with DELETE, whose id is 404 from then on", async () => {
    const { url } = await start();
    const session = await begin(url);
    expect((await fetch(url, { method: "DELETE", headers: { "mcp-session-id": session } })).status).toBe(200);
    expect((await fetch(url, older("ping", {}, { "mcp-session-id": session }))).status).toBe(404);
  });

  it("refuse a revision nobody speaks and a body of several messages", async () => {
    const { url } = await start();
    const session = { "mcp-session-id": await begin(url) };
    expect(
      (await fetch(url, older("ping", {}, { ...session, "mcp-protocol-version": "1999-01-01" }))).status,
    ).toBe(400);
    const batch = `[${older("ping").body},${older("ping").body}]`;
    expect((await fetch(url, { ...older("ping", {}, session), body: batch })).status).toBe(400);
  });

  it("mcp M1: hear of changes on their own stream", async () => {
    const { url, registry } = await start();
    const session = await begin(url);
    const stop = new AbortController();
    const stream = await fetch(url, {
      headers: { accept: "text/event-stream", "mcp-session-id": session },
      signal: stop.signal,
    });
    registry.unregister("echo");
    const reader = stream.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).toContain("notifications/tools/list_changed");
    stop.abort();
  });

  it("mcp M1: modern clients hear of changes on a subscription", async () => {
    const { url, registry } = await start();
    const stop = new AbortController();
    const listen = modern("subscriptions/listen", { notifications: { toolsListChanged: true } });
    const stream = await fetch(url, { ...listen, signal: stop.signal });
    registry.unregister("echo");
    let text = "";
    for await (const part of stream.body ?? []) {
      text += new TextDecoder().decode(part);
      if (text.includes("list_changed")) break;
    }
    expect(text).toContain("notifications/tools/list_changed");
    stop.abort();
  });

  it("above 1,000 give way, the one that was not used the longest first", async () => {
    const server = createMcpServer(new ToolRegistry());
    const ask = (init: ReturnType<typeof older>): Promise<Response> =>
      server.fetch(
        new Request("http://localhost/mcp", { ...init, headers: { host: "localhost", ...init.headers } }),
      );
    const ids: string[] = [];
    for (let index = 0; index < 1_002; index += 1) {
      ids.push((await ask(older("initialize", HELLO))).headers.get("mcp-session-id") ?? "");
      if (index === 900)
        expect((await ask(older("ping", {}, { "mcp-session-id": ids[0] ?? "" }))).status).toBe(200);
    }
    const statuses = [ids[0], ids[1], ids[2], ids[3]].map(
      async (id) => (await ask(older("ping", {}, { "mcp-session-id": id ?? "" }))).status,
    );
    expect(await Promise.all(statuses)).toEqual([200, 404, 404, 200]);
    await server.close();
  });
});

describe("cancellation", () => {
  it("closing the request's stream aborts the handler's signal, in both eras", async () => {
    const { url, waits } = await start();
    const session = await begin(url);
    const wait = { name: "wait", arguments: {} };
    for (const [index, init] of [
      older("tools/call", wait, { "mcp-session-id": session }),
      modern("tools/call", wait),
    ].entries()) {
      const stop = new AbortController();
      const answer = fetch(url, { ...init, signal: stop.signal }).then((response) => response.text());
      answer.catch(() => {});
      await expect.poll(() => waits.running).toBe(1);
      stop.abort();
      await expect.poll(() => waits).toEqual({ running: 0, aborted: index + 1 });
    }
  });

  it("by notification ends the older era's stream without an answer", async () => {
    const { url, waits } = await start();
    const headers = { "mcp-session-id": await begin(url) };
    const answer = fetch(url, older("tools/call", { name: "wait", arguments: {} }, headers)).then(
      (response) => response.text(),
    );
    await expect.poll(() => waits.running).toBe(1);
    await fetch(url, older("notifications/cancelled", { requestId: 7 }, headers));
    expect(await answer).not.toContain("result");
    expect(waits).toEqual({ running: 0, aborted: 1 });
  });

  it.each(["older", "modern"] as const)(
    "1,000 parallel calls with random cancellation: each ends once, nothing is left running (%s)",
    { timeout: 60_000 },
    async (era) => {
      const { url, waits } = await start();
      const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
      const client = newClient(era);
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      const count = Math.max(200, Math.round(1_000 * scale));
      const outcomes = await Promise.all(
        Array.from({ length: count }, async (_, index) => {
          const stop = new AbortController();
          if (index % 3 === 0) setTimeout(() => stop.abort(new Error("cancelled")), index % 11);
          try {
            const result = await client.callTool(
              { name: "wait", arguments: { ms: index % 13 } },
              { signal: stop.signal },
            );
            return result.isError === true ? "error" : "done";
          } catch (cause) {
            return stop.signal.aborted || /429|Too many/.test(String(cause)) ? "stopped" : String(cause);
          }
        }),
      );
      expect(new Set(outcomes)).toEqual(new Set(["done", "stopped"]));
      await expect.poll(() => waits.running).toBe(0);
      expect((await client.callTool({ name: "echo", arguments: { text: "on" } })).content).toEqual([
        { type: "text", text: "on" },
      ]);
      await client.close();
    },
  );
});

describe("slow clients", () => {
  it(
    "security S10: 200 sockets that send half a request or never read hold up nobody, and are reaped",
    { timeout: 60_000 },
    async () => {
      const { url, port } = await start({ requestTimeoutMs: 2_000 });
      const time = async (): Promise<number> => {
        const times: number[] = [];
        for (let index = 0; index < 60; index += 1) {
          const started = performance.now();
          await (await fetch(url, echo())).text();
          times.push(performance.now() - started);
        }
        return times.toSorted((one, two) => one - two)[56] ?? 0;
      };
      await time();
      const before = await time();
      const listen = modern("tools/call", { name: "wait", arguments: {} });
      const head = Object.entries(listen.headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("");
      const half =
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\ncontent-length: 500\r\n\r\n{";
      const whole = `POST /mcp HTTP/1.1\r\nhost: localhost\r\n${head}content-length: ${Buffer.byteLength(listen.body)}\r\n\r\n${listen.body}`;
      const sockets = Array.from({ length: 200 }, (_, index): Socket => {
        const socket = connect(port, "127.0.0.1")
          .pause()
          .on("error", () => {});
        socket.write(index % 2 === 0 ? half : index % 4 === 1 ? whole : "POST /mcp HT");
        return socket;
      });
      await sleep(200);
      expect(await time()).toBeLessThan(Math.max(before * 4, before + 25));
      for (const socket of sockets) socket.resume();
      await Promise.all(sockets.map(async (socket) => socket.closed || once(socket, "close")));
    },
  );

  it("security S10: a reader that leaves more than its share behind loses its stream", async () => {
    const registry = new ToolRegistry();
    const state = { stopped: false };
    registry.register(
      defineTool({
        name: "flood",
        description: "Reports more than anybody reads.",
        inputSchema: { type: "object", properties: {} },
        contract: "read",
        handler: async (_params, { progress, signal }) => {
          for (let step = 1; !signal.aborted; step += 1) {
            progress({ progress: step, message: "x".repeat(400_000) });
            await sleep(101);
          }
          state.stopped = true;
          return ok(1);
        },
      }),
    );
    const server = createMcpServer(registry);
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "flood", arguments: {}, _meta: { ...ENVELOPE, progressToken: 1 } },
    });
    const headers = { ...modern("tools/call", { name: "flood" }).headers, host: "localhost" };
    const response = await server.fetch(
      new Request("http://localhost/mcp", { method: "POST", headers, body }),
    );
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    await expect.poll(() => state.stopped, { timeout: 5_000 }).toBe(true);
    await server.close();
  });
});

describe("start and end", () => {
  it("a port in use and a host that others reach without a token are config errors", async () => {
    const { port } = await start();
    await expect(
      startServer(new ToolRegistry(), { transport: "http", http: { port } }),
    ).rejects.toMatchObject({ code: "port_in_use" });
    await expect(
      startServer(new ToolRegistry(), { transport: "http", http: { host: "0.0.0.0" } }),
    ).rejects.toMatchObject({ code: "token_required" });
    await expect(
      startServer(new ToolRegistry(), {
        transport: "http",
        http: { host: "no.such.host.invalid", token: "x" },
      }),
    ).rejects.toMatchObject({ code: "invalid_config" });
    await expect(startServer(new ToolRegistry(), { http: { port: 1 } })).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining("http.port"),
    });
    const open = await startServer(new ToolRegistry(), {
      transport: "http",
      http: { host: "0.0.0.0", token: "x", path: "/tools" },
    });
    expect(open.url).toBe(`http://0.0.0.0:${open.port}/tools`);
    await open.close();
  });

  it("close lets running calls finish, answers new ones with 503, and resolves once", async () => {
    const { url, server, waits } = await start();
    const call = fetch(url, modern("tools/call", { name: "wait", arguments: { ms: 300 } }));
    const keepAlive = connect(Number(new URL(url).port), "127.0.0.1");
    await once(keepAlive, "connect");
    await expect.poll(() => waits.running).toBe(1);
    const { headers, body } = echo();
    const head = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("");
    keepAlive.write(
      `POST /mcp HTTP/1.1\r\nhost: localhost\r\n${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body.slice(0, 5)}`,
    );
    await sleep(20);
    const closing = [server.close(), server.close()];
    expect(await (await call).json()).toMatchObject({ result: { content: [{ text: "waited" }] } });
    await Promise.all(closing);
    await server.closed;
    await expect(fetch(url, echo())).rejects.toThrow();
  });

  it("a mounted handler that was closed answers 503, and its streams have ended", async () => {
    const server = createMcpServer(new ToolRegistry());
    const ask = (init: {
      method?: string;
      headers: Record<string, string>;
      body?: string;
    }): Promise<Response> =>
      server.fetch(
        new Request("http://localhost/mcp", { ...init, headers: { host: "localhost", ...init.headers } }),
      );
    const session = (await ask(older("initialize", HELLO))).headers.get("mcp-session-id") ?? "";
    const stream = await ask({ headers: { accept: "text/event-stream", "mcp-session-id": session } });
    await server.close();
    expect(await stream.text()).toBe("");
    for (const init of [echo(), older("initialize", HELLO)]) expect((await ask(init)).status).toBe(503);
  });

  it("close ends streams that wait for changes at once", async () => {
    const { url, server } = await start();
    const session = await begin(url);
    const streams = await Promise.all([
      fetch(url, { headers: { accept: "text/event-stream", "mcp-session-id": session } }),
      fetch(url, modern("subscriptions/listen", { notifications: { toolsListChanged: true } })),
    ]);
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    const started = performance.now();
    await Promise.all([server.close(), ...streams.map((stream) => stream.text().catch(() => ""))]);
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});

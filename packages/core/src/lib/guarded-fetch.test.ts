/** Guarded fetch reaches public addresses and nothing else. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { createGuardedFetch, type GuardedFetchOptions } from "./guarded-fetch.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  const server = createServer(handler);
  server.on("connection", () => (connections += 1));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    connections: () => connections,
  };
}

const code = (url: string, options: GuardedFetchOptions = {}): Promise<unknown> =>
  createGuardedFetch(options)(url).then(
    (response) => response.status,
    (error: unknown) => (error instanceof Error ? Reflect.get(error, "code") : error),
  );

describe("createGuardedFetch", () => {
  it("security S19: refuses every spelling of a private address, and nothing connects", async () => {
    const { port, connections } = await listen((_request, response) => response.end("secret"));
    const hosts = [
      "127.0.0.1",
      "127.1",
      "0.0.0.0",
      "0",
      "2130706433",
      "0177.0.0.1",
      "0x7f.1",
      "0x7f000001",
      "017700000001",
      "127.0.0.1.",
      "127.255.255.254",
      "[::1]",
      "[::]",
      "[::ffff:127.0.0.1]",
      "[0:0:0:0:0:ffff:7f00:1]",
      "[::ffff:7f00:1]",
      "[::127.0.0.1]",
      "[64:ff9b::7f00:1]",
      "[64:ff9b::127.0.0.1]",
      "[2002:7f00:1::]",
      "[2002:c0a8:101::1]",
      "[fe80::1]",
      "[fc00::1]",
      "[fd00:ec2::254]",
      "[ff02::1]",
      "[2001:db8::1]",
      "[2001::1]",
      "[::ffff:0:127.0.0.1]",
      "[64:ff9b:1::7f00:1]",
      "169.254.169.254",
      "10.0.0.1",
      "10.255.255.255",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "100.64.0.1",
      "100.127.255.255",
      "198.18.0.1",
      "192.0.0.192",
      "224.0.0.1",
      "255.255.255.255",
      "240.0.0.1",
      "localhost",
      "localhost.",
      "LOCALHOST",
      "a.localhost",
      "metadata.google.internal",
      "metadata",
      "printer.local",
      "①②⑦.⓪.⓪.①",
      "%31%32%37.0.0.1",
    ];
    for (const host of hosts) expect(await code(`http://${host}:${port}/`), host).toBe("blocked_address");
    expect(connections()).toBe(0);
  });

  it("security S19: refuses other schemes, credentials and relative URLs", async () => {
    const { port, connections } = await listen((_request, response) => response.end("secret"));
    for (const url of [
      "file:///etc/passwd",
      "gopher://127.0.0.1/",
      "data:text/plain,x",
      "ftp://example.com/",
      "javascript:alert(1)",
      "/relative",
      "",
      `http://example.com@127.0.0.1:${port}/`,
      "http://user:pass@example.com/",
      "https://user@example.com/",
    ]) {
      expect(await code(url), url).toBe("blocked_address");
    }
    expect(connections()).toBe(0);
  });

  it("security S19: checks the addresses a name has, all of them", async () => {
    for (const addresses of [
      ["127.0.0.1"],
      ["93.184.216.34", "10.0.0.1"],
      ["::1"],
      ["fd00::1"],
      ["::ffff:10.0.0.1"],
      ["not an address"],
    ]) {
      expect(
        await code("http://public.example/", { resolver: async () => addresses }),
        addresses.join(),
      ).toBe("blocked_address");
    }
    expect(await code("http://public.example/", { resolver: async () => [] })).toBe("fetch_failed");
  });

  it("security S19: a resolver that changes its answer (rebinding) is asked once, and its first answer is used", async () => {
    const { port, connections } = await listen((_request, response) => response.end("secret"));
    let asked = 0;
    const resolver = async (): Promise<string[]> => {
      asked += 1;
      return asked === 1 ? ["3ffe::1"] : ["127.0.0.1"]; // Public by its range, and routed nowhere (RFC 3701).
    };
    const result = await code(`http://rebind.example:${port}/`, { resolver, timeoutMs: 300 });
    expect(result).toBe("fetch_failed");
    expect(asked).toBe(1);
    expect(connections()).toBe(0);
  });

  it("security S19: checks every redirect anew", async () => {
    const inner = await listen((_request, response) => response.end("secret"));
    const outer = await listen((_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/` }).end(),
    );
    expect(
      await code(`http://owner.test:${outer.port}/`, {
        allowHosts: ["owner.test"],
        resolver: async () => ["127.0.0.1"],
      }),
    ).toBe("fetch_failed");
    expect(await code(`http://localhost:${outer.port}/`, { allowHosts: [`localhost:${outer.port}`] })).toBe(
      "blocked_address",
    );
    expect(inner.connections()).toBe(0);
  });

  it("fetches what the owner allowed, with headers", async () => {
    const { port } = await listen((request, response) =>
      response
        .writeHead(201, { "content-type": "text/plain", "x-a": ["1", "2"] })
        .end(`${request.method} ${String(request.headers["x-key"])}`),
    );
    const response = await createGuardedFetch({ allowHosts: ["127.0.0.1"] })(`http://127.0.0.1:${port}/p`, {
      headers: { "x-key": "k" },
    });
    expect([response.status, response.text(), response.headers["content-type"]]).toEqual([
      201,
      "GET k",
      "text/plain",
    ]);
  });

  it("follows at most five redirects and drops headers when the origin changes", async () => {
    const seen: unknown[] = [];
    const target = await listen((request, response) => {
      seen.push(request.headers["authorization"], request.method);
      response.end("done");
    });
    const { port } = await listen((request, response) => {
      const hop = Number(request.url?.slice(1));
      response
        .writeHead(302, { location: hop > 0 ? `/${hop - 1}` : `http://127.0.0.1:${target.port}/` })
        .end();
    });
    const fetchGuarded = createGuardedFetch({ allowHosts: ["127.0.0.1"] });
    const response = await fetchGuarded(`http://127.0.0.1:${port}/3`, {
      headers: { authorization: "secret" },
    });
    expect([response.text(), response.url, ...seen]).toEqual([
      "done",
      `http://127.0.0.1:${target.port}/`,
      undefined,
      "GET",
    ]);
    expect(await code(`http://127.0.0.1:${port}/9`, { allowHosts: ["127.0.0.1"] })).toBe("fetch_failed");
  });

  it("stops at the size and time limits, and at an abort with its reason", async () => {
    const { port } = await listen((request, response) => {
      if (request.url === "/stall") return void response.write("x");
      response.end("y".repeat(2000));
    });
    const allowHosts = ["127.0.0.1"];
    expect(await code(`http://127.0.0.1:${port}/`, { allowHosts, maxBytes: 1000 })).toBe("fetch_failed");
    expect(await code(`http://127.0.0.1:${port}/stall`, { allowHosts, timeoutMs: 100 })).toBe("fetch_failed");
    const controller = new AbortController();
    const reason = new Error("enough");
    const running = createGuardedFetch({ allowHosts })(`http://127.0.0.1:${port}/stall`, {
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(reason), 30);
    await expect(running).rejects.toBe(reason);
  });
});

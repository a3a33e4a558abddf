import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type AIAdapter, ProviderError, ToolRegistry, ok } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { createChatServer } from "./chat-server.ts";
import { type Listening, listen } from "./listen.ts";
import type { ChatPart } from "./stream-parts.ts";

const open: Listening[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function start(adapter: AIAdapter, tools = new ToolRegistry()): Promise<Listening> {
  const server = await listen(createChatServer({ adapter, tools, reason: "a test" }), { port: 0 });
  open.push(server);
  return server;
}

function post(url: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const bytes =
    body instanceof Uint8Array
      ? Buffer.from(body)
      : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return fetch(url, {
    method: "POST",
    body: bytes,
    headers: { "content-type": "application/json" },
    ...init,
  });
}

async function parts(response: Response): Promise<ChatPart[]> {
  const text = await response.text();
  return text.split("\n\n").flatMap((frame) => {
    const line = frame.split("\n").find((item) => item.startsWith("data: "));
    return line === undefined ? [] : [JSON.parse(line.slice(6)) as ChatPart];
  });
}

/** A raw request, for headers that fetch does not let through. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    let answer = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => {
      answer += chunk;
      if (answer.includes("\r\n\r\n")) socket.end();
    });
    socket.on("close", () => resolve(answer));
    socket.on("error", reject);
  });
}

describe("the chat server", () => {
  it("chat-agent H1: health with a query and with a trailing slash", async () => {
    const { url } = await start(scriptedAdapter([]));
    for (const path of ["/health", "/health?x=1", "/health/"]) {
      const response = await fetch(url + path);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        ok: true,
        provider: "scripted",
        model: "scripted-model",
      });
    }
  });

  it("chat-agent H2: a body that is not JSON, or is null, is 400 with a code", async () => {
    const { url } = await start(scriptedAdapter([]));
    for (const body of [
      "{nope",
      "null",
      "[]",
      '"x"',
      "{}",
      '{"message":""}',
      '{"message":5}',
      '{"message":"\\ud800"}',
      '{"message":"x","threadId":"../x"}',
    ]) {
      const response = await post(`${url}/chat`, body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: expect.stringMatching(/^invalid_/) } });
    }
  });

  it("hostile bodies: invalid UTF-8, 5 MB, deep nesting, prototype keys, another type", async () => {
    const { url } = await start(scriptedAdapter([{ text: "fine" }, { text: "fine" }]));
    expect((await post(`${url}/chat`, new Uint8Array([0x7b, 0x22, 0xff, 0xfe]))).status).toBe(400);
    expect((await post(`${url}/chat`, JSON.stringify({ message: "x".repeat(5_000_000) }))).status).toBe(413);
    expect((await post(`${url}/chat`, `${"[".repeat(100_000)}${"]".repeat(100_000)}`)).status).toBe(400);
    expect(
      (
        await post(
          `${url}/chat`,
          '{"message":"hi","__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
        )
      ).status,
    ).toBe(200);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    expect((await post(`${url}/chat`, "x", { headers: { "content-type": "text/plain" } })).status).toBe(415);
    expect((await fetch(`${url}/health`)).status).toBe(200);
  });

  it("chat-agent H4: a failing provider is 502 with code and run id, without its words", async () => {
    const error = new ProviderError("secret words of the provider", {
      provider: "scripted",
      kind: "overloaded",
    });
    const { url } = await start(scriptedAdapter([{ error }]));
    const response = await post(`${url}/chat`, { message: "hi" });
    expect(response.status).toBe(502);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({
      error: { code: "provider_failed", runId: expect.any(String), retryable: true },
    });
    expect(text).not.toContain("secret words");
  });

  it("chat-agent H5: a failure after the stream began is one error frame, then the stream ends", async () => {
    const error = new ProviderError("gone", { provider: "scripted", kind: "auth" });
    const { url } = await start(scriptedAdapter([{ text: "half", error }]));
    const seen = await parts(await post(`${url}/chat/stream`, { message: "hi" }));
    expect(seen[0]).toMatchObject({ type: "run_started" });
    expect(seen.filter(({ type }) => type === "error")).toHaveLength(1);
    expect(seen.at(-1)).toMatchObject({ type: "error", error: { code: "provider_auth" } });
  });

  it("streams a turn with a call: started first, the call before its result, done last, text adds up", async () => {
    const tools = new ToolRegistry();
    tools.register({
      name: "add",
      description: "adds numbers",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: () => ok(3),
    });
    const { url } = await start(
      scriptedAdapter([
        { text: "let me see", toolCalls: [{ name: "add", callId: "c1" }] },
        { text: ["it is ", "three"] },
      ]),
      tools,
    );
    const seen = await parts(await post(`${url}/chat/stream`, { message: "1+2" }));
    const types = seen.map(({ type }) => type);
    expect(types[0]).toBe("run_started");
    expect(types.indexOf("tool_call")).toBeLessThan(types.indexOf("tool_result"));
    expect(seen.filter(({ type }) => type === "text_done")).toMatchObject([
      { role: "preamble" },
      { role: "final" },
    ]);
    const done = seen.at(-1);
    expect(done).toMatchObject({
      type: "done",
      result: {
        text: "it is three",
        status: "completed",
        toolCalls: [{ name: "add", outcome: "succeeded" }],
      },
    });
    const after = seen.slice(types.indexOf("tool_result"));
    expect(after.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")).toBe("it is three");
  });

  it("chat-agent H7: a client that leaves half-way cancels the run, the handler hears of it, and the conversation goes on", async () => {
    let started = (): void => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    let fired: (ms: number) => void = () => {};
    const aborted = new Promise<number>((resolve) => {
      fired = resolve;
    });
    let left = 0;
    const tools = new ToolRegistry();
    tools.register({
      name: "wait",
      description: "waits for ever",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: (_params, { signal }) => {
        signal.addEventListener("abort", () => fired(performance.now() - left));
        started();
        return new Promise(() => {});
      },
    });
    const adapter = scriptedAdapter([
      { text: "first" },
      { toolCalls: [{ name: "wait", callId: "w" }] },
      { text: "still here" },
    ]);
    const { url } = await start(adapter, tools);
    const threadId = "thread-1";
    await post(`${url}/chat`, { message: "one", threadId });
    const controller = new AbortController();
    const stream = await post(
      `${url}/chat/stream`,
      { message: "two", threadId },
      { signal: controller.signal },
    );
    const reading = stream.text().catch(() => "cut");
    await running;
    left = performance.now();
    controller.abort();
    expect(await aborted).toBeLessThan(1_000);
    expect(await reading).toBe("cut");
    const next = await post(`${url}/chat`, { message: "three", threadId });
    expect(await next.json()).toMatchObject({ text: "still here", status: "completed" });
    const asked = adapter.requests.at(-1)?.messages.map(({ content }) => content);
    expect(JSON.stringify(asked)).toContain("one");
    expect(JSON.stringify(asked)).not.toContain("two");
  });

  it("a client that leaves /chat cancels its run too, and the thread goes on", async () => {
    let left = false;
    const adapter = scriptedAdapter([
      (request) => {
        request.signal?.addEventListener("abort", () => {
          left = true;
        });
        return { stall: true };
      },
      { text: "next" },
    ]);
    const { url } = await start(adapter);
    const controller = new AbortController();
    const asking = post(
      `${url}/chat`,
      { message: "one", threadId: "t" },
      { signal: controller.signal },
    ).catch(() => "cut");
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort();
    expect(await asking).toBe("cut");
    const next = await post(`${url}/chat`, { message: "two", threadId: "t" });
    expect(await next.json()).toMatchObject({ text: "next" });
    expect(left).toBe(true);
  });

  it("keeps turns of one thread in order and threads apart; reset begins anew", async () => {
    const adapter = scriptedAdapter([
      { text: "a", delayMs: 20 },
      { text: "b" },
      { text: "c" },
      { text: "d" },
    ]);
    const { url } = await start(adapter);
    const [first, second] = await Promise.all([
      post(`${url}/chat`, { message: "one", threadId: "t" }),
      post(`${url}/chat`, { message: "two", threadId: "t" }),
    ]);
    expect([await first.json(), await second.json()]).toMatchObject([{ text: "a" }, { text: "b" }]);
    expect(adapter.requests[1]?.messages).toHaveLength(3);
    await post(`${url}/chat`, { message: "other", threadId: "u" });
    expect(adapter.requests[2]?.messages).toHaveLength(1);
    const fresh = await (await post(`${url}/reset`, { threadId: "t" })).json();
    expect(fresh).toMatchObject({ ok: true, threadId: expect.not.stringMatching(/^t$/) });
    await post(`${url}/chat`, { message: "again", threadId: "t" });
    expect(adapter.requests[3]?.messages).toHaveLength(1);
  });

  it("security S1: foreign hosts and origins are refused before any handler; the right ones work", async () => {
    const adapter = scriptedAdapter([{ text: "ok" }]);
    const { port, url } = await start(adapter);
    const ask = (host: string, origin = "") =>
      raw(
        port,
        `POST /chat HTTP/1.1\r\nHost: ${host}\r\n${origin === "" ? "" : `Origin: ${origin}\r\n`}Content-Type: application/json\r\nContent-Length: 16\r\n\r\n{"message":"hi"}`,
      );
    for (const host of [`evil.example:${port}`, `localhost.evil.example:${port}`, `127.0.0.1.nip.io:${port}`])
      expect(await ask(host)).toMatch(/^HTTP\/1\.1 403/);
    for (const origin of ["http://evil.example", "null", "http://localhost.evil.example"])
      expect(await ask(`127.0.0.1:${port}`, origin)).toMatch(/^HTTP\/1\.1 403/);
    expect(adapter.requests).toHaveLength(0);
    expect(await ask(`localhost:${port}`, url)).toMatch(/^HTTP\/1\.1 200/);
  });

  it("security S17: no origin is ever reflected, and there is no preflight for others", async () => {
    const { port } = await start(scriptedAdapter([]));
    const answer = await raw(
      port,
      `OPTIONS /chat HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 403/);
    expect(answer.toLowerCase()).not.toContain("access-control-allow-origin");
  });

  it("security S10: a client that sends half a request, or never reads, holds up nobody", async () => {
    const { port, url } = await start(scriptedAdapter([{ text: "x".repeat(200_000) }, { text: "quick" }]));
    const half = Array.from({ length: 50 }, () =>
      connect(port, "127.0.0.1", function (this: ReturnType<typeof connect>) {
        this.write("POST /chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n");
      }),
    );
    const lazy = connect(port, "127.0.0.1", () =>
      lazy.write(
        `POST /chat/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"message":"hi"}`,
      ),
    );
    lazy.pause();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await (await post(`${url}/chat`, { message: "now" })).json()).toMatchObject({
      status: "completed",
    });
    for (const socket of [...half, lazy]) socket.destroy();
  });

  it("unknown endpoints list what there is, wrong methods say what would work", async () => {
    const { url } = await start(scriptedAdapter([]));
    const missing = await fetch(`${url}/nope`);
    expect(missing.status).toBe(404);
    expect(await missing.json()).toMatchObject({ error: { hint: expect.stringContaining("POST /chat") } });
    const wrong = await fetch(`${url}/chat`);
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get("allow")).toBe("POST");
  });

  it("refuses a port that is taken, or takes the next one when asked to", async () => {
    const first = await start(scriptedAdapter([]));
    const app = createChatServer({ adapter: scriptedAdapter([]), tools: new ToolRegistry(), reason: "" });
    await expect(listen(app, { port: first.port })).rejects.toMatchObject({ code: "port_in_use" });
    const second = await listen(app, { port: first.port, more: 20 });
    open.push(second);
    expect(second.port).toBeGreaterThan(first.port);
  });

  it("says no more than that it failed, and tells its operator why", async () => {
    const told: unknown[] = [];
    const adapter = {
      ...scriptedAdapter([]),
      get model(): string {
        throw new Error("the reason");
      },
    };
    const options = { adapter, tools: new ToolRegistry(), reason: "a test" };
    const app = createChatServer({ ...options, onFailure: (error) => told.push(error) });
    const server = await listen(app, { port: 0 });
    open.push(server);
    const answer = await fetch(`${server.url}/health`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain("the reason");
    expect(told).toMatchObject([{ message: "the reason" }]);
  });
});

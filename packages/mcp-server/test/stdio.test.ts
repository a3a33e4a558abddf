/** A real child process on stdio, seen frame by frame. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { afterEach, describe, expect, it } from "vitest";

import { ENVELOPE, type Frame, RawStdio } from "./support/raw-stdio.ts";

const SHARED = join(import.meta.dirname, "../../../../shared/fixtures");
const JSON_SUITE = join(SHARED, "security/json-test-suite/test_parsing");
const REJECTIONS = join(SHARED, "mcp/fixtures/rejection");
const scale = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? 0.1);

const peers: RawStdio[] = [];
afterEach(() => {
  for (const { child } of peers.splice(0)) child.kill("SIGKILL");
});

async function open(): Promise<RawStdio> {
  const peer = new RawStdio();
  peers.push(peer);
  await expect.poll(() => peer.stderr, { timeout: 15_000 }).toContain("up\n");
  return peer;
}

async function greeted(): Promise<RawStdio> {
  const peer = await open();
  await peer.greet();
  return peer;
}

const call = (name: string, args: object = {}): object => ({ name, arguments: args });

/** The five kinds of call that the mixed runs are made of. */
const MIX: readonly { readonly params: object; readonly fits: (frame: Frame) => boolean }[] = [
  {
    params: call("echo", { text: "北 \n\u2028 “hi”" }),
    fits: ({ result }) => result?.["isError"] === undefined,
  },
  { params: call("add", { a: 1, b: 2 }), fits: ({ result }) => result?.["structuredContent"] !== undefined },
  { params: call("add", { a: "x" }), fits: ({ result }) => result?.["isError"] === true },
  { params: call("nobody"), fits: ({ error }) => error?.code === -32602 },
  { params: call("chatty"), fits: ({ result }) => result?.["isError"] === undefined },
];

describe("frames", () => {
  it(
    "mcp M8: 1,000 mixed calls leave one valid JSON-RPC message per line and nothing else",
    { timeout: 60_000 },
    async () => {
      const peer = await greeted();
      const count = 1_000;
      for (let start = 0; start < count; start += 100) {
        const asked = Array.from({ length: 100 }, (_, index) => {
          const { params, fits } = MIX[(start + index) % MIX.length] ?? { params: {}, fits: () => false };
          return peer
            .ask("tools/call", params)
            .then((frame) => expect(fits(frame), JSON.stringify(frame)).toBe(true));
        });
        await Promise.all(asked);
      }
      expect(await peer.end()).toBe(0);
      const frames = peer.frames();
      expect(frames).toHaveLength(count + 1);
      expect(new Set(frames.map(({ id }) => id)).size).toBe(count + 1);
    },
  );

  it("field C1: what a handler prints goes to stderr", async () => {
    const peer = await greeted();
    await peer.ask("tools/call", call("chatty"));
    expect(peer.stderr).toContain("a banner nobody asked for");
    expect(peer.stderr).toContain("{ not a frame }");
    expect(peer.frames()).toHaveLength(2);
  });

  it("field C2: a truncated line is a parse error with null id, and ping is answered", async () => {
    const peer = await open();
    peer.write('{"jsonrpc":"2.0","method":"x","params":\n');
    expect(await peer.next(({ error }) => error !== undefined)).toMatchObject({
      id: null,
      error: { code: -32700 },
    });
    expect(await peer.ask("ping")).toMatchObject({ result: {} });
  });

  it("keep memory flat over 1,000 calls one after another", { timeout: 60_000 }, async () => {
    const peer = await greeted();
    const rss = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${peer.child.pid}/status`, "utf8"))?.[1]) / 1024;
    for (let index = 0; index < 1_000; index += 1) await peer.ask("tools/call", call("echo", { text: "x" }));
    const before = rss();
    for (let index = 0; index < 1_000; index += 1) await peer.ask("tools/call", call("echo", { text: "x" }));
    expect(rss() - before).toBeLessThan(30);
  });
});

describe.skipIf(!existsSync(JSON_SUITE))("the JSON parsing suite", () => {
  it("security S34: as lines, answers errors, and the server goes on", { timeout: 60_000 }, async () => {
    const peer = await open();
    const files = readdirSync(JSON_SUITE);
    for (const file of files)
      peer.write(Buffer.concat([readFileSync(join(JSON_SUITE, file)), Buffer.from("\n")]));
    expect(await peer.ask("ping")).toMatchObject({ result: {} });
    expect(files.length).toBeGreaterThan(300);
    for (const { id, error } of peer.frames().slice(0, -1)) {
      expect(id === null || typeof id === "string").toBe(true);
      expect([-32700, -32600]).toContain(error?.code);
    }
  });

  it(
    "security S34: as arguments, is refused where it is no JSON or too deep",
    { timeout: 60_000 },
    async () => {
      const peer = await greeted();
      const files = readdirSync(JSON_SUITE).filter(
        (file) => file.startsWith("y_") || file.includes("100000") || file.includes("nested"),
      );
      for (const [index, file] of files.entries()) {
        const value = readFileSync(join(JSON_SUITE, file)).toString().replaceAll("\n", " ");
        const answer = peer.next(({ id, error }) => id === `f${index}` || error?.code === -32700);
        peer.write(
          `{"jsonrpc":"2.0","id":"f${index}","method":"tools/call","params":{"name":"echo","arguments":{"text":${value}}}}\n`,
        );
        const { result, error } = await answer;
        if (result === undefined) expect(error?.code, file).toBe(-32700);
        else expect(result["isError"] === true || typeof JSON.parse(value) === "string", file).toBe(true);
      }
      expect(await peer.ask("ping")).toMatchObject({ result: {} });
    },
  );
});

describe.skipIf(!existsSync(REJECTIONS))("messages that have to be refused", () => {
  it("are refused or ignored, and the server goes on", async () => {
    const peer = await greeted();
    for (const file of readdirSync(REJECTIONS)) {
      const { message, expect: wanted } = JSON.parse(readFileSync(join(REJECTIONS, file), "utf8"));
      const before = peer.lines.length;
      peer.write(`${JSON.stringify(message)}\n`);
      const ping = await peer.ask("ping");
      await sleep(10);
      const answers = peer
        .frames()
        .slice(before)
        .filter(({ id }) => id !== ping.id);
      expect(answers.length, file).toBeLessThanOrEqual(1);
      if (wanted === "error-response") expect(answers[0]?.error, file).toBeDefined();
      if (wanted === "result-response") expect(answers[0]?.result, file).toBeDefined();
      if (wanted === "ignored") expect(answers, file).toEqual([]);
      expect(answers[0]?.result === undefined || wanted === "result-response", file).toBe(true);
    }
  });
});

describe("hostile input", () => {
  it("5 MB of arguments, invalid UTF-8 and a frame above 10 MiB get their typed answers", async () => {
    const peer = await greeted();
    const text = "ä".repeat(2_500_000);
    expect(await peer.ask("tools/call", call("echo", { text }))).toMatchObject({
      result: { content: [{ text }] },
    });
    peer.write(
      Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":"u","method":"ping","params":{"a":"'),
        Buffer.from([0xc3, 0x28]),
        Buffer.from('"}}\n'),
      ]),
    );
    expect(await peer.next(({ id }) => id === null)).toMatchObject({ error: { code: -32700 } });
    peer.write(`"${"x".repeat(11 * 1024 * 1024)}"\n`);
    expect(await peer.next(({ id }) => id === null)).toMatchObject({ error: { code: -32600 } });
    expect(await peer.ask("ping")).toMatchObject({ result: {} });
  });
});

describe("both eras on one kind of stream", () => {
  it("a modern client needs no handshake; discovery, list and call carry the era's fields", async () => {
    const peer = await open();
    const discovered = await peer.ask("server/discover", { _meta: ENVELOPE });
    expect(discovered.result).toMatchObject({
      supportedVersions: ["2026-07-28"],
      instructions: "Fixture tools.",
      resultType: "complete",
    });
    expect((await peer.ask("tools/list", { _meta: ENVELOPE })).result).toMatchObject({
      ttlMs: 60_000,
      cacheScope: "private",
    });
    const { result } = await peer.ask("tools/call", { ...call("echo", { text: "hi" }), _meta: ENVELOPE });
    expect(result).toMatchObject({ resultType: "complete", content: [{ type: "text", text: "hi" }] });
  });

  it("a client that asks for discovery and falls back is served in the older era", async () => {
    const peer = await open();
    expect((await peer.ask("server/discover", { _meta: ENVELOPE })).result).toBeDefined();
    await peer.greet();
    expect((await peer.ask("tools/call", call("echo", { text: "hi" }))).result).not.toHaveProperty(
      "resultType",
    );
  });
});

describe("1,000 parallel calls with random cancellation", () => {
  it.each(["older", "modern"])(
    "each gets one answer or, where it was cancelled, at most one (%s)",
    { timeout: 60_000 },
    async (era) => {
      const peer = era === "older" ? await greeted() : await open();
      const meta = era === "older" ? {} : { _meta: ENVELOPE };
      const count = Math.max(200, Math.round(1_000 * scale));
      const cancelled = new Set<string>();
      for (let index = 0; index < count; index += 1) {
        const id = `p${index}`;
        peer.send({ id, method: "tools/call", params: { ...call("wait", { ms: index % 7 }), ...meta } });
        if (index % 3 !== 0) continue;
        cancelled.add(id);
        if (index % 2 === 0) await sleep(0);
        peer.send({ method: "notifications/cancelled", params: { requestId: id, ...meta } });
      }
      const answered = (): Frame[] => peer.frames().filter(({ id }) => typeof id === "string");
      await expect
        .poll(() => answered().filter(({ id }) => !cancelled.has(String(id))).length, { timeout: 30_000 })
        .toBe(count - cancelled.size);
      await sleep(100);
      const ids = answered().map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const refused = answered().filter(({ error }) => error !== undefined);
      for (const { error } of refused)
        expect(error).toMatchObject({ code: -32603, data: { retryable: true } });
      expect(await peer.ask("tools/call", { ...call("echo", { text: "on" }), ...meta })).toMatchObject({
        result: { content: [{ text: "on" }] },
      });
    },
  );
});

describe("the end", () => {
  it("of stdin aborts running calls and resolves `closed`; the process ends by itself", async () => {
    const peer = await greeted();
    peer.send({ id: "w", method: "tools/call", params: call("wait") });
    await peer.ask("ping");
    const start = performance.now();
    expect(await peer.end()).toBe(0);
    expect(performance.now() - start).toBeLessThan(2_000);
    expect(peer.stderr).toContain("closed\n");
    expect(peer.frames().map(({ id }) => id)).not.toContain("w");
  });

  it("waits at most 2 s for a handler that ignores it, which can write nothing any more", async () => {
    const peer = await greeted();
    peer.send({ id: "s", method: "tools/call", params: call("survivor") });
    await peer.ask("ping");
    expect(await peer.end()).toBe(0);
    expect(peer.frames().map(({ id }) => id)).not.toContain("s");
    expect(peer.stderr.indexOf("too late")).toBeGreaterThan(peer.stderr.indexOf("closed"));
  });

  it("of the reader is not a crash", async () => {
    const peer = await greeted();
    peer.child.stdout.destroy();
    for (let index = 0; index < 20; index += 1) peer.send({ id: index, method: "tools/list" });
    await expect.poll(() => peer.stderr).toContain("closed\n");
    expect(peer.stderr).not.toMatch(/EPIPE|Error/);
    expect(await peer.exited).toBe(0);
  });
});

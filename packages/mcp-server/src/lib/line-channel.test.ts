/** Frames: what a line may be, and what happens to one that is none. */
import { PassThrough, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { LineChannel } from "./line-channel.ts";

function open(): {
  readonly input: PassThrough;
  readonly channel: LineChannel;
  readonly got: unknown[];
  readonly sent: () => unknown[];
} {
  const input = new PassThrough();
  const written: string[] = [];
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk.toString());
      done();
    },
  });
  const channel = new LineChannel(input, output, (text) => output.write(text));
  const got: unknown[] = [];
  channel.onmessage = (message) => void got.push(message);
  void channel.start();
  const sent = (): unknown[] =>
    written
      .join("")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  return { input, channel, got, sent };
}

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };
const error = (code: number, id: unknown = null): object => ({
  jsonrpc: "2.0",
  id,
  error: expect.objectContaining({ code }),
});

describe("a line", () => {
  it("is one message, whatever the cuts of its bytes, with or without carriage return and blanks", async () => {
    const messages = [PING, { ...PING, id: "zwei", params: { text: "北 “ä” \u2028" } }];
    const bytes = Buffer.from(messages.map((message) => ` ${JSON.stringify(message)}\r\n\n  \n`).join(""));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }),
        async (cuts) => {
          const { input, got, sent } = open();
          const edges = [0, ...cuts.toSorted((one, two) => one - two), bytes.length];
          for (const [index, edge] of edges.slice(1).entries())
            input.write(bytes.subarray(edges[index], edge));
          await sleep(0);
          expect(got).toEqual(messages);
          expect(sent()).toEqual([]);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("field C2: that is not JSON gets a parse error with null id, and the stream goes on", async () => {
    const { input, got, sent } = open();
    input.write('{"jsonrpc":"2.0","method":"x","params":\n');
    input.write(Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a])); // JSON but for its bytes
    input.write(`${JSON.stringify(PING)}\n`);
    await sleep(0);
    expect(sent()).toEqual([error(-32700), error(-32700)]);
    expect(got).toEqual([PING]);
  });

  it.each([
    ["a number", 5, null],
    ["a batch", [PING], null],
    ["another version", { ...PING, jsonrpc: "1.0" }, 1],
    ["a null id", { ...PING, id: null }, null],
    ["a broken id", { ...PING, id: 1.5 }, null],
    ["params that are a list", { ...PING, params: [1] }, 1],
    ["meta that is a number", { ...PING, params: { _meta: 5 } }, 1],
    ["no method", { jsonrpc: "2.0", id: 7 }, 7],
  ])("that is %s is an invalid request", async (_, message, id) => {
    const { input, got, sent } = open();
    input.write(`${JSON.stringify(message)}\n`);
    await sleep(0);
    expect(sent()).toEqual([error(-32600, id)]);
    expect(got).toEqual([]);
  });

  it("above 10 MiB is refused without being kept, and the next one is read", async () => {
    const { input, got, sent } = open();
    const half = "x".repeat(6 * 1024 * 1024);
    input.write(`{"jsonrpc":"2.0","id":1,"method":"${half}`);
    input.write(`${half}"}\n${JSON.stringify(PING)}\n`);
    await sleep(0);
    expect(sent()).toEqual([error(-32600)]);
    expect(got).toEqual([PING]);
  });

  it("to be written above 10 MiB becomes an error of the same request", async () => {
    const { channel, sent } = open();
    await channel.send({ jsonrpc: "2.0", id: 9, result: { text: "ä".repeat(6 * 1024 * 1024) } });
    await channel.send({ jsonrpc: "2.0", id: 10, result: { text: "x".repeat(9 * 1024 * 1024) } });
    expect(sent()).toEqual([
      error(-32603, 9),
      expect.objectContaining({ id: 10, result: expect.anything() }),
    ]);
  });
});

describe("the end", () => {
  it.each(["end of input", "close", "broken output"])(
    "comes with %s, once, and nothing is written after it",
    async (how) => {
      const input = new PassThrough();
      const output = new PassThrough();
      const channel = new LineChannel(input, output, (text) => output.write(text));
      let closes = 0;
      channel.onclose = () => void (closes += 1);
      await channel.start();
      if (how === "end of input") input.end();
      else if (how === "close") await channel.close();
      else output.emit("error", Object.assign(new Error("broken pipe"), { code: "EPIPE" }));
      await channel.ended;
      await channel.close();
      await channel.send(PING);
      expect(closes).toBe(1);
      expect(output.read()).toBeNull();
    },
  );

  it("frees a writer that waits for a full pipe", async () => {
    const input = new PassThrough();
    const output = new PassThrough({ highWaterMark: 1 });
    const channel = new LineChannel(input, output, (text) => output.write(text));
    await channel.start();
    const writing = channel.send(PING);
    expect(await Promise.race([writing.then(() => "written"), sleep(20, "waiting")])).toBe("waiting");
    input.end();
    await writing;
  });
});

/** Writing server-sent events. */

import { describe, expect, it } from "vitest";
import { readSse } from "./sse-reader.ts";
import { openSseStream, toSseStream, toSseText } from "./sse-writer.ts";

async function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(body).text();
}

describe("toSseText", () => {
  it("writes id, event and one line of data", () => {
    expect(toSseText({ id: "7", event: "delta", data: { text: "a\nb" } })).toBe(
      'id: 7\nevent: delta\ndata: {"text":"a\\nb"}\n\n',
    );
    expect(toSseText({ data: "[DONE]" })).toBe("data: [DONE]\n\n");
    expect(toSseText({ data: "a\r\nb" })).toBe("data: a\ndata: b\n\n");
    expect(toSseText({ data: undefined })).toBe("data: null\n\n");
  });

  it("security S14: refuses line breaks in names and ids", () => {
    expect(() => toSseText({ data: 1, event: "a\nb" })).toThrow("cannot hold a line break");
    expect(() => toSseText({ data: 1, id: "a\rb" })).toThrow("cannot hold a line break");
  });
});

describe("openSseStream", () => {
  it("is read back as it was written", async () => {
    const stream = openSseStream();
    for (const data of [{ n: 1 }, { text: "北\u2028" }])
      expect(stream.send({ data, event: "e", id: "1" })).toBe(true);
    stream.end();
    expect(stream.send({ data: "late" })).toBe(false);
    const events = [];
    for await (const event of readSse(stream.body)) events.push(JSON.parse(event.data));
    expect(events).toEqual([{ n: 1 }, { text: "北\u2028" }]);
  });

  it("writes a comment when nothing happens", async () => {
    const stream = openSseStream({ heartbeatMs: 10 });
    setTimeout(() => stream.end(), 45);
    expect(await textOf(stream.body)).toMatch(/^(: keep-alive\n\n){2,}$/);
  });

  it("ends with an error when the reader lags over the limit, and tells the producer", async () => {
    const stream = openSseStream({ maxBacklogBytes: 100 });
    let sent = 0;
    while (stream.send({ data: "x".repeat(20) })) sent += 1;
    expect(sent).toBeLessThanOrEqual(5);
    expect(stream.signal.aborted).toBe(true);
    await expect(textOf(stream.body)).rejects.toThrow("too slow");
  });

  it("tells the producer when the reader leaves", async () => {
    const stream = openSseStream();
    await stream.body.cancel("gone");
    expect(stream.signal.aborted).toBe(true);
    expect(stream.send({ data: 1 })).toBe(false);
  });
});

describe("toSseStream", () => {
  it("writes everything, then ends", async () => {
    async function* source(): AsyncGenerator<{ data: number }> {
      yield { data: 1 };
      yield { data: 2 };
    }
    expect(await textOf(toSseStream(source()))).toBe("data: 1\n\ndata: 2\n\n");
  });

  it("returns the source's iterator when the reader leaves, and passes its failure on", async () => {
    let returned = false;
    async function* endless(): AsyncGenerator<{ data: number }> {
      try {
        for (let n = 0; ; n += 1) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          yield { data: n };
        }
      } finally {
        returned = true;
      }
    }
    const reader = toSseStream(endless()).getReader();
    await reader.read();
    await reader.cancel();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(returned).toBe(true);
    async function* failing(): AsyncGenerator<{ data: number }> {
      yield { data: 1 };
      throw new Error("boom");
    }
    await expect(textOf(toSseStream(failing()))).rejects.toThrow("boom");
  });
});

/** Writing server-sent events. */

import { describe, expect, it } from "vitest";
import { type SseEvent, SseReader } from "./sse-reader.ts";
import { openSseStream, toSseText } from "./sse-writer.ts";

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
    const events: SseEvent[] = [];
    new SseReader().push(new TextEncoder().encode(await textOf(stream.body)), events);
    expect(events.map((event) => JSON.parse(event.data))).toEqual([{ n: 1 }, { text: "北\u2028" }]);
  });

  it("writes a comment when nothing happens", async () => {
    const stream = openSseStream({ heartbeatMs: 5 });
    const reader = stream.body.getReader();
    let text = "";
    // Reads until two have come, however slow the machine is; a heartbeat that never comes fails by the test's timeout.
    while (text.length < 2 * ": keep-alive\n\n".length)
      text += new TextDecoder().decode((await reader.read()).value);
    expect(text).toMatch(/^(: keep-alive\n\n)+$/);
    await reader.cancel();
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

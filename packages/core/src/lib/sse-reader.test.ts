/** Reading server-sent events, however the bytes come. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SseEvent, SseReader } from "./sse-reader.ts";

function read(text: string | Uint8Array, size = 1_000_000): SseEvent[] {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const reader = new SseReader();
  const out: SseEvent[] = [];
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size), out);
  reader.end(out);
  return out;
}

describe("SseReader", () => {
  it("reads events and names, and joins data lines", () => {
    expect(read("event: a\nid: 7\ndata: 1\ndata:2\ndata\n\ndata: x\n\n")).toEqual([
      { event: "a", data: "1\n2\n" },
      { event: "message", data: "x" },
    ]);
  });

  it("takes LF, CRLF and CR as line ends, at any byte split", () => {
    const expected = [
      { event: "e", data: "1\n2" },
      { event: "message", data: "3" },
    ];
    for (const end of ["\n", "\r\n", "\r"]) {
      const text = ["event: e", "data: 1", "data: 2", "", "data: 3", "", ""].join(end);
      for (const size of [1, 2, 3, 5, 1000])
        expect(read(text, size), `${JSON.stringify(end)} by ${size}`).toEqual(expected);
    }
  });

  it("skips comments, unknown fields, retry and a byte order mark", () => {
    expect(read("\uFEFF: hello\nretry: 5\nfoo: bar\n:\ndata: x\n\n: bye\n\n")).toEqual([
      { event: "message", data: "x" },
    ]);
  });

  it("field A4: carries the bytes of a character over", () => {
    expect(read("data: 北“😀\n\n", 1)).toEqual([{ event: "message", data: "北“😀" }]);
  });

  it("gives a last event that lacks its blank line", () => {
    expect(read("data: 1\n\ndata: 2")).toEqual([
      { event: "message", data: "1" },
      { event: "message", data: "2" },
    ]);
    expect(read("event: only a name\n\n")).toEqual([]);
  });

  it("reads the same events for every text and split", () => {
    const line = fc.string({ unit: "binary" }).map((text) => text.replace(/[\r\n\0\uFEFF]/g, ""));
    fc.assert(
      fc.property(
        fc.array(fc.array(line, { minLength: 1 }), { maxLength: 5 }),
        fc.constantFrom("\n", "\r\n", "\r"),
        fc.integer({ min: 1, max: 9 }),
        (events, end, size) => {
          const text = events
            .map((lines) => [...lines.map((data) => `data: ${data}`), "", ""].join(end))
            .join("");
          expect(read(text, size).map((event) => event.data)).toEqual(
            events.map((lines) => lines.join("\n").toWellFormed()),
          );
        },
      ),
    );
  });

  it("bounds its memory by one event", () => {
    const piece = new TextEncoder().encode("x".repeat(1024 * 1024));
    const line = new SseReader();
    expect(() => Array.from({ length: 17 }, () => line.push(piece, []))).toThrow("larger than 16777216");
    const lines = new SseReader();
    const data = new TextEncoder().encode(`data: ${"x".repeat(1024 * 1024)}\n`);
    expect(() => Array.from({ length: 17 }, () => lines.push(data, []))).toThrow("larger than 16777216");
    const events = new SseReader();
    const whole = new TextEncoder().encode(`data: ${"x".repeat(1024 * 1024)}\n\n`);
    expect(() => Array.from({ length: 17 }, () => events.push(whole, []))).not.toThrow();
  });

  it("reads a long line in one-byte pieces in linear time", () => {
    const start = performance.now();
    expect(read(`data: ${"x".repeat(300_000)}\n\n`, 1)[0]?.data).toHaveLength(300_000);
    expect(performance.now() - start).toBeLessThan(3000);
  });
});

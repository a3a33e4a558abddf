/** Recorded traffic, read through the real SDK: we agree with what the vendor's own SDK makes of it, and a cut is never an end. */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { Server } from "node:http";
import { fileURLToPath } from "node:url";
import { isPlainObject, type ModelReply, ProviderError } from "@openfunctions/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAnthropicAdapter } from "./adapter.ts";
import { STOP_REASONS } from "./quirks.ts";

const FOLDER = fileURLToPath(new URL("../../../../../shared/fixtures/", import.meta.url));
const present = existsSync(`${FOLDER}ORACLE.tsv`);
const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "1");

interface Row {
  readonly file: string;
  readonly index: number;
  readonly finish: string;
  readonly text: string;
  /** JSON of `[name, args]` pairs, cut after 600 characters. */
  readonly calls: string;
  readonly usage: readonly [input: number, output: number];
}

function rows(): Row[] {
  if (!present) return [];
  const lines = readFileSync(`${FOLDER}ORACLE.tsv`, "utf8").split("\n").slice(1);
  return lines.flatMap((line) => {
    const [file = "", index = "", , outcome = "", , finish = "", text = "", calls = "", usage = ""] =
      line.split("\t");
    if (!file.startsWith("anthropic/") || outcome !== "ok") return [];
    return [{ file, index: Number(index), finish, text, calls, usage: JSON.parse(usage) }];
  });
}

let server: Server;
let base: string;
let wire: (file: string, index: number) => { readonly blocks: readonly string[] };

beforeAll(async () => {
  if (!present) return;
  const replay = await import(`${FOLDER}replay.mjs`);
  server = replay.server;
  wire = replay.wire;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const address = server.address();
  base = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
});

afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

interface Reading {
  /** Bytes per write; 0 for all at once. */
  readonly split: number;
  /** Events before the body ends; negative: before the socket is destroyed. 0 for all. */
  readonly cut: number;
}

function read({ file, index }: Pick<Row, "file" | "index">, { split, cut }: Reading): Promise<ModelReply> {
  return createAnthropicAdapter({
    model: "recorded",
    apiKey: "sk-recorded-000000",
    baseUrl: `${base}/r/${split}/${cut}/i${index}/${file}`,
    limits: { retries: 0 },
  }).chat({ messages: [{ role: "user", content: "x" }] });
}

/** The oracle counts calls of tools that Anthropic ran among the calls; for us they are opaque parts. */
function summary(reply: ModelReply): Pick<Row, "text" | "calls" | "usage"> {
  const { usage, text, parts } = reply;
  const calls = parts.flatMap((part): (readonly [name: string, args: string])[] => {
    if (part.type === "tool_call") return [[part.name, JSON.stringify(part.args)]];
    if (part.type !== "provider" || !isPlainObject(part.data)) return [];
    const { type, name, input } = part.data;
    const isCall = typeof type === "string" && type.endsWith("_tool_use");
    return isCall && typeof name === "string" ? [[name, JSON.stringify(input)]] : [];
  });
  return {
    text: `${Array.from(text).length} ${createHash("sha256").update(text).digest("hex").slice(0, 10)}`,
    calls: JSON.stringify(calls).slice(0, 600),
    usage: [usage.input, usage.output + usage.reasoning],
  };
}

/**
 * Where the SDK's answer is no reading of the stream: it shows a half input as if it were whole (for us the call is
 * cut, and has no arguments), and it drops the input of calls that Anthropic makes to an MCP server.
 */
const OTHER_CALLS: Readonly<Record<string, string>> = {
  "anthropic/sdk-incomplete_partial_json_response.sse": '[["make_file","{}"]]',
  "anthropic/anthropic-mcp.1.chunks.txt": '[["echo","{\\"message\\":\\"hello world\\"}"]]',
};

describe.skipIf(!present)("recorded traffic (skipped without ../shared/fixtures)", () => {
  it("is there", () => expect(rows().length).toBeGreaterThan(30));

  for (const row of rows()) {
    it(`${row.file} #${row.index} agrees with the SDK, whole, split at every byte and re-chunked`, async () => {
      const { file, finish, text, calls, usage } = row;
      const expected = { text, usage, calls: OTHER_CALLS[file] ?? calls };
      const everyByte = Math.random() < Math.max(SCALE, 0.3) ? [1] : [];
      for (const split of [0, ...everyByte, 2 + Math.floor(Math.random() * 60)]) {
        const reply = await read(row, { split, cut: 0 });
        expect(summary(reply), `split into ${split}`).toEqual(expected);
        const ourCalls = reply.toolCalls.length > 0;
        expect(reply.finishReason).toBe(
          finish === "end_turn" && ourCalls ? "tool_calls" : STOP_REASONS[finish],
        );
        if (finish === "max_tokens")
          expect(reply.toolCalls.map((call) => call.argsError)).toEqual([expect.stringContaining("cut off")]);
      }
    });

    it(
      `field A10: ${row.file} #${row.index} cut after any event is never a finished reply`,
      { timeout: 120_000 },
      async () => {
        const { blocks } = wire(row.file, row.index);
        const end = blocks.findIndex((block) => block.includes('"message_stop"'));
        const places = Array.from({ length: end }, (_, at) => at + 1).filter(
          (place) => place <= 2 || place >= end - 3 || Math.random() < SCALE,
        );
        const check = async (cut: number): Promise<void> => {
          const outcome = await read(row, { split: 0, cut }).catch((error: unknown) => error);
          expect(outcome, `cut ${cut} of ${end}`).toBeInstanceOf(ProviderError);
          expect(outcome).toMatchObject({ kind: "network" });
        };
        for (let at = 0; at < places.length; at += 20)
          await Promise.all(places.slice(at, at + 20).flatMap((place) => [check(place), check(-place)]));
      },
    );
  }

  it("drops a half message that another one follows (anthropic/spliced-message-start)", async () => {
    const reply = await read(
      { file: "anthropic/spliced-message-start.chunks.txt", index: 0 },
      { split: 7, cut: 0 },
    );
    expect(reply.toolCalls.map(({ callId, args }) => [callId, args])).toEqual([
      ["toolu_second", { value: "Sparkle Day" }],
    ]);
    expect(JSON.stringify(reply.parts)).not.toContain("sig-first");
    expect(reply.finishReason).toBe("tool_calls");
  });
});

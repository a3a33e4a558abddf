/** Recorded traffic, read through the real SDK: we agree with what the vendor's own SDK makes of it. */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { Server } from "node:http";
import { fileURLToPath } from "node:url";
import type { JsonObject, ModelReply } from "@openfunctions/core";
import { type FakeReply, startFakeModelServer } from "@openfunctions/core/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createGeminiAdapter } from "./adapter.ts";

const FOLDER = fileURLToPath(new URL("../../../../../shared/fixtures/", import.meta.url));
const present = existsSync(`${FOLDER}ORACLE.tsv`);
const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "1");

interface Row {
  readonly file: string;
  readonly index: number;
  readonly outcome: string;
  readonly finish: string;
  readonly text: string;
  /** As the table has them; cut off there where they are long. */
  readonly calls: string;
  readonly usage: string;
}

function rows(outcome: "ok" | "error"): Row[] {
  if (!present) return [];
  return readFileSync(`${FOLDER}ORACLE.tsv`, "utf8")
    .split("\n")
    .map((line) => line.split("\t"))
    .filter(([file = "", , api = ""]) => file.startsWith("google/") && api.startsWith("generateContent"))
    .map(([file = "", index = "", , result = "", , finish = "", text = "", calls = "", usage = ""]) => {
      return { file, index: Number(index), outcome: result, finish, text, calls, usage };
    })
    .filter((row) => row.outcome === outcome);
}

type Chunk = { readonly candidates?: readonly JsonObject[]; readonly usageMetadata?: Record<string, number> };

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

function ask(baseUrl: string): Promise<ModelReply> {
  const limits = { retries: 0 };
  const adapter = createGeminiAdapter({ model: "recorded", apiKey: "key-recorded-000000", baseUrl, limits });
  return adapter.chat({ messages: [{ role: "user", content: "x" }] });
}

function read({ file, index }: Row, split: number): Promise<ModelReply> {
  return ask(`${base}/r/${split}/0/i${index}/${file}`);
}

function chunksOf({ file, index }: Row): Chunk[] {
  return wire(file, index).blocks.map((block) => JSON.parse(block.replace(/^data: ?/, "")));
}

/** The oracle counts prompt and candidates; tokens of Google's own tools are input of ours as well. */
function usageOf(row: Row, { usage }: ModelReply): readonly number[] {
  const toolUse = chunksOf(row).at(-1)?.usageMetadata?.["toolUsePromptTokenCount"] ?? 0;
  return [usage.input + usage.cacheRead - toolUse, usage.output];
}

/** The text of each place that calls in pieces name, in the order of the calls; empty for calls that came whole. */
function piecesOf(row: Row): Map<string, unknown>[] {
  const calls: Map<string, unknown>[] = [];
  const parts = chunksOf(row).flatMap(({ candidates = [] }) =>
    candidates.flatMap((candidate) => Reflect.get(Object(candidate["content"]), "parts") ?? []),
  );
  for (const { functionCall } of parts) {
    if (functionCall === undefined) continue;
    if (functionCall.name !== undefined) calls.push(new Map());
    for (const { jsonPath, stringValue, numberValue } of functionCall.partialArgs ?? []) {
      const before = calls.at(-1)?.get(jsonPath);
      const text = typeof before === "string" ? before + stringValue : stringValue;
      calls.at(-1)?.set(jsonPath, stringValue === undefined ? numberValue : text);
    }
  }
  return calls;
}

const resolve = (args: unknown, path: string): unknown =>
  [...path.matchAll(/[^.[\]$]+/g)].reduce<unknown>((value, [step]) => Reflect.get(Object(value), step), args);

const FINISH: Readonly<Record<string, readonly string[]>> = {
  STOP: ["stop", "tool_calls"],
  MAX_TOKENS: ["length"],
};

describe.skipIf(!present)("recorded traffic (skipped without ../shared/fixtures)", () => {
  it("has as many streams as were counted when this was written, or more", () => {
    expect(rows("ok").length).toBeGreaterThanOrEqual(23);
  });

  for (const [number, row] of rows("ok").entries()) {
    it(`${row.file} #${row.index} agrees with the SDK, whole and re-chunked`, async () => {
      const everyByte = number < Math.ceil(rows("ok").length * SCALE);
      for (const split of [0, 2 + Math.floor(Math.random() * 60), ...(everyByte ? [1] : [])]) {
        const reply = await read(row, split);
        const { text, toolCalls } = reply;
        const digest = createHash("sha256").update(text).digest("hex").slice(0, 10);
        expect(`${Array.from(text).length} ${digest}`, `split into ${split}`).toBe(row.text);
        expect(usageOf(row, reply), `split into ${split}`).toEqual(JSON.parse(row.usage));
        expect(reply.usage.total).toBe(chunksOf(row).at(-1)?.usageMetadata?.["totalTokenCount"]);
        expect(FINISH[row.finish]).toContain(reply.finishReason);
        const pieces = piecesOf(row);
        if (pieces.every((places) => places.size === 0)) {
          expect(toolCalls.map(({ name, args }) => [name, JSON.stringify(args)])).toEqual(
            JSON.parse(row.calls),
          );
          continue;
        }
        // The oracle lists every piece as a call of its own; ours are put together, each place with its whole text.
        expect(toolCalls.map(({ argsError }) => argsError)).toEqual(pieces.map(() => undefined));
        for (const [index, places] of pieces.entries())
          for (const [path, value] of places) expect(resolve(toolCalls[index]?.args, path), path).toBe(value);
      }
    });

    it(`field A10: ${row.file} #${row.index} cut anywhere before its end is never a finished reply`, async () => {
      const { blocks } = wire(row.file, row.index);
      const whole = blocks.map((_, place) => blocks.slice(0, place));
      const half = blocks.map((block, place) => [
        ...blocks.slice(0, place),
        block.slice(0, Math.ceil(block.length / 2)),
      ]);
      const cuts = [...whole, ...half].flatMap((kept): FakeReply[] => [
        { blocks: kept, ending: "end" },
        { blocks: kept, ending: "destroy" },
      ]);
      const fake = await startFakeModelServer(cuts);
      try {
        for (const { blocks: kept, ending } of cuts)
          await expect(ask(fake.url), `${kept?.length} of ${blocks.length}, ${ending}`).rejects.toMatchObject(
            {
              kind: "network",
            },
          );
      } finally {
        await fake.close();
      }
    });
  }

  for (const row of rows("error")) {
    it(`${row.file} #${row.index} is an error of ours as well`, async () => {
      await expect(read(row, 0)).rejects.toMatchObject({ kind: "not_found", status: 404 });
    });
  }
});

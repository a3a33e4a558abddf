/** Recorded traffic of xAI, read through the real SDK: we agree with what the vendor's own SDK makes of it. */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { Server } from "node:http";
import { fileURLToPath } from "node:url";
import type { ModelReply } from "@openfunctions/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createXaiAdapter } from "./adapter.ts";

const FOLDER = fileURLToPath(new URL("../../../../../shared/fixtures/", import.meta.url));
const present = existsSync(`${FOLDER}ORACLE.tsv`);
const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "1");

interface Row {
  readonly file: string;
  readonly index: number;
  readonly outcome: string;
  readonly finish: string;
  readonly text: string;
  readonly calls: string;
  readonly usage: string;
}

function rows(): Row[] {
  if (!present) return [];
  const lines = readFileSync(`${FOLDER}ORACLE.tsv`, "utf8").split("\n").slice(1);
  return lines.flatMap((line) => {
    const [file = "", index = "", api = "", outcome = "", , finish = "", text = "", calls = "", usage = ""] =
      line.split("\t");
    if (!file.startsWith("xai/") || !api.startsWith("Responses")) return [];
    return [{ file, index: Number(index), outcome, finish, text, calls, usage }];
  });
}

const agreeing = rows().filter(({ outcome }) => outcome === "ok");

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

function read(file: string, how: { index?: number; split?: number; cut?: number } = {}): Promise<ModelReply> {
  const { index = 0, split = 0, cut = 0 } = how;
  return createXaiAdapter({
    model: "recorded",
    apiKey: "sk-recorded-000000",
    baseUrl: `${base}/r/${split}/${cut}/i${index}/${file}`,
    limits: { retries: 0 },
  }).chat({ messages: [{ role: "user", content: "x" }] });
}

function summary({ usage, text, toolCalls }: ModelReply): Pick<Row, "text" | "calls" | "usage"> {
  return {
    text: `${Array.from(text).length} ${createHash("sha256").update(text).digest("hex").slice(0, 10)}`,
    calls: JSON.stringify(toolCalls.map((call) => [call.name, call.argsText])),
    usage: JSON.stringify([usage.input + usage.cacheRead + usage.cacheWrite, usage.output + usage.reasoning]),
  };
}

const END = /"type"\s*:\s*"(response\.(completed|incomplete|failed)|error)"/;

describe.skipIf(!present)("recorded traffic (skipped without ../shared/fixtures)", () => {
  for (const { file, index, finish, text, calls, usage } of agreeing) {
    it(`${file} #${index} agrees with the SDK, whole and re-chunked`, async () => {
      for (const split of [0, 1, 2 + Math.floor(Math.random() * 60)].slice(0, SCALE < 1 ? 2 : 3)) {
        const reply = await read(file, { index, split });
        expect(summary(reply), `split into ${split}`).toEqual({ text, calls, usage });
        expect(reply.finishReason).toBe(finish === "completed" ? "stop" : finish);
      }
    });

    it(`field A10: ${file} #${index} cut after any event is never a finished reply`, async () => {
      const { blocks } = wire(file, index);
      const end = blocks.findIndex((block) => END.test(block));
      const step = Math.max(1, Math.floor(1 / SCALE));
      const places = Array.from({ length: end }, (_, at) => at + 1).filter(
        (place) => place % step === 0 || place === end,
      );
      const cuts = places.flatMap((place) => [place, -place]);
      while (cuts.length > 0) {
        const some = cuts.splice(0, 40);
        const outcomes = await Promise.allSettled(some.map((cut) => read(file, { index, cut })));
        for (const [at, outcome] of outcomes.entries())
          expect(outcome, `cut ${some[at]} of ${end}`).toMatchObject({ reason: { kind: "network" } });
      }
    });
  }

  it("reads every recorded stream of the Responses API", () => {
    expect(agreeing.length).toBe(rows().length);
    expect(agreeing.length).toBeGreaterThanOrEqual(3);
  });

  it("adapters Z23: recorded usage is disjoint, adds up, and agrees with the body", async () => {
    const bodies = ["code-execution-tool.1", "web-search-tool.1", "x-search-tool.1"];
    for (const file of bodies.map((name) => `xai/responses-xai-${name}.json`)) {
      const stated = JSON.parse(readFileSync(FOLDER + file, "utf8")).usage;
      const { input, cacheRead, cacheWrite, output, reasoning, total } = (await read(file)).usage;
      expect(input + cacheRead + cacheWrite + output + reasoning).toBe(total);
      expect({ total, cacheRead, reasoning, output: output + reasoning }).toEqual({
        total: stated.total_tokens,
        cacheRead: stated.input_tokens_details.cached_tokens,
        reasoning: stated.output_tokens_details.reasoning_tokens,
        output: stated.output_tokens,
      });
    }
  });

  it("keeps the encrypted reasoning of a recorded stream, verbatim", async () => {
    const file = "xai/responses-xai-text-with-reasoning-streaming-store-false.1.chunks.txt";
    const lines = readFileSync(FOLDER + file, "utf8")
      .split("\n")
      .filter(Boolean);
    const end = JSON.parse(lines.at(-1) ?? "");
    const [kept] = (await read(file)).parts.filter((part) => part.type === "provider");
    expect(JSON.stringify(kept?.data)).toBe(JSON.stringify(end.response.output[0]));
    expect(JSON.stringify(kept?.data)).toContain("encrypted_content");
  });
});

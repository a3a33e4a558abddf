/** Recorded traffic of OpenRouter, read through the real SDK: we agree with what the vendor's own SDK makes of it. */

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Server } from "node:http";
import { fileURLToPath } from "node:url";
import type { ModelReply } from "@openfunctions/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOpenRouterAdapter } from "./adapter.ts";

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
    if (!file.startsWith("openrouter/") || !api.startsWith("Chat")) return [];
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
  return createOpenRouterAdapter({
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

/** The usage of every recorded answer, by file; undefined where it failed. */
function usages(): { readonly name: string; readonly usages: readonly RecordedUsage[] }[] {
  return readdirSync(`${FOLDER}openrouter`).map((name) => ({
    name: `openrouter/${name}`,
    usages: JSON.parse(readFileSync(`${FOLDER}openrouter/${name}`, "utf8")).map(usageOf),
  }));
}

type RecordedUsage = Record<string, any> | undefined;

function usageOf({ response }: { response: Record<string, any> }): RecordedUsage {
  if (response["bodyText"] === undefined) return response["body"].usage;
  const events = String(response["bodyText"]).match(/\{.*\}/g) ?? [];
  if (events.some((event) => event.includes('"error":{'))) return undefined;
  return events.map((event) => JSON.parse(event).usage).findLast((usage) => usage !== undefined);
}

const END = /"finish_reason"\s*:\s*"[^"]+"|\[DONE\]/;

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

  it("makes a recorded error inside a stream that began with 200 a failure", async () => {
    const file = "openrouter/test_openrouter_stream_error.cassette.json";
    await expect(read(file)).rejects.toMatchObject({
      kind: "invalid_request",
      status: 400,
      message: expect.stringContaining("Token limit reached"),
    });
  });

  it("says what the provider said in a recorded 429", async () => {
    const file = "openrouter/test_openrouter_errors_raised.cassette.json";
    await expect(read(file)).rejects.toMatchObject({
      kind: "rate_limit",
      retryable: true,
      message: expect.stringContaining(
        "Google: google/gemini-2.0-flash-exp:free is temporarily rate-limited",
      ),
    });
  });

  it("adapters Z23: every recorded usage is disjoint, adds up, and has the cost the body states", async () => {
    let seen = 0;
    for (const file of usages()) {
      for (const [index, usage] of file.usages.entries()) {
        if (usage === undefined) continue;
        const reply = await read(file.name, { index });
        const { input, cacheRead, cacheWrite, output, reasoning, total, costUsd } = reply.usage;
        expect(input + cacheRead + cacheWrite + output + reasoning, file.name).toBe(total);
        expect({ total, costUsd, cacheRead, reasoning }, file.name).toEqual({
          total: usage.total_tokens,
          costUsd: usage.cost,
          cacheRead: usage.prompt_tokens_details?.cached_tokens ?? 0,
          reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
        });
        seen += 1;
      }
    }
    expect(seen).toBeGreaterThan(20);
  });

  it("keeps the details of a recorded stream, and says which model answered", async () => {
    const reply = await read("openrouter/test_openrouter_stream_with_reasoning.cassette.json");
    const [kept] = reply.parts.filter((part) => part.type === "provider");
    expect(reply.reportedModel).toBe("openai/o3");
    expect(kept?.data).toMatchObject({
      details: [{ type: "reasoning.encrypted", format: "openai-responses-v1", index: 0 }],
    });
  });
});

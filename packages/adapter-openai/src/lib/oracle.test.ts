/** Recorded traffic of many servers, read through the real SDK: we agree with what the vendor's own SDK makes of it. */

import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { Server } from "node:http";
import { fileURLToPath } from "node:url";
import type { ModelReply } from "@openfunctions/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOpenAIAdapter } from "./adapter.ts";

const FOLDER = fileURLToPath(new URL("../../../../../shared/fixtures/", import.meta.url));
const present = existsSync(`${FOLDER}ORACLE.tsv`);
const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "1");

interface Row {
  readonly file: string;
  readonly index: number;
  readonly api: "responses" | "chat";
  readonly finish: string;
  readonly text: string;
  readonly calls: readonly (readonly [name: string, args: string])[];
  readonly usage: readonly [input: number, output: number];
}

function rows(): Row[] {
  if (!present) return [];
  const lines = readFileSync(`${FOLDER}ORACLE.tsv`, "utf8").split("\n").slice(1);
  return lines.flatMap((line) => {
    const [file = "", index = "", api = "", outcome = "", , finish = "", text = "", calls = "", usage = ""] =
      line.split("\t");
    // Chat completions of xAI are read here: its own adapter speaks the Responses API alone.
    if (!/^(openai|openai-compatible|xai)\//.test(file) || outcome !== "ok") return [];
    if (file.startsWith("xai/") && !api.startsWith("Chat")) return [];
    const isChat = api.startsWith("Chat");
    return [
      {
        file,
        index: Number(index),
        api: isChat ? "chat" : "responses",
        finish,
        text,
        calls: JSON.parse(calls),
        usage: JSON.parse(usage),
      } satisfies Row,
    ];
  });
}

/** Where the SDK's answer is no reading of the stream: it joins Mistral's content parts as "[object Object]". */
const UNREADABLE: readonly string[] = [
  "openai-compatible/mistral-reasoning.chunks.txt",
  "openai-compatible/mistral-test_mistral_model_thinking_part_iter.cassette.json",
];

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

function read(row: Row, how: { readonly split: number; readonly cut: number }): Promise<ModelReply> {
  const baseUrl = `${base}/r/${how.split}/${how.cut}/i${row.index}/${row.file}`;
  return createOpenAIAdapter({
    api: row.api,
    model: "recorded",
    apiKey: "sk-recorded-000000",
    baseUrl,
    limits: { retries: 0 },
  }).chat({ messages: [{ role: "user", content: "x" }] });
}

function summary(reply: ModelReply, file: string): Omit<Row, "file" | "index" | "api" | "finish"> {
  const { usage, text, toolCalls } = reply;
  return {
    text: `${Array.from(text).length} ${createHash("sha256").update(text).digest("hex").slice(0, 10)}`,
    calls: toolCalls.map((call) => [call.name, call.argsText]),
    // The oracle's second number is the wire's own: xAI's chat completions state reasoning beside it, all others within.
    usage: [
      usage.input + usage.cacheRead + usage.cacheWrite,
      usage.output + (/\/xai-t/.test(file) ? 0 : usage.reasoning),
    ],
  };
}

const FINISH: Readonly<Record<string, readonly string[]>> = {
  completed: ["stop", "tool_calls"],
  stop: ["stop"],
  tool_calls: ["tool_calls"],
  length: ["length"],
};
const END =
  /"finish_reason"\s*:\s*"[^"]+"|"type"\s*:\s*"(response\.(completed|incomplete|failed)|error)"|\[DONE\]/;

describe.skipIf(!present)("recorded traffic (skipped without ../shared/fixtures)", () => {
  for (const row of rows()) {
    it(`${row.file} #${row.index} agrees with the SDK, whole and re-chunked`, async () => {
      const { file, finish, text, calls, usage } = row;
      const expected = { text, calls, usage };
      for (const split of [0, 1, 2 + Math.floor(Math.random() * 60)].slice(0, SCALE < 1 ? 2 : 3)) {
        const reply = await read(row, { split, cut: 0 });
        const seen = summary(reply, file);
        const readable = UNREADABLE.includes(file)
          ? { text: expect.not.stringContaining(expected.text) }
          : {};
        expect(seen, `split into ${split}`).toEqual({ ...expected, ...readable });
        expect(FINISH[finish]).toContain(reply.finishReason);
      }
    });

    it(`field A10: ${row.file} #${row.index} cut anywhere before its end is never a finished reply`, async () => {
      const { blocks } = wire(row.file, row.index);
      const end = blocks.findIndex((block) => END.test(block));
      const places = new Set(
        [1, end, ...Array.from({ length: 3 }, () => 1 + Math.floor(Math.random() * Math.max(1, end)))].filter(
          (place) => place >= 1 && place <= end,
        ),
      );
      for (const place of places) {
        for (const cut of [place, -place])
          await expect(read(row, { split: 0, cut }), `cut ${cut} of ${end}`).rejects.toMatchObject({
            kind: "network",
          });
      }
    });
  }
});

/** How Grok's adapter is made, and what it sends. */

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { responsesFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { MODEL_POLICY } from "@openfunctions/core/wire";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createXaiAdapter, type XaiClient } from "./adapter.ts";

afterEach(() => void vi.unstubAllEnvs());

const hi = { messages: [{ role: "user", content: "hi" }] } as const;

async function* events(usage?: object): AsyncGenerator<object> {
  yield { type: "response.output_text.delta", output_index: 0, delta: "hey" };
  yield { type: "response.completed", response: { status: "completed", output: [], usage } };
}

/** A client of a few lines that keeps what it was sent. */
function scripted(usage?: object): { readonly client: XaiClient; readonly bodies: object[] } {
  const bodies: object[] = [];
  return { bodies, client: { responses: { create: async (body) => (bodies.push(body), events(usage)) } } };
}

describe("createXaiAdapter", () => {
  it("adapters A1: without a key throws ConfigError naming the variable", () => {
    vi.stubEnv("XAI_API_KEY", "");
    vi.stubEnv("OPENAI_API_KEY", "sk-of-another-provider");
    expect(() => createXaiAdapter()).toThrow(
      expect.objectContaining({
        code: "missing_key",
        message: expect.stringContaining("XAI_API_KEY"),
        hint: expect.stringContaining("https://console.x.ai"),
      }),
    );
    vi.stubEnv("XAI_API_KEY", "xai-from-the-environment");
    expect(createXaiAdapter().provider).toBe("xai");
  });

  it("takes model, base URL and key from its own variables and not from OpenAI's", async () => {
    const server = await startFakeModelServer([{ blocks: responsesFixtures.stream({ text: ["ok"] }) }]);
    vi.stubEnv("XAI_API_KEY", "xai-from-the-environment");
    vi.stubEnv("XAI_BASE_URL", `${server.url}/base`);
    vi.stubEnv("XAI_MODEL", "grok-from-env");
    vi.stubEnv("OPENAI_BASE_URL", "http://127.0.0.1:1");
    vi.stubEnv("OPENAI_API_KEY", "sk-of-another-provider");
    const adapter = createXaiAdapter({ headers: { "x-mine": "1" } });
    expect((await adapter.chat(hi)).text).toBe("ok");
    const [request] = server.requests;
    expect([request?.path, request?.headers.authorization, request?.headers["x-mine"]]).toEqual([
      "/base/responses",
      "Bearer xai-from-the-environment",
      "1",
    ]);
    expect(JSON.stringify(request?.headers)).not.toContain("another-provider");
    await server.close();
  });

  it.each([undefined, ""])(
    "asks xAI itself where no address is given (%j), also where OpenAI's is",
    async (none) => {
      vi.stubEnv("OPENAI_BASE_URL", "http://127.0.0.1:1");
      vi.stubEnv("XAI_BASE_URL", none);
      const urls: string[] = [];
      const adapter = createXaiAdapter({
        apiKey: "xai-0123456789",
        limits: { retries: 0 },
        fetch: async (input) => {
          urls.push(input instanceof Request ? input.url : String(input));
          return new Response("{}", { status: 503 });
        },
      });
      await expect(adapter.chat(hi)).rejects.toMatchObject({ kind: "overloaded", provider: "xai" });
      expect(urls).toEqual(["https://api.x.ai/v1/responses"]);
    },
  );

  it("sends what xAI takes: no store, encrypted reasoning back, schemas as they are", async () => {
    const { client, bodies } = scripted();
    const inputSchema = {
      type: "object",
      properties: { city: { type: "string", default: "Oslo" } },
    } as const;
    const reply = await createXaiAdapter({ client, role: "expert", reasoning: "max" }).chat({
      ...hi,
      system: "Be brief.",
      tools: [{ name: "get_weather", description: "The weather.", inputSchema }],
      toolChoice: { name: "get_weather" },
      sampling: { temperature: 0.7, topP: 0.95, seed: 1, stop: ["."] },
      maxOutputTokens: 100,
    });
    expect(reply.text).toBe("hey");
    expect(reply.warnings).toEqual([
      { code: "reasoning_changed", detail: expect.stringContaining('"max" was sent as "xhigh"') },
      { code: "sampling_left_out", detail: expect.stringContaining("seed, stop") },
    ]);
    expect(bodies).toMatchInlineSnapshot(`
      [
        {
          "include": [
            "reasoning.encrypted_content",
          ],
          "input": [
            {
              "content": "hi",
              "role": "user",
            },
          ],
          "instructions": "Be brief.",
          "max_output_tokens": 100,
          "model": "grok-4.6",
          "parallel_tool_calls": true,
          "reasoning": {
            "effort": "xhigh",
          },
          "store": false,
          "stream": true,
          "temperature": 0.7,
          "tool_choice": {
            "name": "get_weather",
            "type": "function",
          },
          "tools": [
            {
              "description": "The weather.",
              "name": "get_weather",
              "parameters": {
                "properties": {
                  "city": {
                    "default": "Oslo",
                    "type": "string",
                  },
                },
                "type": "object",
              },
              "strict": false,
              "type": "function",
            },
          ],
          "top_p": 0.95,
        },
      ]
    `);
  });

  it("maps efforts to the levels of the model, and passes them on for a model it does not know", async () => {
    const { client, bodies } = scripted();
    await createXaiAdapter({ client, role: "instant" }).chat({ ...hi, reasoning: "minimal" });
    await createXaiAdapter({ client, role: "instant" }).chat({ ...hi, reasoning: "none" });
    const unknown = await createXaiAdapter({ client, model: "grok-9" }).chat({ ...hi, reasoning: "minimal" });
    expect(bodies.map((body) => Reflect.get(body, "reasoning"))).toEqual([
      { effort: "none" },
      { effort: "none" },
      { effort: "minimal" },
    ]);
    expect(unknown.warnings.map(({ code }) => code)).toEqual(["model_unconfirmed"]);
  });

  it("takes the cost from xAI's own ticks, else from the price", async () => {
    const usage = { input_tokens: 12, output_tokens: 1, total_tokens: 13, cost_in_usd_ticks: 1466250 };
    const stated = await createXaiAdapter({ client: scripted(usage).client }).chat(hi);
    expect(stated.usage.costUsd).toBeCloseTo(0.000146625, 12);
    const { cost_in_usd_ticks: _, ...silent } = usage;
    const priced = await createXaiAdapter({ client: scripted(silent).client }).chat(hi);
    expect(priced.usage.costUsd).toBeCloseTo((12 * 2 + 6) / 1e6, 12);
  });

  it("has a model for every role, each with a source", () => {
    const rows = MODEL_POLICY.filter((row) => row.provider === "xai");
    expect(new Set(rows.flatMap((row) => row.roles)).size).toBe(4);
    expect(createXaiAdapter({ apiKey: "k" }).model).toBe(
      rows.find((row) => row.roles.includes("expert"))?.model,
    );
    for (const row of rows) expect(`${row.source} ${row.price?.source}`).toMatch(/docs\.x\.ai.*genai-prices/);
  });

  it("loads no SDK before the first request", () => {
    const script = `
      const { createXaiAdapter } = await import(${JSON.stringify(new URL("../index.ts", import.meta.url).href)});
      createXaiAdapter({ apiKey: "sk-xxxxxxxx", model: "m" });
    `;
    const hooks = `data:text/javascript,${encodeURIComponent(`import { registerHooks } from "node:module"; registerHooks({ resolve(specifier, context, next) { if (/^openai(\\/|$)/.test(specifier)) throw new Error("the SDK was loaded"); return next(specifier, context); } });`)}`;
    expect(() =>
      execFileSync(process.execPath, ["--import", hooks, "--input-type=module", "-e", script], {
        cwd: fileURLToPath(new URL(".", import.meta.url)),
        stdio: "pipe",
      }),
    ).not.toThrow();
  });
});

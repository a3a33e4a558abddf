/** How OpenRouter's adapter is made, and what it sends. */

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ModelReply } from "@openfunctions/core";
import { openRouterFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createOpenRouterAdapter, type OpenRouterAdapterOptions } from "./adapter.ts";

afterEach(() => void vi.unstubAllEnvs());

const hi = { messages: [{ role: "user", content: "hi" }] } as const;

/** What the adapter makes of these chunks, and the body it sent for them. */
async function ask(
  chunks: readonly object[],
  options: OpenRouterAdapterOptions = {},
): Promise<{ readonly reply: ModelReply; readonly body: Readonly<Record<string, unknown>> }> {
  let body: Readonly<Record<string, unknown>> = {};
  async function* stream(): AsyncGenerator<object> {
    yield* chunks;
  }
  const create = async (sent: object): Promise<AsyncIterable<object>> => ((body = { ...sent }), stream());
  const client = { chat: { completions: { create } } };
  const reply = await createOpenRouterAdapter({ client, limits: { retries: 0 }, ...options }).chat(hi);
  return { reply, body };
}

const said = (usage?: object): object[] => [
  {
    model: "vendor/answered",
    choices: [{ index: 0, delta: { content: "hey" }, finish_reason: "stop" }],
    usage,
  },
];

describe("createOpenRouterAdapter", () => {
  it("adapters A1: without a key throws ConfigError naming the variable", () => {
    vi.stubEnv("OPENROUTER_API_KEY", "");
    vi.stubEnv("OPENAI_API_KEY", "sk-of-another-provider");
    expect(() => createOpenRouterAdapter()).toThrow(
      expect.objectContaining({
        code: "missing_key",
        message: expect.stringContaining("OPENROUTER_API_KEY"),
        hint: expect.stringContaining("https://openrouter.ai"),
      }),
    );
    vi.stubEnv("OPENROUTER_API_KEY", "sk-or-from-the-environment");
    expect(createOpenRouterAdapter().provider).toBe("openrouter");
  });

  it("takes model, base URL and key from its own variables", async () => {
    const server = await startFakeModelServer([{ blocks: openRouterFixtures.stream({ text: ["ok"] }) }]);
    vi.stubEnv("OPENROUTER_API_KEY", "sk-or-from-the-environment");
    vi.stubEnv("OPENROUTER_BASE_URL", `${server.url}/base`);
    vi.stubEnv("OPENROUTER_MODEL", "vendor/from-env");
    vi.stubEnv("OPENAI_BASE_URL", "http://127.0.0.1:1");
    const adapter = createOpenRouterAdapter({ headers: { "x-title": "mine" } });
    expect((await adapter.chat(hi)).text).toBe("ok");
    const [request] = server.requests;
    expect([
      request?.path,
      request?.headers.authorization,
      request?.headers["x-title"],
      adapter.model,
    ]).toEqual(["/base/chat/completions", "Bearer sk-or-from-the-environment", "mine", "vendor/from-env"]);
    await server.close();
  });

  it("is instant where no role is given, and asks for a model where a role has none", () => {
    const adapter = createOpenRouterAdapter({ apiKey: "k" });
    expect(adapter.model).toBe("openai/gpt-6-luna");
    expect(adapter.capabilities.priced).toBe(true);
    expect(() => createOpenRouterAdapter({ apiKey: "k", role: "frontier" })).toThrow(
      expect.objectContaining({ code: "no_model", hint: expect.stringContaining("OPENROUTER_MODEL") }),
    );
  });

  it("sends the routing in OpenRouter's words, the effort as an object, and asks for the cost", async () => {
    const { body, reply } = await ask(said(), {
      model: "vendor/model",
      reasoning: "none",
      routing: {
        models: ["vendor/second"],
        order: ["anthropic"],
        only: ["anthropic", "openai"],
        ignore: ["azure"],
        allowFallbacks: false,
        requireParameters: true,
        dataCollection: "deny",
        zdr: true,
        enforceDistillableText: true,
        quantizations: ["fp8"],
        sort: "latency",
        maxPrice: { prompt: 1, completion: 2 },
      },
    });
    expect(reply.text).toBe("hey");
    expect(reply.reportedModel).toBe("vendor/answered");
    expect(body).toMatchInlineSnapshot(`
      {
        "messages": [
          {
            "content": "hi",
            "role": "user",
          },
        ],
        "model": "vendor/model",
        "models": [
          "vendor/second",
        ],
        "provider": {
          "allow_fallbacks": false,
          "data_collection": "deny",
          "enforce_distillable_text": true,
          "ignore": [
            "azure",
          ],
          "max_price": {
            "completion": 2,
            "prompt": 1,
          },
          "only": [
            "anthropic",
            "openai",
          ],
          "order": [
            "anthropic",
          ],
          "quantizations": [
            "fp8",
          ],
          "require_parameters": true,
          "sort": "latency",
          "zdr": true,
        },
        "reasoning": {
          "effort": "none",
        },
        "stream": true,
        "usage": {
          "include": true,
        },
      }
    `);
  });

  it("sends no routing where none was asked for", async () => {
    const { body } = await ask(said(), { model: "vendor/model", routing: {} });
    expect(Object.keys(body)).toEqual(["model", "stream", "messages", "usage"]);
  });

  it("takes the cost OpenRouter states, with the provider's share where the key is the user's own", async () => {
    const tokens = { prompt_tokens: 9, completion_tokens: 104, total_tokens: 113 };
    const costOf = async (usage: object): Promise<number | undefined> =>
      (await ask(said({ ...tokens, ...usage }))).reply.usage.costUsd;
    const details = { upstream_inference_cost: 0.002 };
    expect(await costOf({ cost: 0.00085, is_byok: false, cost_details: details })).toBe(0.00085);
    expect(await costOf({ cost: 0.0001, is_byok: true, cost_details: details })).toBeCloseTo(0.0021, 12);
    expect(await costOf({ cost: 0, is_byok: false })).toBe(0);
    expect(await costOf({ cost: 0.0001, is_byok: true })).toBeCloseTo((9 * 0.1 + 104 * 0.5) / 1e6, 12);
  });

  it('takes an error, or the finish reason "error", inside a stream for a failure', async () => {
    const chunk = (choice: object, more: object = {}): object => ({
      choices: [{ index: 0, ...choice }],
      ...more,
    });
    const text = chunk({ delta: { content: "so f" }, finish_reason: null });
    const error = { code: 502, message: "Upstream died" };
    const failing = [
      [text, chunk({ delta: { content: "" }, finish_reason: "error" }, { error })],
      [text, chunk({ delta: {}, finish_reason: "error", error })],
    ];
    for (const chunks of failing)
      await expect(ask(chunks)).rejects.toMatchObject({
        kind: "overloaded",
        status: 502,
        retryable: true,
        message: expect.stringContaining("Upstream died"),
      });
    await expect(ask([text, chunk({ delta: {}, finish_reason: "error" })])).rejects.toMatchObject({
      kind: "overloaded",
    });
    await expect(
      ask([{ error: { code: 429, message: "Slow down", metadata: { raw: "queue full" } } }]),
    ).rejects.toMatchObject({ kind: "rate_limit", message: expect.stringContaining("queue full") });
  });

  it("loads no SDK before the first request", () => {
    const script = `
      const { createOpenRouterAdapter } = await import(${JSON.stringify(new URL("../index.ts", import.meta.url).href)});
      createOpenRouterAdapter({ apiKey: "sk-xxxxxxxx", model: "m" });
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

/** How Claude's adapter is made: keys, models, clients, the SDK it loads late. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { Anthropic } from "@anthropic-ai/sdk/client";
import { generateStructured, ProviderError } from "@openfunctions/core";
import { anthropicFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { MODEL_POLICY } from "@openfunctions/core/wire";
import { afterEach, describe, expect, it, vi } from "vitest";
import { messageEvents, sse, text } from "./__fixtures__/events.ts";
import { type AnthropicClient, createAnthropicAdapter } from "./adapter.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const hi = { messages: [{ role: "user", content: "hi" }] } as const;
const whole = { blocks: anthropicFixtures.stream({ text: ["ok"] }) };

describe("createAnthropicAdapter", () => {
  it("adapters A1: without a key throws ConfigError naming the variable", () => {
    vi.stubEnv("ANTHROPIC_API_KEY", "");
    expect(() => createAnthropicAdapter()).toThrow(
      expect.objectContaining({
        code: "missing_key",
        message: expect.stringContaining("ANTHROPIC_API_KEY"),
        hint: expect.stringContaining("https://platform.claude.com"),
      }),
    );
    vi.stubEnv("ANTHROPIC_API_KEY", "sk-ant-from-the-environment");
    expect(createAnthropicAdapter()).toMatchObject({ provider: "anthropic", model: "claude-sonnet-5-5" });
  });

  it("adapters A10: a 401 is auth, asked once, and the key is nowhere", async () => {
    const apiKey = "sk-ant-0123456789abcdef";
    const json = {
      type: "error",
      error: { type: "authentication_error", message: `invalid x-api-key: ${apiKey}` },
    };
    const server = await startFakeModelServer([{ status: 401, json }]);
    const failure = await createAnthropicAdapter({ apiKey, baseUrl: server.url })
      .chat(hi)
      .catch((error: unknown) => error);
    await server.close();
    if (!(failure instanceof ProviderError)) throw failure;
    expect(failure).toMatchObject({ kind: "auth", status: 401, attempts: 1 });
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${apiKey}`);
    const everything = `${inspect(failure, { depth: 10, showHidden: true })} ${JSON.stringify(failure)} ${failure.stack} ${failure.bodyExcerpt}`;
    expect(everything + server.requests[0]?.path).not.toContain(apiKey);
  });

  it("adapters A7: a fresh adapter sends all of a history of three messages", async () => {
    const server = await startFakeModelServer([whole]);
    const messages = [
      { role: "user", content: "one" },
      { role: "assistant", content: "two" },
      { role: "user", content: "three" },
    ] as const;
    await createAnthropicAdapter({ apiKey: "sk-xxxxxxxx", baseUrl: server.url }).chat({ messages });
    expect(server.requests[0]?.body).toMatchObject({
      messages: ["one", "two", "three"].map((said) => ({ content: [{ type: "text", text: said }] })),
    });
    await server.close();
  });

  it("takes model, base URL and key from the environment, and no other credential", async () => {
    const server = await startFakeModelServer([whole]);
    vi.stubEnv("ANTHROPIC_API_KEY", "sk-ant-from-the-environment");
    vi.stubEnv("ANTHROPIC_AUTH_TOKEN", "another-credential");
    vi.stubEnv("ANTHROPIC_BASE_URL", `${server.url}/base`);
    vi.stubEnv("ANTHROPIC_MODEL", "model-from-env");
    const adapter = createAnthropicAdapter({ headers: { "x-mine": "1" } });
    expect((await adapter.chat(hi)).text).toBe("ok");
    const [request] = server.requests;
    expect([
      request?.path,
      request?.headers.authorization,
      request?.headers["x-mine"],
      adapter.model,
    ]).toEqual(["/base/v1/messages", "Bearer sk-ant-from-the-environment", "1", "model-from-env"]);
    await server.close();
  });

  it("takes a client of a few lines in place of the SDK, and needs no key then", async () => {
    vi.stubEnv("ANTHROPIC_API_KEY", "");
    const bodies: object[] = [];
    async function* events(): AsyncGenerator<object> {
      yield* messageEvents([text("hey")]);
    }
    const client: AnthropicClient = {
      messages: { create: async (body) => (bodies.push(body), events()) },
    };
    const reply = await createAnthropicAdapter({ client, model: "m" }).chat(hi);
    expect(reply.text).toBe("hey");
    expect(reply.warnings.map((warning) => warning.code)).toEqual(["model_unconfirmed"]);
    expect(bodies).toEqual([
      {
        model: "m",
        stream: true,
        cache_control: { type: "ephemeral" },
        messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
        max_tokens: 32_000,
      },
    ]);
  });

  it("takes the SDK's own client too", async () => {
    const server = await startFakeModelServer([whole]);
    const client = new Anthropic({ apiKey: "sk-mine", baseURL: server.url, maxRetries: 0 });
    expect((await createAnthropicAdapter({ client }).chat(hi)).text).toBe("ok");
    expect(server.requests[0]?.headers.authorization).toBe("Bearer sk-mine");
    await server.close();
  });

  it("sends the effort of its options where a request names none, and the model's own largest answer", async () => {
    const server = await startFakeModelServer([whole, whole]);
    const adapter = createAnthropicAdapter({
      apiKey: "sk-xxxxxxxx",
      baseUrl: server.url,
      role: "instant",
      reasoning: "high",
    });
    await adapter.chat(hi);
    await adapter.chat({ ...hi, reasoning: "low" });
    expect(server.requests.map((request) => request.body)).toMatchObject([
      { model: "claude-haiku-5-5", output_config: { effort: "high" }, max_tokens: 128_000 },
      { output_config: { effort: "low" } },
    ]);
    expect(adapter.capabilities).toMatchObject({ priced: true, jsonSchema: true, forcedChoice: true });
    await server.close();
  });

  it("gives structured answers through the model's own JSON mode", async () => {
    const server = await startFakeModelServer([{ blocks: sse(messageEvents([text('{"n":', "4}")])) }]);
    const adapter = createAnthropicAdapter({ apiKey: "sk-xxxxxxxx", baseUrl: server.url });
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } as const;
    expect((await generateStructured(adapter, { schema, prompt: "4?" })).value).toEqual({ n: 4 });
    expect(server.requests[0]?.body).toMatchObject({
      output_config: { format: { type: "json_schema", schema: { additionalProperties: false } } },
    });
    expect(server.requests[0]?.body).not.toHaveProperty("tools");
    await server.close();
  });

  it("prints nothing, also for a model whose end the SDK would announce", async () => {
    const printed = (["log", "info", "warn", "error", "debug"] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => {}),
    );
    vi.stubEnv("ANTHROPIC_LOG", "debug");
    const server = await startFakeModelServer([whole]);
    await createAnthropicAdapter({
      apiKey: "sk-xxxxxxxx",
      baseUrl: server.url,
      model: "claude-opus-4-5",
    }).chat(hi);
    await server.close();
    expect(printed.flatMap((spy) => spy.mock.calls)).toEqual([]);
  });

  it("names only models of the SDK's own list in the policy table", () => {
    const list = readFileSync(
      createRequire(import.meta.url)
        .resolve("@anthropic-ai/sdk/resources/messages/messages.js")
        .replace(/\.js$/, ".d.ts"),
      "utf8",
    );
    const rows = MODEL_POLICY.filter((candidate) => candidate.provider === "anthropic");
    expect(rows.map(({ roles }) => roles[0])).toEqual(["instant", "expert", "frontier"]);
    for (const row of rows) expect(list).toContain(`'${row.model}'`);
  });

  it("loads no SDK before the first request", () => {
    const script = `
      const { createAnthropicAdapter } = await import(${JSON.stringify(new URL("../index.ts", import.meta.url).href)});
      createAnthropicAdapter({ apiKey: "sk-xxxxxxxx" });
    `;
    const hooks = `data:text/javascript,${encodeURIComponent(`import { registerHooks } from "node:module"; registerHooks({ resolve(specifier, context, next) { if (specifier.startsWith("@anthropic-ai/")) throw new Error("the SDK was loaded"); return next(specifier, context); } });`)}`;
    expect(() =>
      execFileSync(process.execPath, ["--import", hooks, "--input-type=module", "-e", script], {
        cwd: fileURLToPath(new URL(".", import.meta.url)),
        stdio: "pipe",
      }),
    ).not.toThrow();
  });
});

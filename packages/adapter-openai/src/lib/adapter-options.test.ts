/** How the OpenAI adapter is made: keys, models, clients, the SDK it loads late. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { responsesFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { MODEL_POLICY } from "@openfunctions/core/wire";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createOpenAIAdapter, type OpenAIClient } from "./adapter.ts";

afterEach(() => void vi.unstubAllEnvs());

const hi = { messages: [{ role: "user", content: "hi" }] } as const;

describe("createOpenAIAdapter", () => {
  it("adapters A1: without a key throws ConfigError naming the variable", () => {
    vi.stubEnv("OPENAI_API_KEY", "");
    expect(() => createOpenAIAdapter()).toThrow(
      expect.objectContaining({
        code: "missing_key",
        message: expect.stringContaining("OPENAI_API_KEY"),
        hint: expect.stringContaining("https://platform.openai.com"),
      }),
    );
    vi.stubEnv("OPENAI_API_KEY", "sk-from-the-environment");
    expect(createOpenAIAdapter().provider).toBe("openai");
  });

  it("takes model, base URL and key from the environment", async () => {
    const server = await startFakeModelServer([{ blocks: responsesFixtures.stream({ text: ["ok"] }) }]);
    vi.stubEnv("OPENAI_API_KEY", "sk-from-the-environment");
    vi.stubEnv("OPENAI_BASE_URL", `${server.url}/base`);
    vi.stubEnv("OPENAI_MODEL", "model-from-env");
    const adapter = createOpenAIAdapter({ headers: { "x-mine": "1" } });
    expect((await adapter.chat(hi)).text).toBe("ok");
    const [request] = server.requests;
    expect([
      request?.path,
      request?.headers.authorization,
      request?.headers["x-mine"],
      adapter.model,
    ]).toEqual(["/base/responses", "Bearer sk-from-the-environment", "1", "model-from-env"]);
    await server.close();
  });

  it("takes a client of a few lines in place of the SDK, and needs no key then", async () => {
    vi.stubEnv("OPENAI_API_KEY", "");
    const bodies: object[] = [];
    async function* events(): AsyncGenerator<object> {
      yield { type: "response.output_text.delta", output_index: 0, delta: "hey" };
      yield { type: "response.completed", response: { status: "completed", output: [] } };
    }
    const create = async (body: object): Promise<AsyncIterable<object>> => (bodies.push(body), events());
    const client: OpenAIClient = { responses: { create }, chat: { completions: { create } } };
    const reply = await createOpenAIAdapter({ client, model: "m" }).chat(hi);
    expect(reply.text).toBe("hey");
    expect(reply.warnings.map((warning) => warning.code)).toEqual(["model_unconfirmed"]);
    expect(bodies).toEqual([
      {
        model: "m",
        store: false,
        stream: true,
        include: ["reasoning.encrypted_content"],
        input: [{ role: "user", content: "hi" }],
      },
    ]);
  });

  it("adapters A7: a fresh adapter sends all three messages of a history", async () => {
    const server = await startFakeModelServer([{ blocks: responsesFixtures.stream({ text: ["ok"] }) }]);
    const words = ["first", "second", "third"];
    await createOpenAIAdapter({ apiKey: "sk-xxxxxxxx", baseUrl: server.url, role: "instant" }).chat({
      messages: words.map((content, index) => ({ role: index === 1 ? "assistant" : "user", content })),
    });
    const input: unknown = Object(server.requests[0]?.body).input;
    expect(input).toMatchObject(words.map((content) => ({ content })));
    await server.close();
  });

  it("sends the effort of its options where a request names none", async () => {
    const server = await startFakeModelServer(
      [1, 2].map(() => ({ blocks: responsesFixtures.stream({ text: ["ok"] }) })),
    );
    const adapter = createOpenAIAdapter({
      apiKey: "sk-xxxxxxxx",
      baseUrl: server.url,
      role: "instant",
      reasoning: "high",
    });
    await adapter.chat(hi);
    await adapter.chat({ ...hi, reasoning: "low" });
    expect(server.requests.map((request) => request.body)).toMatchObject([
      { reasoning: { effort: "high" } },
      { reasoning: { effort: "low" } },
    ]);
    expect(adapter.capabilities.priced).toBe(true);
    await server.close();
  });

  it("names only models of the SDK's own list in the policy table", () => {
    const list = readFileSync(
      createRequire(import.meta.url)
        .resolve("openai/resources/shared.js")
        .replace(/\.js$/, ".d.ts"),
      "utf8",
    );
    for (const row of MODEL_POLICY.filter((candidate) => candidate.provider === "openai"))
      expect(list).toContain(`'${row.model}'`);
  });

  it("loads no SDK before the first request", () => {
    const script = `
      const { createOpenAIAdapter } = await import(${JSON.stringify(new URL("../index.ts", import.meta.url).href)});
      createOpenAIAdapter({ apiKey: "sk-xxxxxxxx" });
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

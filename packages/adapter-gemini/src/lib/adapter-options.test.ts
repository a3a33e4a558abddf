/** How the Gemini adapter is made: keys, models, clients, the SDK it loads late. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { GoogleGenAI } from "@google/genai/web";
import { geminiFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { MODEL_POLICY } from "@openfunctions/core/wire";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createGeminiAdapter, type GeminiClient, type GeminiParams } from "./adapter.ts";
import { HI, KEY, sent } from "./__fixtures__/ask.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

describe("createGeminiAdapter", () => {
  it("adapters A1: without a key throws ConfigError naming both variables", () => {
    vi.stubEnv("GEMINI_API_KEY", "");
    vi.stubEnv("GOOGLE_API_KEY", "");
    expect(() => createGeminiAdapter()).toThrow(
      expect.objectContaining({
        code: "missing_key",
        message: expect.stringMatching(/GEMINI_API_KEY.*GOOGLE_API_KEY/),
        hint: expect.stringContaining("https://aistudio.google.com"),
      }),
    );
    vi.stubEnv("GOOGLE_API_KEY", KEY);
    const adapter = createGeminiAdapter();
    expect([adapter.provider, adapter.model, adapter.capabilities.priced]).toEqual([
      "gemini",
      "gemini-3.8-flash",
      true,
    ]);
  });

  it("takes model, base URL and key from the environment, GEMINI_API_KEY first, and prints nothing", async () => {
    const server = await startFakeModelServer([{ blocks: geminiFixtures.stream({ text: ["ok"] }) }]);
    const spies = (["warn", "log", "debug", "info", "error"] as const).map((name) => vi.spyOn(console, name));
    vi.stubEnv("GEMINI_API_KEY", KEY);
    vi.stubEnv("GOOGLE_API_KEY", "AIza-the-other-key");
    vi.stubEnv("GEMINI_MODEL", "model-from-env");
    vi.stubEnv("GEMINI_BASE_URL", `${server.url}/base`);
    vi.stubEnv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1");
    const adapter = createGeminiAdapter({ headers: { "x-mine": "1" } });
    expect((await adapter.chat(HI)).text).toBe("ok");
    const [request] = server.requests;
    expect([
      request?.path,
      request?.headers["x-goog-api-key"],
      request?.headers["x-mine"],
      adapter.model,
    ]).toEqual([
      "/base/v1beta/models/model-from-env:streamGenerateContent?alt=sse",
      KEY,
      "1",
      "model-from-env",
    ]);
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
    await server.close();
  });

  it("goes where it is told, whatever the SDK's own variables say", async () => {
    vi.stubEnv("GOOGLE_GENAI_USE_VERTEXAI", "true");
    vi.stubEnv("GOOGLE_GENAI_USE_ENTERPRISE", "true");
    vi.stubEnv("GOOGLE_GENAI_API_VERSION", "v9");
    vi.stubEnv("GOOGLE_CLOUD_PROJECT", "p");
    vi.stubEnv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1");
    const { request } = await sent(HI);
    expect(request.path).toBe("/v1beta/models/m:streamGenerateContent?alt=sse");
  });

  it("adapters A20: the key is in its header and nowhere else", async () => {
    const { request } = await sent(HI);
    expect(request.headers["x-goog-api-key"]).toBe(KEY);
    const { "x-goog-api-key": _, ...others } = request.headers;
    expect(`${request.path} ${request.text} ${JSON.stringify(others)}`).not.toContain(KEY);
  });

  it("encodes the model's name in the path, and refuses one that would leave it", async () => {
    expect((await sent(HI, { model: "a b?c#d%2e" })).request.path).toBe(
      "/v1beta/models/a%20b%3Fc%23d%252e:streamGenerateContent?alt=sse",
    );
    expect((await sent(HI, { model: "tunedModels/mine" })).request.path).toBe(
      "/v1beta/tunedModels/mine:streamGenerateContent?alt=sse",
    );
    for (const model of ["../files", "..", "a//b", "models/../x"])
      expect(() => createGeminiAdapter({ apiKey: KEY, model })).toThrow(
        /cannot be the name of a Gemini model/,
      );
  });

  it("uses the fetch it is given for every request", async () => {
    const urls: string[] = [];
    const spy: typeof fetch = (input, init) => {
      urls.push(input instanceof Request ? input.url : input.toString());
      return fetch(input, init);
    };
    await sent(HI, { fetch: spy });
    await sent(HI, { ports: { fetch: spy } });
    expect(urls).toHaveLength(2);
  });

  it("sends one request per attempt: the SDK retries nothing", async () => {
    const server = await startFakeModelServer([1, 2, 3].map(() => geminiFixtures.failures.serverError));
    const adapter = createGeminiAdapter({ apiKey: KEY, baseUrl: server.url, limits: { retries: 0 } });
    await expect(adapter.chat(HI)).rejects.toMatchObject({ status: 500, attempts: 1 });
    expect(server.requests).toHaveLength(1);
    await server.close();
  });

  it("sends the effort of its options where a request names none", async () => {
    const options = { model: "gemini-3.8-flash", reasoning: "high" } as const;
    const thinking = async (request: Parameters<typeof sent>[0]): Promise<unknown> =>
      Object(Object((await sent(request, options)).body).generationConfig).thinkingConfig;
    expect(await thinking(HI)).toEqual({ thinkingLevel: "HIGH", includeThoughts: true });
    expect(await thinking({ ...HI, reasoning: "low" })).toEqual({
      thinkingLevel: "LOW",
      includeThoughts: true,
    });
  });
});

describe("a client of one's own", () => {
  it("is a few lines, needs no key, and gets nothing it has not asked for", async () => {
    vi.stubEnv("GEMINI_API_KEY", "");
    vi.stubEnv("GOOGLE_API_KEY", "");
    const calls: GeminiParams[] = [];
    async function* chunks(): AsyncGenerator<object> {
      yield { candidates: [{ content: { parts: [{ text: "hey" }] }, finishReason: "STOP" }] };
    }
    const client: GeminiClient = {
      models: { generateContentStream: async (params) => (calls.push(params), chunks()) },
    };
    const reply = await createGeminiAdapter({ client, model: "m" }).chat(HI);
    expect(reply.text).toBe("hey");
    expect(reply.warnings.map((warning) => warning.code)).toEqual(["model_unconfirmed"]);
    expect(calls).toEqual([
      {
        model: "m",
        contents: [{ role: "user", parts: [{ text: "hi" }] }],
        config: { abortSignal: expect.any(AbortSignal), automaticContinuation: false },
      },
    ]);
    for (const own of [{ baseUrl: "http://127.0.0.1" }, { fetch }, { headers: {} }])
      expect(() => createGeminiAdapter({ client, model: "m", ...own })).toThrow(
        expect.objectContaining({ code: "unsupported" }),
      );
  });

  it("may be the SDK's own, whose connection is closed at the end and at an abort", async () => {
    const server = await startFakeModelServer([
      { blocks: geminiFixtures.stream({ text: ["a", "b"] }), ending: "stall" },
      { blocks: geminiFixtures.stream({ text: ["a", "b"] }), cutAfter: 2, ending: "stall" },
      { blocks: geminiFixtures.stream({ text: ["a", "b"] }), cutAfter: 2 },
    ]);
    const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: server.url } });
    const adapter = createGeminiAdapter({ client, model: "m", limits: { retries: 0 } });
    expect((await adapter.chat(HI)).text).toBe("ab");
    expect(await server.requests[0]?.left).toBe(true);
    for await (const event of adapter.stream(HI)) if (event.type === "text_delta") break;
    expect(await server.requests[1]?.left).toBe(true);
    await expect(adapter.chat(HI)).rejects.toMatchObject({ kind: "network" });
    await server.close();
  });
});

describe("the SDK", () => {
  it("lists every model of the policy table", () => {
    const list = readFileSync(
      createRequire(import.meta.url)
        .resolve("@google/genai")
        .replace(/dist\/.*$/, "dist/web/web.d.ts"),
      "utf8",
    );
    const rows = MODEL_POLICY.filter((candidate) => candidate.provider === "gemini");
    expect(rows.length).toBeGreaterThan(0);
    const [models = ""] = /declare type Model_2 = [^;]*/.exec(list) ?? [];
    for (const { model } of rows) expect(models).toContain(`"${model}"`);
  });

  it("is not loaded before the first request", () => {
    const script = `
      const { createGeminiAdapter } = await import(${JSON.stringify(new URL("../index.ts", import.meta.url).href)});
      createGeminiAdapter({ apiKey: "key-0123456789" });
    `;
    const hooks = `data:text/javascript,${encodeURIComponent(`import { registerHooks } from "node:module"; registerHooks({ resolve(specifier, context, next) { if (/^@google\\//.test(specifier)) throw new Error("the SDK was loaded"); return next(specifier, context); } });`)}`;
    const run = (more: string): unknown =>
      execFileSync(process.execPath, ["--import", hooks, "--input-type=module", "-e", script + more], {
        cwd: fileURLToPath(new URL(".", import.meta.url)),
        stdio: "pipe",
      });
    expect(() => run("")).not.toThrow();
    expect(() => run('await import("@google/genai/web");')).toThrow(/the SDK was loaded/);
  });
});

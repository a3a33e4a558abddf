/** Which model answers, by what is asked for and by what the environment holds. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startFakeModelServer } from "@openfunctions/core/testing";
import { resolveModel } from "@openfunctions/core/wire";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { chooseAdapter, wishLike } from "./choose-adapter.ts";
import { HOSTED_PROVIDERS } from "./providers.ts";

const KEYS = HOSTED_PROVIDERS.flatMap(({ keys }) => keys);

// No server of this machine is asked: what looks for one goes through the global fetch.
const asked: string[] = [];
beforeEach(() => {
  asked.length = 0;
  vi.stubGlobal("fetch", async (input: string) => {
    asked.push(input);
    throw new TypeError("fetch failed");
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

/** What a provider is asked for by default. */
const usual = (provider: string): string => `${provider}/${resolveModel({ provider }).model}`;

/** A choice as `provider/model`, and why. */
async function choice(
  environment: NodeJS.ProcessEnv,
  wish: { provider?: string; model?: string } = {},
): Promise<readonly [string, string]> {
  const { adapter, reason } = await chooseAdapter({ ...wish, environment });
  return [`${adapter.provider}/${adapter.model}`, reason];
}

describe("chooseAdapter by name", () => {
  it.each([
    ["gemini", usual("gemini")],
    ["google", usual("gemini")],
    ["openai", usual("openai")],
    ["anthropic", usual("anthropic")],
    ["claude", usual("anthropic")],
    ["openrouter", usual("openrouter")],
    ["xai", usual("xai")],
    ["grok", usual("xai")],
    ["offline", "offline/offline"],
  ])("takes %s, in any case", async (provider, expected) => {
    const environment = Object.fromEntries(KEYS.map((name) => [name, "key"]));
    for (const name of [provider, provider.toUpperCase()])
      expect(await choice(environment, { provider: name })).toEqual([expected, "you asked for it"]);
    expect(asked).toEqual([]);
  });

  it.each(["ollama", "lmstudio", "llamacpp", "vllm", "local"])("takes %s at LOCAL_BASE_URL", async (id) => {
    const environment = { LOCAL_BASE_URL: "http://127.0.0.1:9/v1/", LOCAL_MODEL: "small", XAI_API_KEY: "k" };
    expect(await choice(environment, { provider: id })).toEqual([`${id}/small`, "LOCAL_BASE_URL is set"]);
    expect(asked).toEqual([]);
  });

  it("lets --model win over the variable, and the variable over the table", async () => {
    const environment = { ANTHROPIC_API_KEY: "k", ANTHROPIC_MODEL: "claude-opus-5-5" };
    const provider = "claude";
    expect((await choice(environment, { provider }))[0]).toBe("anthropic/claude-opus-5-5");
    expect((await choice(environment, { provider, model: "claude-haiku-5-5" }))[0]).toBe(
      "anthropic/claude-haiku-5-5",
    );
  });

  it("names every provider where there is no such one, and the variable where the key is missing", async () => {
    const unknown = chooseAdapter({ provider: "zz", environment: {} });
    const names = [...HOSTED_PROVIDERS.flatMap(({ id, aliases }) => [id, ...aliases]), "ollama", "offline"];
    for (const name of names)
      await expect(unknown).rejects.toMatchObject({ hint: expect.stringContaining(name) });
    for (const { id, keys } of HOSTED_PROVIDERS) {
      for (const name of keys) vi.stubEnv(name, "a key of the process, not of the environment given");
      await expect(chooseAdapter({ provider: id, environment: {} })).rejects.toMatchObject({
        code: "missing_key",
        message: expect.stringContaining(keys[0] ?? ""),
      });
    }
  });

  it("does not take a model for the offline adapter", async () => {
    for (const wish of [{ provider: "offline", model: "m" }, { model: "m" }])
      await expect(chooseAdapter({ ...wish, environment: {} })).rejects.toMatchObject({
        code: "invalid_config",
      });
  });
});

describe("chooseAdapter by the environment", () => {
  it("takes the first key of a fixed order, and says which variable it was", async () => {
    const expected = [
      ["GEMINI_API_KEY", usual("gemini")],
      ["GOOGLE_API_KEY", usual("gemini")],
      ["OPENAI_API_KEY", usual("openai")],
      ["ANTHROPIC_API_KEY", usual("anthropic")],
      ["OPENROUTER_API_KEY", usual("openrouter")],
      ["XAI_API_KEY", usual("xai")],
    ];
    for (const [place, [name, model]] of expected.entries()) {
      const environment = Object.fromEntries(expected.slice(place).map(([key = ""]) => [key, "key"]));
      expect(await choice(environment)).toEqual([model, `${name} is set`]);
    }
    expect(asked).toEqual([]);
  });

  it("takes a variable that is set to nothing for one that is not set", async () => {
    const environment = { GEMINI_API_KEY: "", XAI_API_KEY: "k", XAI_MODEL: "", XAI_BASE_URL: "" };
    expect(await choice(environment)).toEqual([usual("xai"), "XAI_API_KEY is set"]);
  });

  it("looks for local servers after the keys, and is offline without one", async () => {
    expect(await choice({})).toEqual(["offline/offline", "there is no key and no local model server"]);
    expect(asked.map((url) => new URL(url).port)).toEqual(["11434", "1234", "8080", "8000"]);
  });

  it("takes the first model of the server at LOCAL_BASE_URL, unless one is named", async () => {
    vi.unstubAllGlobals();
    const server = await startFakeModelServer([{ json: { data: [{ id: "first" }, { id: "second" }] } }]);
    const LOCAL_BASE_URL = `${server.url}/v1`;
    expect(await choice({ LOCAL_BASE_URL })).toEqual(["local/first", "LOCAL_BASE_URL is set"]);
    expect((await choice({ LOCAL_BASE_URL }, { model: "mine" }))[0]).toBe("local/mine");
    expect((await choice({ LOCAL_BASE_URL, LOCAL_MODEL: "set" }))[0]).toBe("local/set");
    expect(server.requests.map(({ path }) => path)).toEqual(["/v1/models"]);
    await server.close();
    await expect(choice({ LOCAL_BASE_URL })).rejects.toMatchObject({ code: "no_model" });
  });

  it("takes the wished model of a server that answers, and says which server", async () => {
    vi.stubGlobal("fetch", async (input: string) => {
      if (!input.includes(":1234/")) throw new TypeError("fetch failed");
      return Response.json({ data: [{ id: "loaded" }] });
    });
    const reason = "lmstudio answers at http://127.0.0.1:1234/v1";
    expect(await choice({})).toEqual(["lmstudio/loaded", reason]);
    expect(await choice({ LOCAL_MODEL: "mine" }, { provider: "lmstudio" })).toEqual([
      "lmstudio/mine",
      reason,
    ]);
    await expect(choice({}, { provider: "vllm" })).rejects.toMatchObject({ code: "no_model" });
  });
});

describe("wishLike", () => {
  const asked = { provider: "anthropic", requested: "claude-haiku-5-5" };

  it("asks what was asked, unless another provider or model is named", () => {
    expect(wishLike(asked, {})).toEqual({ provider: "anthropic", model: "claude-haiku-5-5" });
    expect(wishLike(asked, { model: "claude-opus-5-5" })).toEqual({
      provider: "anthropic",
      model: "claude-opus-5-5",
    });
    expect(wishLike(asked, { provider: "grok" })).toEqual({ provider: "grok" });
    expect(wishLike({ provider: "offline", requested: "offline" }, {})).toEqual({ provider: "offline" });
  });
});

describe(".env.example", () => {
  it("names every variable of every provider", () => {
    const text = readFileSync(join(import.meta.dirname, "..", "..", "..", "..", ".env.example"), "utf8");
    const prefixes = HOSTED_PROVIDERS.map(({ id }) => id.toUpperCase());
    const names = [
      ...KEYS,
      ...[...prefixes, "LOCAL"].flatMap((prefix) => [`${prefix}_MODEL`, `${prefix}_BASE_URL`]),
    ];
    for (const name of [...names, "LOCAL_API_KEY"]) expect(text).toMatch(new RegExp(`^# ${name}=`, "m"));
  });
});

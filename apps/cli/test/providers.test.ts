/** The command line with each provider, as a process: who is asked, with which key, and what is loaded for it. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type FakeModelServer,
  type WireFixtures,
  anthropicFixtures,
  chatFixtures,
  geminiFixtures,
  openRouterFixtures,
  responsesFixtures,
  startFakeModelServer,
} from "@openfunctions/core/testing";
import { resolveModel } from "@openfunctions/core/wire";
import { beforeAll, describe, expect, it } from "vitest";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");
const KEY = "key-of-the-user-0123456789";

/** Writes the address of every module that is loaded into the file LOADED. */
const WATCH = `data:text/javascript,${encodeURIComponent(`
  import { appendFileSync } from "node:fs";
  import { registerHooks } from "node:module";
  registerHooks({
    load(url, context, next) {
      appendFileSync(process.env.LOADED, url + "\\n");
      return next(url, context);
    },
  });
`)}`;

/** Makes Node not find the package MISSING. */
const HIDE = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({
    resolve(specifier, context, next) {
      const parentURL = specifier === process.env.MISSING ? "file:///nowhere/main.js" : context.parentURL;
      return next(specifier, { ...context, parentURL });
    },
  });
`)}`;

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "openfunctions-cli-providers-"));
});

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The adapter packages and the SDKs of vendors that were loaded, sorted. */
  readonly loaded: readonly string[];
}

let count = 0;

/** Runs the command with nothing of this machine's providers, and with `env`. */
async function command(args: readonly string[], env: NodeJS.ProcessEnv, hook = WATCH): Promise<Outcome> {
  const kept = Object.entries(process.env).filter(([name]) => !/(_API_KEY|_MODEL|_BASE_URL)$/.test(name));
  const loaded = join(home, `loaded-${(count += 1)}.txt`);
  const outcome = await new Promise<Omit<Outcome, "loaded">>((resolve) => {
    execFile(
      process.execPath,
      ["--import", hook, MAIN, ...args],
      {
        env: { ...Object.fromEntries(kept), OPENFUNCTIONS_HOME: home, LOADED: loaded, ...env },
        timeout: 60_000,
      },
      (error, stdout, stderr) => {
        const code = typeof error?.code === "number" ? error.code : error === null ? 0 : -1;
        resolve({ code, stdout, stderr });
      },
    );
  });
  const urls = await readFile(loaded, "utf8").catch(() => "");
  const names = urls.matchAll(
    /\/(?:packages\/(adapter-\w+)|node_modules\/(openai|@anthropic-ai\/sdk|@google\/genai))\//g,
  );
  return {
    ...outcome,
    loaded: [...new Set([...names].map(([, ours, theirs]) => ours ?? theirs ?? ""))].toSorted(),
  };
}

interface Case {
  readonly id: string;
  readonly alias: string;
  readonly fixtures: WireFixtures;
  readonly path: string;
  readonly loaded: readonly string[];
}

const HOSTED: readonly Case[] = [
  {
    id: "anthropic",
    alias: "Claude",
    fixtures: anthropicFixtures,
    path: "/v1/messages",
    loaded: ["@anthropic-ai/sdk", "adapter-anthropic"],
  },
  {
    id: "gemini",
    alias: "Google",
    fixtures: geminiFixtures,
    path: "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
    loaded: ["@google/genai", "adapter-gemini"],
  },
  {
    id: "openai",
    alias: "OpenAI",
    fixtures: responsesFixtures,
    path: "/responses",
    loaded: ["adapter-openai", "openai"],
  },
  {
    id: "openrouter",
    alias: "OpenRouter",
    fixtures: openRouterFixtures,
    path: "/chat/completions",
    loaded: ["adapter-openrouter", "openai"],
  },
  {
    id: "xai",
    alias: "Grok",
    fixtures: responsesFixtures,
    path: "/responses",
    loaded: ["adapter-xai", "openai"],
  },
];

async function withServer(
  fixtures: WireFixtures,
  body: (server: FakeModelServer) => Promise<void>,
): Promise<void> {
  const calls = [{ id: "call_1", name: "calculate", args: ['{"expression":"6 * 7"}'] }];
  const replies = [{ calls }, { text: ["It is ", "42."] }];
  const server = await startFakeModelServer(replies.map((reply) => ({ blocks: fixtures.stream(reply) })));
  try {
    await body(server);
  } finally {
    await server.close();
  }
}

describe("openfunctions run with a provider", () => {
  it.each(HOSTED)("$id answers with its key alone, and nothing of another is loaded", async (its) => {
    const { id, fixtures, path, loaded } = its;
    const prefix = id.toUpperCase();
    await withServer(fixtures, async (server) => {
      const env = { [`${prefix}_API_KEY`]: KEY, [`${prefix}_BASE_URL`]: server.url };
      const result = await command(["run", "what is 6 * 7", "--json"], env);
      expect(result).toMatchObject({ code: 0, loaded });
      expect(JSON.parse(result.stdout)).toMatchObject({
        status: "completed",
        text: "It is 42.",
        toolCalls: [{ name: "calculate", outcome: "succeeded", result: expect.anything() }],
      });
      const { model } = resolveModel({ provider: id });
      expect(result.stderr).toContain(`${id}/${model} (${prefix}_API_KEY is set)`);
      expect(server.requests.map((request) => request.path)).toEqual([path, path]);
      expect(JSON.stringify(server.requests[1]?.headers)).toContain(KEY);
      expect(server.requests[1]?.text).toContain("42");
      expect(`${result.stdout}${result.stderr}`).not.toContain(KEY);
    });
  });

  it.each(HOSTED)("--provider $alias --model wins over every other key", async (its) => {
    const { id, alias, fixtures, loaded } = its;
    await withServer(fixtures, async (server) => {
      const keys = HOSTED.map((one) => [`${one.id.toUpperCase()}_API_KEY`, KEY] as const);
      const env = { ...Object.fromEntries(keys), [`${id.toUpperCase()}_BASE_URL`]: server.url };
      const result = await command(["run", "6 * 7", "--provider", alias, "--model", "mine"], env);
      expect(result).toMatchObject({ code: 0, stdout: "It is 42.\n", loaded });
      expect(`${server.requests[0]?.path} ${server.requests[0]?.text}`).toContain("mine");
      expect(result.stderr).toContain(`${id}/mine (you asked for it)`);
    });
  });

  it("a local server answers where there is no key, and no SDK is loaded", () =>
    withServer(chatFixtures, async (server) => {
      const env = { LOCAL_BASE_URL: `${server.url}/v1`, LOCAL_MODEL: "small" };
      const result = await command(["run", "6 * 7", "--provider", "vLLM"], env);
      expect(result).toMatchObject({ code: 0, stdout: "It is 42.\n", loaded: ["adapter-local"] });
      expect(server.requests[0]).toMatchObject({ path: "/v1/chat/completions", body: { model: "small" } });
    }));

  it("a fork asks the provider and model of the run, or those that are named", () =>
    withServer(anthropicFixtures, async (server) => {
      const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url, OPENAI_API_KEY: KEY };
      const first = await command(["run", "6 * 7", "--provider", "claude", "--model", "m1", "--json"], env);
      const { runId } = JSON.parse(first.stdout);
      const answer = { blocks: anthropicFixtures.stream({ text: ["Again."] }) };
      server.queue(answer, answer);
      const same = await command(["runs", "fork", runId, "--at", "round:1"], env);
      const other = await command(["runs", "fork", runId, "--at", "round:1", "--model", "m2"], env);
      expect([same, other]).toMatchObject([
        { code: 0, stdout: "Again.\n", loaded: ["@anthropic-ai/sdk", "adapter-anthropic"] },
        { code: 0, stdout: "Again.\n" },
      ]);
      expect(server.requests.map(({ body }) => Object(body).model)).toEqual(["m1", "m1", "m1", "m2"]);
    }));
});

describe("openfunctions without a model", () => {
  it("tools and runs load no adapter", async () => {
    const env = { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY };
    const calls = [
      ["tools", "list"],
      ["tools", "run", "calculate", "--args", '{"expression":"1"}'],
      ["runs", "list"],
      ["--help"],
    ];
    for (const args of calls) expect(await command(args, env)).toMatchObject({ code: 0, loaded: [] });
  });

  it("names the install command of a package that is missing", async () => {
    const env = { ANTHROPIC_API_KEY: KEY, MISSING: "@openfunctions/adapter-anthropic" };
    const result = await command(["run", "hi"], env, HIDE);
    expect(result).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("npm install @openfunctions/adapter-anthropic"),
    });
    const doctor = await command(["doctor", "--json"], env, HIDE);
    const wrong = JSON.parse(doctor.stdout).findings.filter(({ ok }: { ok: boolean }) => !ok);
    expect(wrong.map(({ check }: { check: string }) => check)).toEqual([
      "Claude (anthropic)",
      "Answers by default",
    ]);
    expect([doctor.code, wrong[0].detail]).toEqual([1, expect.stringContaining("npm install")]);
  });

  it("doctor lists every provider with its variable and model, never the key", async () => {
    const env = { GOOGLE_API_KEY: KEY, XAI_API_KEY: KEY, XAI_MODEL: "grok-mine", LOCAL_API_KEY: KEY };
    const { code, stdout } = await command(["doctor"], env);
    expect(code).toBe(0);
    expect(stdout).not.toContain(KEY);
    const { model } = resolveModel({ provider: "gemini" });
    for (const line of [
      `ok    Gemini (gemini): GOOGLE_API_KEY set, model ${model}`,
      "ok    Claude (anthropic): ANTHROPIC_API_KEY not set, model claude",
      "ok    OpenAI (openai): OPENAI_API_KEY not set, model gpt",
      "ok    OpenRouter (openrouter): OPENROUTER_API_KEY not set, model openai/",
      "ok    Grok (xai): XAI_API_KEY set, model grok-mine",
      "ok    Local: LOCAL_BASE_URL not set, LOCAL_MODEL not set, LOCAL_API_KEY set",
      `ok    Answers by default: gemini/${model} (GOOGLE_API_KEY is set)`,
    ])
      expect(stdout).toContain(line);
  });
});

describe("openfunctions run", () => {
  it("shows what an adapter warns of, once", async () => {
    const server = await startFakeModelServer([{ blocks: anthropicFixtures.stream({ text: ["Hello."] }) }]);
    const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url };
    const { code, stderr } = await command(["run", "hi", "--model", "claude-nope"], env);
    await server.close();
    expect(code).toBe(0);
    expect(
      stderr.match(/note \(model_unconfirmed\): "claude-nope" is not in the policy table/g),
    ).toHaveLength(1);
  });

  it("says in its JSON why a run failed", async () => {
    const server = await startFakeModelServer([anthropicFixtures.failures.unauthorized]);
    const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url };
    const { code, stdout } = await command(["run", "hi", "--json"], env);
    await server.close();
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      status: "failed",
      error: { code: "provider_auth", message: expect.stringContaining("401") },
    });
    expect(stdout).not.toContain(KEY);
  });
});

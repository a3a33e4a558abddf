/** `npm start` as a process: the chat app asks the provider whose key is set. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { anthropicFixtures, startFakeModelServer } from "@openfunctions/core/testing";
import { resolveModel } from "@openfunctions/core/wire";
import { expect, it } from "vitest";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");

/** What the app says when it listens. */
function greeting(app: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    app.stdout?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (/^ {2}data /m.test(said)) resolve(said);
    });
    app.once("exit", (code) => reject(new Error(`The app ended with ${code}: ${said}`)));
  });
}

it("answers as Claude where ANTHROPIC_API_KEY is set", async () => {
  const home = await mkdtemp(join(tmpdir(), "openfunctions-chat-start-"));
  const server = await startFakeModelServer([
    { blocks: anthropicFixtures.stream({ text: ["Hello ", "you."] }) },
  ]);
  const kept = Object.entries(process.env).filter(([name]) => !/(_API_KEY|_MODEL|_BASE_URL)$/.test(name));
  const app = spawn(process.execPath, [MAIN], {
    env: {
      ...Object.fromEntries(kept),
      ANTHROPIC_API_KEY: "key-of-the-user-0123456789",
      ANTHROPIC_BASE_URL: server.url,
      OPENFUNCTIONS_HOME: home,
      PORT: "0",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => app.once("exit", resolve));
  try {
    const said = await greeting(app);
    const { model } = resolveModel({ provider: "anthropic" });
    expect(said).toContain(`model  anthropic/${model} (ANTHROPIC_API_KEY is set)`);
    expect(said).not.toContain("key-of-the-user");
    const [url = ""] = /http:\S+/.exec(said) ?? [];
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}/chat`, { method: "POST", headers, body: '{"message":"hi"}' });
    expect([answer.status, await answer.json()]).toMatchObject([200, { text: "Hello you." }]);
    expect(server.requests[0]).toMatchObject({ path: "/v1/messages", body: { model } });
  } finally {
    app.kill("SIGTERM");
    await ended;
    await server.close();
  }
});

it("refuses arguments it does not know, and a provider that is none, before it serves anything", async () => {
  const env = {
    ...process.env,
    OPENFUNCTIONS_HOME: await mkdtemp(join(tmpdir(), "openfunctions-chat-start-")),
    PORT: "0",
  };
  const end = (...args: readonly string[]) =>
    new Promise<{ readonly code: number | null; readonly said: string }>((resolve) => {
      const app = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "ignore", "pipe"] });
      let said = "";
      app.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
      app.once("exit", (code) => resolve({ code, said }));
    });
  expect(await end("--bogus")).toMatchObject({ code: 3, said: expect.stringContaining("--provider <name>") });
  expect(await end("--provider", "nobody")).toMatchObject({
    code: 3,
    said: expect.stringContaining("nobody"),
  });
});

it("asks the provider that was named, whatever key is set", async () => {
  const home = await mkdtemp(join(tmpdir(), "openfunctions-chat-start-"));
  const app = spawn(process.execPath, [MAIN, "--provider", "Offline"], {
    env: {
      ...process.env,
      OPENAI_API_KEY: "key-of-the-user-0123456789",
      OPENFUNCTIONS_HOME: home,
      PORT: "0",
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => app.once("exit", resolve));
  expect(await greeting(app)).toMatch(/model {2}offline\/.* \(you asked for it\)/);
  app.kill("SIGTERM");
  await ended;
});

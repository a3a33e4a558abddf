/** Which local servers answer, with which models, and what they say of tools. */

import { createServer, type IncomingMessage } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { probeLocal } from "./probe-local.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

type Answers = Readonly<Record<string, object | string | ((body: string) => object)>>;

/** A server whose paths answer as told; every other path is a 404. */
async function serve(answers: Answers): Promise<string> {
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const answer = answers[request.url ?? ""];
      if (answer === undefined) return response.writeHead(404).end("no such page");
      const said = typeof answer === "function" ? answer(body) : answer;
      return response.end(typeof said === "string" ? said : JSON.stringify(said));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve()))));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return body;
}

const MODELS = { data: [{ id: "llama" }, { id: "qwen" }] };

describe("probeLocal", () => {
  it("takes no name for a model's that a terminal would act on", async () => {
    const names = ["\u001b[2J", "\u009b31m", "a\nok  forged", "\u202eevil", "", 7, "llama3.2:1b"];
    const baseUrl = `${await serve({ "/v1/models": { data: names.map((id) => ({ id })) } })}/v1`;
    const [found] = await probeLocal({ servers: [{ server: "local", baseUrl }], timeoutMs: 5_000 });
    expect(found?.models).toEqual(["llama3.2:1b"]);
  });

  it("reads no more of an answer that has no end than it may keep", async () => {
    let sent = 0;
    const block = new Uint8Array(64 * 1024).fill(0x20);
    const endless = (): Response =>
      new Response(
        new ReadableStream({
          pull: (controller) => {
            sent += block.length;
            if (sent > 64 * block.length) controller.close();
            else controller.enqueue(block);
          },
        }),
      );
    const servers = [{ server: "local" as const, baseUrl: "http://127.0.0.1:9/v1" }];
    expect(await probeLocal({ servers, fetch: () => Promise.resolve(endless()) })).toEqual([]);
    expect(sent).toBeLessThan(2 * 1024 * 1024);
  });

  it("finds what answers with models, in a fixed order, and ignores everything else", async () => {
    const good = `${await serve({ "/v1/models": MODELS })}/v1`;
    const places = [
      { server: "vllm" as const, baseUrl: `${await serve({ "/v1/models": "<html>" })}/v1` },
      { server: "local" as const, baseUrl: good },
      { server: "llamacpp" as const, baseUrl: `${await serve({ "/v1/models": { data: [] } })}/v1` },
      { server: "lmstudio" as const, baseUrl: "http://127.0.0.1:1/v1" },
    ];
    expect(await probeLocal({ servers: places })).toEqual([
      { server: "local", baseUrl: good, models: ["llama", "qwen"], streamsTools: true },
    ]);
  });

  it("says which models of Ollama take tools, and that an old one drops them while streaming", async () => {
    const show = (body: string): object => ({
      capabilities: JSON.parse(body).model === "qwen" ? ["completion", "tools"] : ["completion"],
    });
    const old = `${await serve({ "/v1/models": MODELS, "/api/show": show, "/api/version": { version: "0.7.1" } })}/v1`;
    const today = `${await serve({ "/v1/models": MODELS, "/api/show": show, "/api/version": { version: "0.13.0" } })}/v1`;
    const bare = `${await serve({ "/v1/models": MODELS })}/v1`;
    const servers = [old, today, bare].map((baseUrl) => ({ server: "ollama" as const, baseUrl }));
    const models = ["llama", "qwen"];
    expect(await probeLocal({ servers })).toEqual([
      { server: "ollama", baseUrl: old, models, toolModels: ["qwen"], streamsTools: false },
      { server: "ollama", baseUrl: today, models, toolModels: ["qwen"], streamsTools: true },
      { server: "ollama", baseUrl: bare, models, streamsTools: true },
    ]);
  });

  it("reads of LM Studio and llama.cpp whether tools are taken, and says nothing where they do not", async () => {
    const trained = (key: string, able: boolean): object => ({
      key,
      capabilities: { trained_for_tool_use: able },
    });
    const studio = await serve({
      "/v1/models": MODELS,
      "/api/v1/models": { models: [trained("llama", true), trained("qwen", false)] },
    });
    const able = await serve({
      "/v1/models": MODELS,
      "/props": { chat_template_caps: { supports_tools: true } },
    });
    const unable = await serve({
      "/v1/models": MODELS,
      "/props": { chat_template_caps: { supports_tools: false } },
    });
    const found = await probeLocal({
      servers: [
        { server: "lmstudio", baseUrl: `${studio}/v1` },
        { server: "llamacpp", baseUrl: `${able}/v1` },
        { server: "llamacpp", baseUrl: `${unable}/v1` },
        { server: "vllm", baseUrl: `${able}/v1` },
      ],
    });
    expect(found.map(({ toolModels }) => toolModels)).toEqual([["llama"], ["llama", "qwen"], [], undefined]);
  });

  it("does not wait longer than asked", async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push(() => new Promise((resolve) => (server.closeAllConnections(), server.close(() => resolve()))));
    const address = server.address();
    const baseUrl = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/v1`;
    expect(await probeLocal({ servers: [{ server: "ollama", baseUrl }], timeoutMs: 30 })).toEqual([]);
  });
});

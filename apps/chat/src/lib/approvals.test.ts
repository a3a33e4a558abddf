/** Approvals over HTTP: the page's cookie or the token opens the door, nothing else does. */

import { afterEach, describe, expect, it } from "vitest";
import { mkdtemp } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolRegistry, ok } from "@openfunctions/core";
import { scriptedAdapter, type ScriptStep } from "@openfunctions/core/testing";
import { openHomeStores } from "openfunctions/app";
import { createChatServer } from "./chat-server.ts";
import { type Listening, listen } from "./listen.ts";
import type { ChatPart } from "./stream-parts.ts";

const TOKEN = "a-token-of-the-data-folder";
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

interface World {
  readonly url: string;
  readonly deleted: string[];
  readonly restart: (script: readonly ScriptStep[]) => Promise<World>;
}

async function start(script: readonly ScriptStep[], home?: string): Promise<World> {
  const folder = home ?? (await mkdtemp(join(tmpdir(), "openfunctions-door-")));
  const stores = await openHomeStores(folder);
  const deleted: string[] = [];
  const tools = new ToolRegistry();
  tools.register({
    name: "delete_file",
    description: "Deletes a file.",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    contract: {
      version: "1",
      authority: { level: "human" },
      effects: { kind: "destructive" },
      idempotency: { mode: "none" },
    },
    handler: ({ path }) => (deleted.push(path), ok({ deleted: path })),
  });
  const app = createChatServer({
    adapter: scriptedAdapter(script),
    tools,
    home: stores,
    token: TOKEN,
    reason: "a test",
  });
  const server: Listening = await listen(app, { port: 0 });
  const close = async (): Promise<void> => {
    await server.close();
    await stores.close();
  };
  closers.push(close);
  const restart = async (next: readonly ScriptStep[]): Promise<World> => {
    closers.splice(closers.indexOf(close), 1);
    await close();
    return start(next, folder);
  };
  return { url: server.url, deleted, restart };
}

const post = (url: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers },
  });

async function parts(response: Response): Promise<readonly ChatPart[]> {
  return (await response.text())
    .split("\n")
    .flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6)) as ChatPart] : []));
}

/** A turn that waits, as the page sees it. */
async function waiting({ url }: World) {
  const seen = await parts(await post(`${url}/chat/stream`, { message: "tidy up", threadId: "t1" }));
  const approval = seen.find((part) => part.type === "approval");
  const done = seen.at(-1);
  if (approval === undefined || done?.type !== "done") throw new Error("the turn did not wait");
  expect(done.result.status).toBe("suspended");
  return { ticketId: approval.ticketId, runId: done.result.runId };
}

/** What a browser sends and gets when a person opens the page. */
function pageCookie({ url }: World): Promise<string> {
  const headers = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      response.resume();
      const [cookie = ""] = response.headers["set-cookie"] ?? [];
      expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
      resolve(cookie.split(";")[0] ?? "");
    }).on("error", reject);
  });
}

const SCRIPT = [{ toolCalls: [{ name: "delete_file", args: { path: "a.txt" } }] }, { text: "gone" }];

describe("approvals over HTTP", () => {
  it("runs the call once after the page allowed it, and goes on with the same turn", async () => {
    const world = await start(SCRIPT);
    const cookie = await pageCookie(world);
    const { ticketId, runId } = await waiting(world);
    const listed = await (await fetch(`${world.url}/approvals`, { headers: { cookie } })).json();
    expect(listed.approvals).toMatchObject([
      { ticketId, runId, toolName: "delete_file", args: { path: "a.txt" } },
    ]);
    expect(
      (await post(`${world.url}/approvals/${ticketId}`, { decision: "approved" }, { cookie })).status,
    ).toBe(200);
    const seen = await parts(await post(`${world.url}/chat/resume`, { threadId: "t1", runId }));
    expect(seen.find((part) => part.type === "tool_result")).toMatchObject({
      name: "delete_file",
      outcome: "succeeded",
    });
    expect(seen.at(-1)).toMatchObject({ type: "done", result: { status: "completed", text: "gone" } });
    expect(world.deleted).toEqual(["a.txt"]);
    expect(
      (await post(`${world.url}/approvals/${ticketId}`, { decision: "approved" }, { cookie })).status,
    ).toBe(409);
    expect((await post(`${world.url}/chat/resume`, { threadId: "t1", runId })).status).toBe(409);
  });

  it("survives a restart of the server, and a token opens the door too", async () => {
    const first = await start(SCRIPT);
    const { ticketId, runId } = await waiting(first);
    const world = await first.restart([{ text: "gone" }]);
    const answer = await post(
      `${world.url}/approvals/${ticketId}`,
      { decision: "approved" },
      { authorization: `Bearer ${TOKEN}` },
    );
    expect(answer.status).toBe(200);
    const seen = await parts(await post(`${world.url}/chat/resume`, { threadId: "t1", runId }));
    expect(seen.at(-1)).toMatchObject({ type: "done", result: { status: "completed" } });
    expect(world.deleted).toEqual(["a.txt"]);
  });

  it("tells the model why a person said no", async () => {
    const world = await start([
      SCRIPT[0] ?? {},
      (request) => ({ text: JSON.stringify(request.messages.at(-1)) }),
    ]);
    const cookie = await pageCookie(world);
    const { ticketId, runId } = await waiting(world);
    await post(`${world.url}/approvals/${ticketId}`, { decision: "denied", reason: "I need it" }, { cookie });
    const seen = await parts(await post(`${world.url}/chat/resume`, { threadId: "t1", runId }));
    expect(JSON.stringify(seen.at(-1))).toContain("I need it");
    expect(world.deleted).toEqual([]);
  });

  it("does not resume before the answer, nor under another thread", async () => {
    const world = await start(SCRIPT);
    const { runId } = await waiting(world);
    const early = await parts(await post(`${world.url}/chat/resume`, { threadId: "t1", runId }));
    expect(early.at(-1)).toMatchObject({ type: "done", result: { status: "suspended" } });
    expect((await post(`${world.url}/chat/resume`, { threadId: "t2", runId })).status).toBe(404);
    expect((await post(`${world.url}/chat/resume`, { threadId: "t1", runId: "nope" })).status).toBe(404);
    for (const body of [{ runId }, { threadId: "t1" }, { threadId: "t1", runId: "a/../b" }])
      expect((await post(`${world.url}/chat/resume`, body)).status).toBe(400);
    expect(world.deleted).toEqual([]);
  });

  it("gives its cookie to a page that is opened, and not to a program that fetches it", async () => {
    const { url } = await start(SCRIPT);
    expect((await fetch(url)).headers.get("set-cookie")).toBeNull();
    expect((await fetch(`${url}/page.js`)).headers.get("set-cookie")).toBeNull();
  });

  it.each([
    ["nothing at all", {}],
    ["a wrong token", { authorization: "Bearer wrong" }],
    ["an empty cookie", { cookie: "openfunctions_page=" }],
    ["the cookie of another page", { cookie: `openfunctions_page=${"0".repeat(64)}` }],
    ["a foreign origin", { origin: "https://evil.example", authorization: `Bearer ${TOKEN}` }],
  ])("stays closed on loopback for %s", async (_, headers) => {
    const world = await start(SCRIPT);
    const { ticketId } = await waiting(world);
    const answer = await post(`${world.url}/approvals/${ticketId}`, { decision: "approved" }, headers);
    expect([401, 403]).toContain(answer.status);
    const list = await fetch(`${world.url}/approvals`, { headers });
    expect([401, 403]).toContain(list.status);
    expect(await list.text()).not.toContain(ticketId);
  });

  it.each([
    [{ decision: "maybe" }, 400],
    [{}, 400],
    [{ decision: "approved", args: [] }, 400],
    [{ decision: "approved", args: { path: 7 } }, 400],
    [{ decision: "approved", reason: 7 }, 400],
  ])("refuses %j and leaves the ticket open", async (body, status) => {
    const world = await start(SCRIPT);
    const cookie = await pageCookie(world);
    const { ticketId } = await waiting(world);
    expect((await post(`${world.url}/approvals/${ticketId}`, body, { cookie })).status).toBe(status);
    const { approvals } = await (await fetch(`${world.url}/approvals`, { headers: { cookie } })).json();
    expect(approvals).toHaveLength(1);
  });

  it("answers 404 for a forged ticket", async () => {
    const world = await start(SCRIPT);
    const cookie = await pageCookie(world);
    for (const id of ["apr_0-0", `apr_${"0".repeat(32)}-0`, "..%2f..%2fx"])
      expect((await post(`${world.url}/approvals/${id}`, { decision: "approved" }, { cookie })).status).toBe(
        404,
      );
  });
});

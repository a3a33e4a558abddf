/// <reference lib="dom" />
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ToolRegistry, createMemoryStore, err, ok } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { createOfflineAdapter } from "@openfunctions/adapter-local";
import { createStarterTools } from "@openfunctions/starter-tools";
import { openHomeStores } from "openfunctions/app";
import { createChatServer } from "../src/lib/chat-server.ts";
import { type Listening, listen } from "../src/lib/listen.ts";

// Debian's browser; `.ci/run` installs it. A machine without it skips these tests.
const CHROMIUM = "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

describe.skipIf(!existsSync(CHROMIUM))("the page (needs /usr/bin/chromium)", () => {
  let browser: Browser;
  const servers: Listening[] = [];

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  });
  afterAll(async () => {
    await browser?.close();
    for (const server of servers) await server.close();
  });

  async function openPage(server: Listening): Promise<{ page: Page; outside: string[] }> {
    servers.push(server);
    const page = await browser.newPage({ viewport: { width: 360, height: 700 } });
    const outside: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith("data:"))
        outside.push(request.url());
    });
    page.on("pageerror", (error) => outside.push(String(error)));
    await page.goto(server.url);
    return { page, outside };
  }

  const say = async (page: Page, text: string) => {
    await page.fill("#message", text);
    await page.keyboard.press("Enter");
  };

  it("answers with a tool, shows arguments, result and time, and names what answers", async () => {
    const tools = new ToolRegistry();
    tools.registerAll(createStarterTools({ tasks: createMemoryStore(), notes: createMemoryStore() }));
    const { page, outside } = await openPage(
      await listen(createChatServer({ adapter: createOfflineAdapter(), tools, reason: "a test" }), {
        port: 0,
      }),
    );
    await page.getByText("no language model").waitFor();
    await say(page, "what is 15% of 2,340");
    await page.locator(".agent .said", { hasText: "15% of 2,340 is 351." }).waitFor();
    const call = page.locator("details.call");
    expect(await call.getAttribute("data-outcome")).toBe("succeeded");
    expect(await call.innerText()).toMatch(/calculate.*"expression".*done, \d+ ms/s);
    await say(page, "add a task: call the bank tomorrow");
    await page.locator(".agent .said", { hasText: "Added task 1" }).waitFor();
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(overflow).toBe(false);
    await page.click("#reset");
    await page.locator("#welcome").waitFor();
    expect(await page.locator(".turn").count()).toBe(0);
    expect(outside).toEqual([]);
    await page.close();
  });

  it("security S16: markup in messages, tool names and results stays text, and nothing outside is fetched", async () => {
    const nasty =
      '<img src=x onerror="window.hacked=1"> [x](javascript:alert(1)) ![](http://attacker.example/?q=1)';
    const tools = new ToolRegistry();
    tools.register({
      name: "nasty",
      description: "says nasty things",
      inputSchema: { type: "object", properties: { text: { type: "string" } } },
      contract: "read",
      handler: () => ok(nasty),
    });
    const adapter = scriptedAdapter([
      { toolCalls: [{ name: "nasty", args: { text: nasty } }] },
      { text: nasty },
    ]);
    const { page, outside } = await openPage(
      await listen(createChatServer({ adapter, tools, reason: nasty }), { port: 0 }),
    );
    await say(page, nasty);
    await page.locator(".agent .said").waitFor();
    expect(await page.evaluate(() => Reflect.get(window, "hacked"))).toBeUndefined();
    expect(await page.locator(".turn img, .turn a").count()).toBe(0);
    expect(outside).toEqual([]);
    await page.close();
  });

  it("asks the person about a call that needs one, and goes on with the answer", async () => {
    const home = await openHomeStores(await mkdtemp(join(tmpdir(), "openfunctions-page-")));
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
    const calls = ["a.txt", "b.txt"].map((path) => ({ name: "delete_file", args: { path } }));
    const adapter = scriptedAdapter([{ toolCalls: calls }, { text: "One is gone." }]);
    const { page, outside } = await openPage(
      await listen(createChatServer({ adapter, tools, home, reason: "a test" }), { port: 0 }),
    );
    await say(page, "tidy up");
    await page.locator(".answer").nth(1).waitFor();
    await page.locator(".call", { hasText: "a.txt" }).getByText("Allow").click();
    await page.locator(".call", { hasText: "b.txt" }).getByText("Deny").click();
    await page.locator(".agent .said", { hasText: "One is gone." }).waitFor();
    expect(deleted).toEqual(["a.txt"]);
    expect(
      await page.locator(".call").evaluateAll((boxes) => boxes.map((box) => box.dataset.outcome)),
    ).toEqual(["succeeded", "not_started"]);
    expect(outside).toEqual([]);
    await page.close();
    await home.close();
  });

  it("shows a failed call as failed, stops a turn on request, and goes on", async () => {
    const tools = new ToolRegistry();
    tools.register({
      name: "fail",
      description: "always fails",
      inputSchema: { type: "object", properties: {} },
      contract: "read",
      handler: () => err("it broke"),
    });
    const adapter = scriptedAdapter([
      { toolCalls: [{ name: "fail" }] },
      { text: "that failed" },
      { text: "I begin", stall: true },
      { text: "back again" },
    ]);
    const { page } = await openPage(
      await listen(createChatServer({ adapter, tools, reason: "a test" }), { port: 0 }),
    );
    await say(page, "try it");
    await page.getByText("that failed").waitFor();
    expect(await page.locator("details.call").getAttribute("data-outcome")).toBe("failed");
    await say(page, "now wait");
    await page.getByText("I begin").waitFor();
    await page.click("#stop");
    await page.getByText("Stopped.", { exact: false }).waitFor();
    await say(page, "still there?");
    await page.getByText("back again").waitFor();
    await page.close();
  });
});

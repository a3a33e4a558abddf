/**
 * MCP over stdio: our server beside the bare SDK server with the same handlers, in one run.
 *
 *   node benchmarks/mcp.ts [--rounds 15] [--json]
 *
 * Both servers are child processes that serve the same 500 tools, and are asked by the same small client, in turns,
 * so that a slow moment of the machine meets both. Rates and ratios are medians over all turns.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { ToolRegistry, defineTool, ok } from "@openfunctions/core";

const TOOLS = 500;
const CALLS = 400;
const LISTS = 8;
/** Short turns meet the same moments of a busy machine. */
const SLICES = 4;

const { values } = parseArgs({
  options: {
    serve: { type: "string" },
    rounds: { type: "string", default: "15" },
    json: { type: "boolean", default: false },
  },
});

function tools(): ToolRegistry {
  const registry = new ToolRegistry();
  for (let index = 0; index < TOOLS; index += 1) {
    const name = index === 0 ? "echo" : `tool_${index}`;
    registry.register(
      defineTool({
        name,
        description: `Echo the text back to the caller ${index}`,
        contract: "read",
        inputSchema: {
          type: "object",
          properties: { text: { type: "string", description: "the text" } },
          required: ["text"],
        },
        handler: ({ text }) => ok(text),
      }),
    );
  }
  return registry;
}

async function serveOurs(): Promise<void> {
  const { startServer } = await import("@openfunctions/mcp-server");
  await startServer(tools(), { pageSize: TOOLS });
}

/** The same list, byte for byte, and the same handler, on the SDK's low-level server. */
async function serveSdk(): Promise<void> {
  const { Server } = await import("@modelcontextprotocol/server");
  const { StdioServerTransport } = await import("@modelcontextprotocol/server/stdio");
  const listed = await listOf(tools());
  const server = new Server({ name: "sdk", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: listed }));
  server.setRequestHandler("tools/call", ({ params }) => ({
    content: [{ type: "text", text: String(params.arguments?.["text"]) }],
  }));
  await server.connect(new StdioServerTransport());
}

type WireTools = { readonly name: string; readonly inputSchema: { readonly type: "object" } }[];

async function listOf(registry: ToolRegistry): Promise<WireTools> {
  const { createMcpServer } = await import("@openfunctions/mcp-server");
  const { Client, InMemoryTransport } = await import("@modelcontextprotocol/client");
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = createMcpServer(registry, { pageSize: TOOLS });
  server.connect(ours);
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(theirs);
  const list = await client.listTools();
  await client.close();
  await server.close();
  return list.tools;
}

interface Peer {
  ask(method: string, params: object): Promise<{ readonly result?: unknown }>;
  close(): void;
}

/** A client of a few lines, so that what is measured is the server. */
async function open(which: "ours" | "sdk"): Promise<Peer> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), "--serve", which], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const waiting = new Map<number, (message: { readonly result?: unknown }) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  let id = 0;
  const write = (message: object): boolean =>
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const peer: Peer = {
    ask: (method, params) =>
      new Promise((resolve) => {
        id += 1;
        waiting.set(id, resolve);
        write({ id, method, params });
      }),
    close: () => child.kill(),
  };
  const clientInfo = { name: "bench", version: "1.0.0" };
  await peer.ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  write({ method: "notifications/initialized" });
  return peer;
}

const call = (peer: Peer): Promise<unknown> =>
  peer.ask("tools/call", { name: "echo", arguments: { text: "hi" } });
const list = (peer: Peer): Promise<unknown> => peer.ask("tools/list", {});

const MEASURES: Readonly<Record<string, (peer: Peer) => Promise<number>>> = {
  "tools/call, one after another": (peer) => sequential(CALLS, () => call(peer)),
  "tools/call, 16 side by side": (peer) => parallel(CALLS, 16, () => call(peer)),
  "tools/list with 500 tools": (peer) => sequential(LISTS, () => list(peer)),
};

async function sequential(count: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (let index = 0; index < count; index += 1) await work();
  return (count / (performance.now() - start)) * 1_000;
}

async function parallel(count: number, width: number, work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await Promise.all(Array.from({ length: width }, () => sequential(count / width, work)));
  return (count / (performance.now() - start)) * 1_000;
}

/** Each round asks both in turns, and the other one first the next time. */
async function compare(rounds: number): Promise<void> {
  const peers = { ours: await open("ours"), sdk: await open("sdk") };
  const rates: Record<string, { ours: number; sdk: number }[]> = {};
  for (let round = -2; round < rounds * SLICES; round += 1) {
    for (const [name, measure] of Object.entries(MEASURES)) {
      const first = round % 2 === 0 ? await measure(peers.ours) : 0;
      const sdk = await measure(peers.sdk);
      const ours = round % 2 === 0 ? first : await measure(peers.ours);
      if (round >= 0) (rates[name] ??= []).push({ ours, sdk }); // the first two warm up
    }
  }
  peers.ours.close();
  peers.sdk.close();
  const rows = Object.entries(rates).map(([name, pairs]) => ({
    name,
    oursPerSecond: Math.round(median(pairs.map(({ ours }) => ours))),
    sdkPerSecond: Math.round(median(pairs.map(({ sdk }) => sdk))),
    ratio: Number(median(pairs.map(({ ours, sdk }) => ours / sdk)).toFixed(2)),
  }));
  if (values.json) console.log(JSON.stringify(rows, null, 2));
  else
    for (const { name, oursPerSecond, sdkPerSecond, ratio } of rows)
      console.log(`${name.padEnd(30)} ours ${oursPerSecond}/s  sdk ${sdkPerSecond}/s  ratio ${ratio}`);
  process.exitCode = rows.every(({ ratio }) => ratio >= 0.9) ? 0 : 1;
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, two) => one - two)[Math.floor(numbers.length / 2)] ?? 0;
}

if (values.serve === "ours") await serveOurs();
else if (values.serve === "sdk") await serveSdk();
else await compare(Number(values.rounds));

import { Readable, Writable } from "node:stream";
import { ToolRegistry, defineTool, ok } from "@openfunctions/core";
import { Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { createMcpServer } from "../src/index.ts";
import { LineChannel } from "../src/lib/line-channel.ts";
const N = +(process.argv[3] ?? 500);
const registry = new ToolRegistry();
for (let i = 0; i < N; i++)
  registry.register(
    defineTool({
      name: i ? "echo" + i : "echo",
      description: "Echo text back",
      contract: "read",
      inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      handler: ({ text }) => ok(text),
    }),
  );
function pair() {
  const waiting = new Map();
  const input = new Readable({ read() {} });
  const output = new Writable({
    write(c, e, cb) {
      const m = JSON.parse(c.toString());
      waiting.get(m.id)?.(m);
      waiting.delete(m.id);
      cb();
    },
  });
  let id = 0;
  return {
    input,
    output,
    ask: (method, params) =>
      new Promise((r) => {
        id++;
        waiting.set(id, r);
        input.push(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n"));
      }),
  } as any;
}
if (process.env.STUB) {
  const v: any = registry.view();
  const p = Object.getPrototypeOf(v);
  const orig = p.execute;
  p.execute = async (n, a, c) => ({
    success: true,
    data: a.text,
    callId: c.callId,
    outcome: "succeeded",
    retryable: false,
  });
}
const a = pair();
createMcpServer(registry).connect(new LineChannel(a.input, a.output, (t) => a.output.write(t)) as any);
const b = pair();
const s = new Server({ name: "x", version: "1" }, { capabilities: { tools: {} } });
s.setRequestHandler("tools/call", ({ params }) => ({
  content: [{ type: "text", text: String(params.arguments?.["text"]) }],
}));
await s.connect(new StdioServerTransport(b.input, b.output));
for (const c of [a, b]) {
  await c.ask("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "b", version: "1" },
  });
  c.input.push(Buffer.from(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }) + "\n"));
  await c.ask("ping", {});
}
const call = (c) => c.ask("tools/call", { name: "echo", arguments: { text: "hi" } });
const bench = async (c, n, w = 1) => {
  const u = process.cpuUsage();
  let left = n;
  await Promise.all(
    Array.from({ length: w }, async () => {
      while (left-- > 0) await call(c);
    }),
  );
  const d = process.cpuUsage(u);
  return (d.user + d.system) / n;
};
for (const c of [a, b]) await bench(c, 20000);
if (process.argv[2] === "prof") {
  await bench(process.argv[4] === "b" ? b : a, 100000, 16);
  process.exit(0);
}
for (const w of [1, 16])
  for (let i = 0; i < 3; i++)
    console.log(
      w,
      "ours",
      (await bench(a, 30000, w)).toFixed(1),
      "sdk",
      (await bench(b, 30000, w)).toFixed(1),
    );
process.exit(0);

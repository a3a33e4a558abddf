import { Readable, Writable } from "node:stream";
import { EventEmitter } from "node:events";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { LineChannel } from "../src/lib/line-channel.ts";
const mode = process.argv[2];
const mkIn = () => new Readable({ read() {} });
const out = new Writable({
  write(c, e, cb) {
    cb();
  },
});
const input = mkIn();
const ch: any =
  mode === "ours" ? new LineChannel(input, out, (t) => out.write(t)) : new StdioServerTransport(input, out);
let n = 0;
ch.onmessage = () => {
  n++;
};
await ch.start();
const line = Buffer.from(
  JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "echo", arguments: { text: "hi" } },
  }) + "\n",
);
const reply = { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "hi" }] } };
const N = 300000;
for (const what of ["recv", "send", "both"]) {
  for (let k = 0; k < 2; k++) {
    const c = process.cpuUsage();
    for (let i = 0; i < N; i++) {
      if (what !== "send") {
        input.push(line);
      }
      if (what !== "recv") await ch.send(reply);
      else if (i % 16 === 0) await null;
      if (i % 64 === 0) await new Promise(setImmediate);
    }
    const d = process.cpuUsage(c);
    if (k) console.log(mode, what, ((d.user + d.system) / N).toFixed(2));
  }
}
console.log(n);
process.exit(0);

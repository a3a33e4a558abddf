import { prepareArguments } from "../../core/src/lib/arguments.ts";
import { CallControl } from "../../core/src/lib/call-control.ts";
import { createPorts } from "../../core/src/lib/ports.ts";
import { normalizeResult } from "../../core/src/lib/normalize-result.ts";
import { createToolContext } from "../../core/src/lib/tool-context.ts";
import { createGate, holdAll } from "../../core/src/lib/gate.ts";
const mode = process.argv[2];
const ports = createPorts();
const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;
const gate = createGate(16);
const sig = new AbortController().signal;
for (let i = 0; i < 400000; i++) {
  await null;
  if (mode === "prep")
    await prepareArguments({ toolName: "x", schema, strict: false }, { text: "hi" }, { origin: "program" });
  if (mode === "ctl") {
    const c = new CallControl(ports.clock, 60000, undefined);
    c.signal;
    c.dispose();
  }
  if (mode === "norm") normalizeResult({ success: true, data: "hi" });
  if (mode === "ctx")
    createToolContext({ callId: "x", call: {}, signal: sig }, { ports, logger: {} as any }, () => {});
  if (mode === "gate") {
    const r = await holdAll([gate.places], sig);
    (r as any)();
  }
}
console.log(mode, (process.cpuUsage().user / 400000).toFixed(2));

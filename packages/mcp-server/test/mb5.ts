import { createPorts } from "../../core/src/lib/ports.ts";
const mode = process.argv[2];
const ports = createPorts();
const logger = {} as any;
const sig = new AbortController().signal;
const services = { ports, logger };
let sink: any;
const L = Object.freeze({ kind: "program", id: "local", via: "local" });
function orig(about, services, report, v) {
  const { callId, call, signal, idempotencyKey } = about;
  const { run } = call;
  const context: any =
    v === 1
      ? { callId, signal, principal: L, owner: "local", grants: [], ...services }
      : v === 2
        ? {
            callId,
            signal,
            principal: L,
            owner: "local",
            grants: [],
            ports: services.ports,
            logger: services.logger,
          }
        : {
            callId,
            ...(run === undefined ? {} : { runId: run.runId }),
            ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
            signal,
            principal: call.principal ?? run?.principal ?? L,
            owner: call.owner ?? run?.owner ?? "local",
            grants: call.grants ?? run?.grants ?? [],
            ...services,
          };
  if (v === 3) return context;
  if (v === 4) return { ...context };
  if (v === 5) return { ...context, progress: 1, child: 2 };
  if (v === 6)
    return {
      ...context,
      progress: (u) => {
        report(u);
      },
    };
  if (v === 7) return { ...context, child: (o) => context };
  return {
    ...context,
    progress: (update) => {
      report(update);
      call.onProgress?.(update);
    },
    child: (o) => [run ?? context, signal, o],
  };
}
const v = +mode;
for (let i = 0; i < 600000; i++) {
  await null;
  sink = orig({ callId: "call_" + i, call: {}, signal: sig }, services, () => {}, v);
}
console.log(mode, (process.cpuUsage().user / 600000).toFixed(2));

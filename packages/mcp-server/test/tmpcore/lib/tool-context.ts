/** Builds what a handler is given besides its parameters. */

import type { CallContext } from "./call-context.ts";
import { copyJson } from "./json.ts";
import type { Json } from "./json.ts";
import type { Logger } from "./logger.ts";
import type { Ports } from "./ports.ts";
import { LOCAL_PROGRAM } from "./principal.ts";
import { type RunContext, childContext } from "./run-context.ts";
import { DEFAULT_LIMITS } from "./run-limits.ts";
import type { ToolContext } from "./tool.ts";

/** The context of one call. `report` receives progress that is JSON; anything else is dropped with a warning. */
export function createToolContext(
  about: {
    readonly callId: string;
    readonly call: CallContext;
    readonly control: { readonly signal: AbortSignal };
    readonly idempotencyKey?: string;
  },
  services: { readonly ports: Ports; readonly logger: Logger },
  report: (update: Json) => void,
): ToolContext {
  const { callId, call, control, idempotencyKey } = about;
  const { run } = call;
  const context = {
    callId,
    ...(run === undefined ? {} : { runId: run.runId }),
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    principal: call.principal ?? run?.principal ?? LOCAL_PROGRAM,
    owner: call.owner ?? run?.owner ?? "local",
    grants: call.grants ?? run?.grants ?? [],
    ...services,
  };
  return new CallToolContext(context, { call, control, report });
}

class CallToolContext {
  callId; runId; idempotencyKey; principal; owner; grants; ports; logger;
  #parts;
  constructor(c, parts){ this.callId=c.callId; if(c.runId!==undefined)this.runId=c.runId; if(c.idempotencyKey!==undefined)this.idempotencyKey=c.idempotencyKey; this.principal=c.principal;this.owner=c.owner;this.grants=c.grants;this.ports=c.ports;this.logger=c.logger;this.#parts=parts;}
  get signal(){return this.#parts.control.signal;}
  progress=(u)=>{};
  child=(o)=>this;
}

/** A direct call has no run; a run it starts is a root, and the call stands in for the parent's limits. */
function rootContext(context: Omit<ToolContext, "progress" | "child">): RunContext {
  const { callId, principal, owner, grants, signal, ports } = context;
  return {
    runId: callId,
    rootRunId: callId,
    correlationId: callId,
    depth: 0,
    ancestors: [],
    principal,
    owner,
    grants,
    limits: DEFAULT_LIMITS,
    signal,
    ports,
  };
}

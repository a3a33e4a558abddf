/** `tools/call`: from params to the registry's one execution path and back. */

import { randomUUID } from "node:crypto";

import {
  CLIENT_INFO_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import type { ServerContext } from "@modelcontextprotocol/server";
import {
  type CallContext,
  type CallResult,
  type Tool,
  type ToolView,
  isPlainObject,
  runCall,
} from "@openfunctions/core";

import type { CallLanes } from "./call-lanes.ts";
import { type WireResult, toWireResult } from "./call-result.ts";
import type { McpRequestInfo, ResolvedOptions } from "./options.ts";
import { ProgressReporter } from "./progress.ts";
import { type ToolList, invalidParams } from "./tool-list.ts";

/** What every connection of one server shares. */
export interface ServerShared {
  readonly view: ToolView;
  readonly list: ToolList;
  readonly lanes: CallLanes;
  readonly options: ResolvedOptions;
}

/** Who is at the other end, as the transport knows it, and in which lane its calls run. */
export interface Caller extends Omit<McpRequestInfo, "client"> {
  readonly lane: string;
}

/** What a request comes with; `client` is what the handshake said, where there was one. */
export interface CallEnvironment {
  readonly caller: Caller;
  readonly context: ServerContext;
  readonly client: { readonly name: string } | undefined;
}

type Params = Readonly<Record<string, unknown>>;

/** Runs one call. Throws a protocol error for params that name no tool, and gives a result for everything else. */
export async function callTool(
  shared: ServerShared,
  params: Params,
  env: CallEnvironment,
): Promise<WireResult> {
  const { view, lanes, options } = shared;
  const { tool, args } = readParams(view, params);
  const { lane } = env.caller;
  if (lanes.isFull(lane))
    throw new ProtocolError(ProtocolErrorCode.InternalError, "Too many calls wait.", { retryable: true });
  const { _meta: meta, notify } = env.context.mcpReq;
  const progressToken = meta?.progressToken;
  const progress = new ProgressReporter((update) => {
    notify({ method: "notifications/progress", params: { ...update, progressToken } }).catch(
      (cause: unknown) => options.logger.debug("Progress was not sent.", { cause: String(cause) }),
    );
  });
  const watch = progressToken === undefined ? {} : { onProgress: progress.report.bind(progress) };
  const context = { ...toCallContext(options, env), ...watch };
  try {
    const result = await lanes.run(lane, async (gate) => {
      if (options.runStore === undefined)
        return view.execute(tool.name, args, { ...context, scope: { gate } });
      const { runStore: store, logger } = options;
      const actor = { name: `mcp:${clientName(env)}` };
      const recorded = { ...context, store, logger, actor, gate, ...parentTrace(meta?.["traceparent"]) };
      return (await runCall(view, { name: tool.name, args }, recorded)).result;
    });
    throwMissingCapability(result, env);
    return await toWireResult(view, tool, result);
  } finally {
    progress.finish();
  }
}

function readParams(view: ToolView, params: Params): { readonly tool: Tool; readonly args: Params } {
  const { name, arguments: args } = params;
  if (typeof name !== "string") throw invalidParams('tools/call needs the "name" of a tool.');
  const tool = view.get(name);
  const shown = JSON.stringify(name.slice(0, 128));
  if (tool === undefined) throw invalidParams(`There is no tool ${shown}.`);
  if (args === undefined || args === null) return { tool, args: {} };
  if (!isPlainObject(args)) throw invalidParams(`The arguments of tool ${shown} are not an object.`);
  return { tool, args };
}

/** The modern era has an error of its own for a tool that cannot work without something of the client's. */
function throwMissingCapability(result: CallResult, { context }: CallEnvironment): void {
  if (result.success || result.code !== "missing_client_capability" || context.mcpReq.envelope === undefined)
    return;
  const required = isPlainObject(result.details) ? result.details["requiredCapabilities"] : undefined;
  if (isPlainObject(required))
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: required });
}

function toCallContext(options: ResolvedOptions, env: CallEnvironment): CallContext {
  const { lane: _lane, ...caller } = env.caller;
  const { _meta: meta, signal } = env.context.mcpReq;
  const principal = options.principal({ ...caller, client: clientName(env) });
  const key = meta?.["openfunctions/idempotencyKey"];
  return {
    callId: `call_${randomUUID()}`,
    signal,
    principal,
    owner: caller.token?.id ?? (caller.local ? "local" : principal.id),
    grants: options.grants?.(principal) ?? [],
    // Whoever calls through MCP is a model's client: one lossless repair of the arguments is theirs.
    origin: "model",
    ...(typeof key === "string" ? { idempotencyKey: key } : {}),
  };
}

function clientName({ context, client }: CallEnvironment): string {
  const claimed: unknown = Reflect.get(context.mcpReq.envelope ?? {}, CLIENT_INFO_META_KEY) ?? client;
  const name = isPlainObject(claimed) ? claimed["name"] : undefined;
  return (typeof name === "string" ? name : "unknown").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, 64);
}

/** W3C Trace Context: version, trace id, span id, flags. */
function parentTrace(traceparent: unknown): {
  readonly traceContext?: { readonly traceId: string; readonly spanId: string };
} {
  const match = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(String(traceparent));
  const [, traceId, spanId] = match ?? [];
  return traceId === undefined || spanId === undefined ? {} : { traceContext: { traceId, spanId } };
}

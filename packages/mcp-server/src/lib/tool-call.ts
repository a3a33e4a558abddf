/** `tools/call`: from params to the registry's one execution path and back. */

import type { ServerContext } from "@modelcontextprotocol/server";
import { CLIENT_INFO_META_KEY } from "@modelcontextprotocol/server";
import {
  type CallContext,
  type CallGate,
  type CallResult,
  type JsonObject,
  type Principal,
  type Tool,
  type ToolView,
  isPlainObject,
  runCall,
} from "@openfunctions/core";

import type { CallLanes } from "./call-lanes.ts";
import { type WireResult, toWireResult } from "./call-result.ts";
import type { McpRequestInfo, ResolvedOptions } from "./options.ts";
import { ProgressReporter } from "./progress.ts";
import { invalidParams } from "./protocol-errors.ts";
import type { ToolList } from "./tool-list.ts";

/** What every connection of one server shares. */
export interface ServerShared {
  readonly view: ToolView;
  readonly options: ResolvedOptions;
  readonly lanes: CallLanes;
  readonly list: ToolList;
}

/** Who is at the other end, as its transport knows it; the client's name comes with each request or its handshake. */
export interface Caller extends Omit<McpRequestInfo, "client"> {
  readonly lane: string;
}

/** What a request comes with. */
export interface CallEnvironment {
  readonly caller: Caller;
  readonly context: ServerContext;
  /** What the client said in its handshake, where there was one. */
  readonly client: { readonly name: string; readonly version?: string } | undefined;
}

/** Runs one call. Throws a protocol error for params that name no tool, and gives a result for everything else. */
export async function callTool(
  shared: ServerShared,
  params: JsonObject,
  env: CallEnvironment,
): Promise<WireResult> {
  const { view, lanes, options } = shared;
  const { tool, args } = readParams(view, params);
  const token = env.context.mcpReq._meta?.progressToken;
  const progress = new ProgressReporter((update) => {
    const notice = { method: "notifications/progress", params: { ...update, progressToken: token } };
    env.context.mcpReq
      .notify(notice)
      .catch((cause: unknown) => options.logger.debug("Progress was not sent.", { cause: String(cause) }));
  });
  const call = { tool, args, ...(token === undefined ? {} : { onProgress: progress.report.bind(progress) }) };
  try {
    const result = await lanes.run(env.caller.lane, (gate) => execute(shared, call, { ...env, gate }));
    return await toWireResult(view, tool, result);
  } finally {
    progress.finish();
  }
}

function readParams(view: ToolView, params: JsonObject): { readonly tool: Tool; readonly args: JsonObject } {
  const { name, arguments: args } = params;
  if (typeof name !== "string") throw invalidParams('tools/call needs the "name" of a tool.');
  const tool = view.get(name);
  const shown = JSON.stringify(name.slice(0, 128));
  if (tool === undefined) throw invalidParams(`There is no tool ${shown}.`);
  if (args === undefined || args === null) return { tool, args: {} };
  if (!isPlainObject(args)) throw invalidParams(`The arguments of tool ${shown} are not an object.`);
  return { tool, args };
}

interface Call extends Pick<CallContext, "onProgress"> {
  readonly tool: Tool;
  readonly args: JsonObject;
}

async function execute(
  { view, options }: ServerShared,
  { tool, args, onProgress }: Call,
  env: CallEnvironment & { readonly gate: CallGate },
): Promise<CallResult> {
  const { mcpReq } = env.context;
  const { lane: _lane, ...caller } = env.caller;
  const client = cleanClient(mcpReq.envelope?.[CLIENT_INFO_META_KEY] ?? env.client);
  const info = { ...caller, client };
  const principal = options.principal(info);
  const key = mcpReq._meta?.["openfunctions/idempotencyKey"];
  const context: CallContext = {
    signal: mcpReq.signal,
    principal,
    owner: ownerOf(principal, info),
    grants: options.grants?.(principal) ?? [],
    // Whoever calls through MCP is a model's client: one lossless repair of the arguments is theirs.
    origin: "model",
    ...(typeof key === "string" ? { idempotencyKey: key } : {}),
    ...(onProgress === undefined ? {} : { onProgress }),
  };
  if (options.runStore === undefined)
    return view.execute(tool.name, args, { ...context, scope: { gate: env.gate } });
  const { runStore: store, logger } = options;
  const actor = { ...client, name: `mcp:${client.name}` };
  const recorded = { ...context, store, logger, actor, gate: env.gate, ...parentTrace(mcpReq._meta) };
  return (await runCall(view, { name: tool.name, args }, recorded)).result;
}

/** What anybody at this machine does is the machine's; a token's owner, or one that the app names, has its own data. */
function ownerOf({ kind, id, via }: Principal, { token }: McpRequestInfo): string {
  const isUnnamed = token === undefined && (kind === "remote" || kind === "anonymous");
  return isUnnamed && via === "local" ? "local" : id;
}

function cleanClient(client: CallEnvironment["client"]): McpRequestInfo["client"] {
  const clean = (text: unknown): string =>
    String(text)
      .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "")
      .slice(0, 64);
  if (client === undefined) return { name: "unknown" };
  const { name, version } = client;
  return { name: clean(name), ...(version === undefined ? {} : { version: clean(version) }) };
}

/** W3C Trace Context: version, trace id, span id, flags. */
function parentTrace(meta: ServerContext["mcpReq"]["_meta"]): {
  readonly traceContext?: { readonly traceId: string; readonly spanId: string };
} {
  const match = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(String(meta?.["traceparent"]));
  const [, traceId, spanId] = match ?? [];
  return traceId === undefined || spanId === undefined ? {} : { traceContext: { traceId, spanId } };
}

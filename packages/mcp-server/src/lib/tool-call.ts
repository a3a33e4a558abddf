/** `tools/call`: from params to the registry's one execution path and back. */

import { randomUUID } from "node:crypto";

import * as mcp from "@modelcontextprotocol/server";
import type { CallContext, CallResult, Principal, RunCallOptions, Tool, ToolView } from "@openfunctions/core";
import { isPlainObject, runCall } from "@openfunctions/core";

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

/** What a request comes with; `greeting` is what the client said of itself in its handshake, where there was one. */
export interface CallEnvironment {
  readonly caller: Caller;
  readonly greeting: unknown;
  readonly request: Request;
}

type Request = mcp.ServerContext["mcpReq"];
type Writable<T> = { -readonly [K in keyof T]: T[K] };
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
    throw new mcp.ProtocolError(-32603, "Too many calls wait; try again later.", { retryable: true });
  const progress = watchProgress(env.request, options);
  const client = clientOf(env);
  const context = toCallContext(options, client, env);
  if (progress !== undefined) context.onProgress = (update) => progress.report(update);
  const gate = lanes.enter(lane);
  try {
    const { runStore: store, logger, ledger } = options;
    const held = { gate, ...(ledger === undefined ? {} : { ledger }) };
    const recorded = {
      store,
      logger,
      actor: { name: `mcp:${client}` },
      ...held,
      ...parentTrace(env.request),
    };
    const result =
      store === undefined
        ? await view.execute(tool.name, args, { ...context, scope: held })
        : (await runCall(view, { name: tool.name, args }, { ...context, ...recorded, store })).result;
    const missing = missingCapability(result);
    if (missing !== undefined && env.request.envelope !== undefined) throw missing;
    return await toWireResult(view, tool, result);
  } finally {
    lanes.leave(lane);
    progress?.finish();
  }
}

function readParams(
  view: ToolView,
  { name, arguments: args }: Params,
): { readonly tool: Tool; readonly args: Params } {
  if (typeof name !== "string") throw invalidParams('tools/call needs the "name" of a tool.');
  const tool = view.get(name);
  if (tool === undefined) throw invalidParams(`There is no tool ${JSON.stringify(name.slice(0, 128))}.`);
  if (args === undefined || args === null) return { tool, args: {} };
  if (!isPlainObject(args)) throw invalidParams(`The arguments of tool "${name}" are not an object.`);
  return { tool, args };
}

function toCallContext(
  options: ResolvedOptions,
  client: string,
  env: CallEnvironment,
): Writable<CallContext> {
  const { lane: _lane, ...caller } = env.caller;
  const request = { ...caller, client };
  const principal = options.principal(request);
  const context: Writable<CallContext> = {
    callId: `call_${randomUUID()}`,
    signal: env.request.signal,
    principal,
    owner: ownerOf(options, principal, request),
    grants: options.grants?.(principal) ?? [],
    // Whoever calls through MCP is a model's client: one lossless repair of the arguments is theirs.
    origin: "model",
  };
  const key = env.request._meta?.["openfunctions/idempotencyKey"];
  if (typeof key === "string") context.idempotencyKey = key;
  return context;
}

/** Whose data the call may reach. Throws where the application names nobody: no owner, no answer. */
function ownerOf({ owner }: ResolvedOptions, principal: Principal, request: McpRequestInfo): string {
  const { token, local } = request;
  const named =
    owner === undefined ? (token?.id ?? (local ? "local" : principal.id)) : owner(principal, request);
  if (typeof named === "string" && named !== "") return named;
  throw new mcp.ProtocolError(-32603, "The server knows no owner for this caller.");
}

/** The client's name: a claim, so it is cleaned of what could break a line or a terminal, and cut. */
function clientOf({ request, greeting }: CallEnvironment): string {
  const claimed =
    request.envelope === undefined ? greeting : Reflect.get(request.envelope, mcp.CLIENT_INFO_META_KEY);
  const name = isPlainObject(claimed) && typeof claimed["name"] === "string" ? claimed["name"] : "unknown";
  return name.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "").slice(0, 64);
}

function watchProgress(
  { _meta: meta, notify }: Request,
  { logger }: ResolvedOptions,
): ProgressReporter | undefined {
  const progressToken = meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return new ProgressReporter((update) => {
    const notice = { method: "notifications/progress", params: { ...update, progressToken } };
    notify(notice).catch((cause: unknown) =>
      logger.debug("Progress was not sent.", { cause: String(cause) }),
    );
  });
}

/** The modern era's own error for a tool that cannot work without something of the client's. */
function missingCapability(result: CallResult): Error | undefined {
  if (result.success || result.code !== "missing_client_capability" || !isPlainObject(result.details))
    return undefined;
  const { requiredCapabilities } = result.details;
  return isPlainObject(requiredCapabilities)
    ? new mcp.MissingRequiredClientCapabilityError({ requiredCapabilities })
    : undefined;
}

/** W3C Trace Context: version, trace id, span id, flags. */
function parentTrace({ _meta: meta }: Request): Pick<RunCallOptions, "traceContext"> {
  const parent = String(meta?.[mcp.TRACEPARENT_META_KEY]);
  const [, traceId, spanId] = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}$/.exec(parent) ?? [];
  return traceId === undefined || spanId === undefined ? {} : { traceContext: { traceId, spanId } };
}

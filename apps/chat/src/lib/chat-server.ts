/** The HTTP side of the chat app: a few routes over conversations. */

import { randomUUID } from "node:crypto";
import type { AIAdapter, LoopResult, LoopRun, ToolView } from "@openfunctions/core";
import { SSE_HEADERS, checkHostAndOrigin, openSseStream } from "@openfunctions/core/http";
import { Hono } from "hono";
import { Conversation, type HomeStores, LOCAL_OWNER } from "openfunctions/app";
import { ApprovalDoor } from "./approval-door.ts";
import { answerApproval, doorClosed, listApprovals } from "./approval-routes.ts";
import { readBody } from "./request-body.ts";
import { type ChatPart, type ErrorBody, PartProjection, toChatResult, toErrorBody } from "./stream-parts.ts";
import { pageFile } from "./page-files.ts";

/** What the server works with. */
export interface ChatServerOptions {
  readonly adapter: AIAdapter;
  readonly tools: ToolView;
  /** Where runs are kept and calls approved. Without it nothing outlives the process and no call waits. */
  readonly home?: HomeStores;
  /** The bearer token that opens approvals, besides the page's cookie. */
  readonly token?: string;
  /** Why this adapter, in words. */
  readonly reason: string;
  /** Hears what the client is not told: the cause of an answer that says only that the server failed. */
  readonly onFailure?: (error: unknown) => void;
}

const ENDPOINTS = [
  "GET /",
  "GET /health",
  "POST /chat",
  "POST /chat/stream",
  "POST /chat/resume",
  "GET /approvals",
  "POST /approvals/<ticket>",
  "POST /reset",
];
const RUN_ID = /^[A-Za-z0-9_-]{1,128}$/;
/** Conversations kept in memory; the one unused for longest goes first. */
const MAX_CONVERSATIONS = 1_000;

/** A web-standard handler; nothing listens yet. */
export function createChatServer(options: ChatServerOptions): Hono {
  const threads = new Threads(options);
  const door = new ApprovalDoor(options.token);
  const app = new Hono({ strict: false });
  app.use(async (context, next) => {
    const verdict = checkHostAndOrigin(context.req.raw, {});
    if (!verdict.ok)
      return context.json(
        failed({ code: "forbidden", message: "This host or origin is not allowed.", retryable: false }),
        403,
      );
    await next();
  });
  app.get("/health", (context) => context.json(healthOf(options)));
  app.post("/chat", async (context) => chat(context.req.raw, threads));
  app.post("/chat/stream", async (context) => chatStream(context.req.raw, threads));
  app.post("/chat/resume", async (context) => chatResume(context.req.raw, threads));
  addApprovals(app, options, door);
  app.post("/reset", async (context) => reset(context.req.raw, threads));
  app.get("/", async (context) => {
    const page = await pageFile("index.html");
    const cookie = door.cookieFor(context.req.raw);
    if (cookie !== undefined) page.headers.append("set-cookie", cookie);
    return page;
  });
  app.get("/page.js", () => pageFile("page.js"));
  app.get("/page.css", () => pageFile("page.css"));
  app.all("/chat", () => wrongMethod("POST"));
  app.all("/chat/stream", () => wrongMethod("POST"));
  app.all("/chat/resume", () => wrongMethod("POST"));
  app.all("/reset", () => wrongMethod("POST"));
  app.all("/health", () => wrongMethod("GET"));
  app.all("/", () => wrongMethod("GET"));
  app.notFound((context) =>
    context.json(
      failed({
        code: "not_found",
        message: "There is no such endpoint.",
        hint: ENDPOINTS.join(", "),
        retryable: false,
      }),
      404,
    ),
  );
  app.onError((error, context) => {
    options.onFailure?.(error);
    return context.json(
      failed({ code: "internal_error", message: "The server failed.", retryable: false }),
      500,
    );
  });
  return app;
}

function addApprovals(app: Hono, { home, tools }: ChatServerOptions, door: ApprovalDoor): void {
  if (home === undefined) return;
  const desk = { approvals: home.approvals, tools };
  app.use("/approvals/*", async (context, next) => {
    if (!door.admits(context.req.raw)) return doorClosed();
    await next();
  });
  app.get("/approvals", () => listApprovals(desk));
  app.post("/approvals/:ticket", (context) =>
    answerApproval(context.req.raw, context.req.param("ticket"), desk),
  );
  app.all("/approvals", () => wrongMethod("GET"));
  app.all("/approvals/:ticket", () => wrongMethod("POST"));
}

/** The conversations of one server, by thread id. */
class Threads {
  readonly options: ChatServerOptions;
  readonly #threads = new Map<string, Conversation>();

  constructor(options: ChatServerOptions) {
    this.options = options;
  }

  /** The conversation of this id, or a new one; an id that is not given is made. */
  open(id: string = randomUUID()): Conversation {
    const { adapter, tools, home } = this.options;
    const onNotKept = this.options.onFailure;
    const kept = home === undefined ? {} : { home: home.loop, threads: home.conversations };
    const heard = onNotKept === undefined ? {} : { onNotKept };
    const conversation = this.#threads.get(id) ?? new Conversation({ adapter, tools, id, ...kept, ...heard });
    this.#threads.delete(id);
    this.#threads.set(id, conversation);
    const [oldest] = this.#threads.keys();
    if (this.#threads.size > MAX_CONVERSATIONS && oldest !== undefined) this.#threads.delete(oldest);
    return conversation;
  }

  async forget(id: string): Promise<void> {
    const conversation = this.#threads.get(id);
    this.#threads.delete(id);
    // A turn that still runs must not bring it back.
    await conversation?.end();
    await this.options.home?.conversations.deleteThread(LOCAL_OWNER, id);
  }

  metadata(threadId: string): {
    readonly provider: string;
    readonly model: string;
    readonly threadId: string;
  } {
    const { provider, model } = this.options.adapter;
    return { provider, model, threadId };
  }
}

function healthOf({ adapter, reason, tools }: ChatServerOptions): object {
  return {
    ok: true,
    name: "openfunctions",
    provider: adapter.provider,
    model: adapter.model,
    reason,
    tools: tools.size,
    status: "ready",
  };
}

async function chat(request: Request, threads: Threads): Promise<Response> {
  const body = await readBody(request, { needsMessage: true });
  if (!body.ok) return errorResponse(body.status, body.error);
  const conversation = threads.open(body.threadId);
  const run = await conversation.turn(body.message, { signal: request.signal });
  const result = await run.result;
  if (result.status === "failed") return errorResponse(502, tellFailure(result, threads));
  return Response.json(toChatResult(result, threads.metadata(conversation.id)));
}

/** The client hears what it can act on, the server's own log the cause. */
function tellFailure(result: LoopResult, { options }: Threads): ErrorBody {
  if (result.error !== undefined) options.onFailure?.(result.error);
  return toErrorBody(result);
}

async function chatStream(request: Request, threads: Threads): Promise<Response> {
  const body = await readBody(request, { needsMessage: true });
  if (!body.ok) return errorResponse(body.status, body.error);
  const conversation = threads.open(body.threadId);
  return streamTurn(request, {
    threads,
    conversation,
    names: [],
    start: (signal) => conversation.turn(body.message, { signal }),
  });
}

/** Goes on with a turn whose tickets are answered. */
async function chatResume(request: Request, threads: Threads): Promise<Response> {
  const body = await readBody(request, { needsMessage: false });
  if (!body.ok) return errorResponse(body.status, body.error);
  const { runId, threadId } = body;
  if (runId === undefined || threadId === undefined || !RUN_ID.test(runId))
    return errorResponse(400, { code: "invalid_run", message: "Send runId and threadId.", retryable: false });
  const record = await threads.options.home?.runs.get(runId);
  if (record === undefined || record.lineage.threadId !== threadId)
    return errorResponse(404, {
      code: "run_not_found",
      message: "This thread has no such run.",
      retryable: false,
    });
  if (record.status !== "suspended")
    return errorResponse(409, {
      code: "record_invalid",
      message: `The run is ${record.status}.`,
      retryable: false,
    });
  const conversation = threads.open(threadId);
  return streamTurn(request, {
    threads,
    conversation,
    names: record.toolCalls.map(({ callId, toolName }) => [callId, toolName]),
    start: (signal) => conversation.resume(record.runId, { signal }),
  });
}

function streamTurn(request: Request, turn: Turn): Response {
  const { threads } = turn;
  const stream = openSseStream();
  void follow(turn, AbortSignal.any([stream.signal, request.signal]), (part, id) =>
    stream.send({ ...(id === undefined ? {} : { id }), event: part.type, data: JSON.stringify(part) }),
  )
    .catch((error: unknown) => {
      threads.options.onFailure?.(error);
      const told = { code: "internal_error", message: "The server failed.", retryable: false };
      stream.send({ event: "error", data: JSON.stringify({ type: "error", error: told, runId: "" }) });
    })
    .finally(() => stream.end());
  return new Response(stream.body, { headers: { ...SSE_HEADERS, "cache-control": "no-store" } });
}

interface Turn {
  readonly threads: Threads;
  readonly conversation: Conversation;
  /** Names of calls that were asked for before. */
  readonly names: readonly (readonly [string, string])[];
  readonly start: (signal: AbortSignal) => Promise<LoopRun>;
}

/** Sends the run's parts as they come; the run ends with its reader. */
async function follow(
  turn: Turn,
  signal: AbortSignal,
  send: (part: ChatPart, id: string | undefined) => boolean,
): Promise<void> {
  const { conversation } = turn;
  const run = await turn.start(signal);
  const projection = new PartProjection(conversation.id, turn.names);
  let seq = 0;
  for await (const event of run) {
    const id = "seq" in event ? `${event.seq}.0` : `${event.after}.${event.n + 1}`;
    if ("seq" in event) seq = event.seq;
    const parts = projection.of(event);
    // Of several parts of one event the last carries the id: what comes after an id is what is still missing.
    for (const [index, part] of parts.entries()) send(part, index === parts.length - 1 ? id : undefined);
  }
  const result = await run.result;
  const last: ChatPart =
    result.status === "failed"
      ? { type: "error", error: tellFailure(result, turn.threads), runId: result.runId }
      : { type: "done", result: toChatResult(result, turn.threads.metadata(conversation.id)) };
  send(last, `${seq}.1`);
}

async function reset(request: Request, threads: Threads): Promise<Response> {
  const body = await readBody(request, { needsMessage: false });
  if (!body.ok) return errorResponse(body.status, body.error);
  if (body.threadId !== undefined) await threads.forget(body.threadId);
  return Response.json({ ok: true, threadId: threads.open().id });
}

function failed(error: ErrorBody): { readonly error: ErrorBody } {
  return { error };
}

function errorResponse(status: number, error: ErrorBody): Response {
  return Response.json(failed(error), { status });
}

function wrongMethod(allowed: string): Response {
  const error = { code: "method_not_allowed", message: `Use ${allowed}.`, retryable: false };
  return Response.json(failed(error), { status: 405, headers: { allow: allowed } });
}

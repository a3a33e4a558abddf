/** Neutral replies written in a provider's wire words, so that one suite can question every adapter. */

import type { FakeReply } from "./fake-model-server.ts";

/** One call of a neutral reply. `args` is a list of pieces, streamed one by one; null leaves the id out. */
export interface NeutralCall {
  readonly id: string | null;
  readonly name: string;
  readonly args: readonly string[];
}

/** A reply in no provider's words. Reasoning, if any, comes first, then text, then calls. */
export interface NeutralReply {
  /** An opaque reasoning item, named by its secret. */
  readonly opaque?: string;
  /** One delta per entry. */
  readonly text?: readonly string[];
  readonly calls?: readonly NeutralCall[];
  /** Default: `tool_calls` where there are calls, else `stop`. */
  readonly finish?: "stop" | "tool_calls" | "length" | "refusal" | "content_filter";
  /** Inclusive counts, as providers state them. Default 10, 4, 6, 2. */
  readonly usage?: {
    readonly input: number;
    readonly cached: number;
    readonly output: number;
    readonly reasoning: number;
  };
}

/** How one provider's wire looks. */
export interface WireFixtures {
  /** A streamed reply, one block per server-sent event, the last one its end. */
  stream(reply: NeutralReply): readonly string[];
  /** False where the wire has no comments between its events. */
  readonly comments?: false;
  /** An error object inside a stream that began with 200. */
  errorEvent(message: string): string;
  /** Bodies of failures. */
  readonly failures: {
    readonly unauthorized: FakeReply;
    readonly rateLimited: FakeReply;
    readonly serverError: FakeReply;
    readonly contextOverflow: FakeReply;
  };
  /** Everything of a request body that is conversation, in order, as JSON values. */
  historyOf(body: unknown): readonly unknown[];
  /** The opaque items among it, as they were sent; empty for wires without any. */
  opaqueOf(body: unknown): readonly unknown[];
  /** The conversation with every opaque item on its own, where `historyOf` has them inside a message. */
  itemsOf?(body: unknown): readonly unknown[];
}

/** The counts of a reply that names none. */
export const NEUTRAL_USAGE: NonNullable<NeutralReply["usage"]> = {
  input: 10,
  cached: 4,
  output: 6,
  reasoning: 2,
};

function errorReply(status: number, error: { readonly code: string; readonly message: string }): FakeReply {
  return {
    status,
    json: { error: { ...error, type: error.code, param: null } },
    headers: { "x-request-id": `req_${status}` },
  };
}

/** Failure bodies as OpenAI sends them (fixtures openai/openai-error.1.json and the groq and openrouter cassettes). */
const OPENAI_FAILURES: WireFixtures["failures"] = {
  unauthorized: errorReply(401, {
    code: "invalid_api_key",
    message: "Incorrect API key provided: sk-conformance-0123456789abcdef.",
  }),
  rateLimited: errorReply(429, { code: "rate_limit_exceeded", message: "Rate limit reached." }),
  serverError: errorReply(500, { code: "server_error", message: "The server had an error." }),
  contextOverflow: errorReply(400, {
    code: "context_length_exceeded",
    message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
  }),
};

function block(event: object): string {
  const name = "type" in event && typeof event.type === "string" ? `event: ${event.type}\n` : "";
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

/** OpenAI's Responses API. */
export const responsesFixtures: WireFixtures = {
  stream: (reply) => responsesEvents(reply).map(block),
  errorEvent: (message) =>
    block({ type: "error", code: "server_error", message, param: null, sequence_number: 9 }),
  failures: OPENAI_FAILURES,
  historyOf: (body) => listField(body, "input"),
  opaqueOf: (body) => listField(body, "input").filter((item) => field(item, "type") === "reasoning"),
};

function responsesEvents(reply: NeutralReply): object[] {
  const events: object[] = [
    {
      type: "response.created",
      response: { id: "resp_1", object: "response", model: "model-that-answered", status: "in_progress" },
    },
  ];
  const items: object[] = [];
  const addItem = (item: object, steps: readonly object[]): void => {
    const output_index = items.push(item) - 1;
    const begun = {
      ...item,
      ...("content" in item ? { content: [] } : {}),
      ...("arguments" in item ? { arguments: "" } : {}),
      status: "in_progress",
    };
    events.push({ type: "response.output_item.added", output_index, item: begun });
    for (const step of steps) events.push({ ...step, output_index });
    events.push({ type: "response.output_item.done", output_index, item });
  };
  if (reply.opaque !== undefined) {
    addItem(
      {
        id: `rs_${reply.opaque}`,
        type: "reasoning",
        summary: [],
        encrypted_content: `secret é ${reply.opaque} \u2028`,
      },
      [],
    );
  }
  if (reply.text !== undefined) addItem(...responsesMessage(reply));
  for (const call of reply.calls ?? []) {
    const item = {
      type: "function_call",
      id: `fc_${items.length}`,
      ...(call.id === null ? {} : { call_id: call.id }),
      name: call.name,
      arguments: call.args.join(""),
    };
    addItem(
      call.id === null ? { ...item, id: undefined } : item,
      call.args.map((delta) => ({
        type: "response.function_call_arguments.delta",
        item_id: `fc_${items.length}`,
        delta,
      })),
    );
  }
  return [...events, responsesEnd(reply, items)];
}

function responsesMessage(reply: NeutralReply): [item: object, steps: object[]] {
  const text = (reply.text ?? []).join("");
  const refused = reply.finish === "refusal";
  const part = refused ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations: [] };
  const type = refused ? "response.refusal.delta" : "response.output_text.delta";
  const item = { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [part] };
  return [item, (reply.text ?? []).map((delta) => ({ type, item_id: "msg_1", content_index: 0, delta }))];
}

function responsesEnd(reply: NeutralReply, output: readonly object[]): object {
  const { input, cached, output: written, reasoning } = reply.usage ?? NEUTRAL_USAGE;
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: written,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + written,
  };
  const cutShort =
    reply.finish === "length"
      ? "max_output_tokens"
      : reply.finish === "content_filter"
        ? "content_filter"
        : undefined;
  const status = cutShort === undefined ? "completed" : "incomplete";
  const response = {
    id: "resp_1",
    object: "response",
    model: "model-that-answered",
    status,
    output,
    usage,
    incomplete_details: cutShort === undefined ? null : { reason: cutShort },
  };
  return { type: `response.${status}`, response };
}

/** OpenAI-compatible chat completions. */
export const chatFixtures: WireFixtures = {
  stream: (reply) => [...chatChunks(reply).map(block), "data: [DONE]\n\n"],
  errorEvent: (message) => block({ error: { code: "server_error", message } }),
  failures: OPENAI_FAILURES,
  historyOf: (body) => listField(body, "messages"),
  opaqueOf: () => [],
};

/** Chat completions as OpenRouter streams them: comments, opaque reasoning details, a cost, errors with number codes. */
export const openRouterFixtures: WireFixtures = {
  ...chatFixtures,
  stream: (reply) => [": OPENROUTER PROCESSING\n\n", ...routedChunks(reply).map(block), "data: [DONE]\n\n"],
  errorEvent: (message) =>
    block({
      ...ROUTED,
      error: { code: 502, message },
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
    }),
  failures: {
    unauthorized: routedError(401, "No auth credentials found for sk-conformance-0123456789abcdef."),
    rateLimited: routedError(429, "Provider returned error"),
    serverError: routedError(502, "Provider returned error"),
    contextOverflow: routedError(
      400,
      "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens.",
    ),
  },
  opaqueOf: (body) =>
    listField(body, "messages").flatMap((message) => listField(message, "reasoning_details")),
  itemsOf: (body) =>
    listField(body, "messages").flatMap((message) => [...listField(message, "reasoning_details"), message]),
};

const ROUTED = { id: "gen-1", provider: "Upstream", object: "chat.completion.chunk" };

function routedError(code: number, message: string): FakeReply {
  return { status: code, json: { error: { code, message }, user_id: "user_1" } };
}

function routedChunks(reply: NeutralReply): object[] {
  const [first = {}, ...rest] = chatChunks(reply).map((chunk) => ({
    ...ROUTED,
    ...chunk,
    ...("usage" in chunk ? { usage: { ...Object(chunk.usage), cost: 0.00085, is_byok: false } } : {}),
  }));
  if (reply.opaque === undefined) return [first, ...rest];
  const detail = {
    type: "reasoning.encrypted",
    data: `secret é ${reply.opaque} \u2028`,
    id: `rs_${reply.opaque}`,
    format: "openai-responses-v1",
    index: 0,
  };
  const delta = { content: "", reasoning: null, reasoning_details: [detail] };
  return [first, { ...ROUTED, choices: [{ index: 0, delta, finish_reason: null }] }, ...rest];
}

function chatChunks(reply: NeutralReply): object[] {
  const chunk = (delta: object, finish_reason: string | null = null): object => ({
    id: "chatcmpl_1",
    object: "chat.completion.chunk",
    model: "model-that-answered",
    choices: [{ index: 0, delta, finish_reason }],
  });
  const chunks = [chunk({ role: "assistant", content: "" })];
  for (const text of reply.text ?? [])
    chunks.push(chunk(reply.finish === "refusal" ? { refusal: text } : { content: text }));
  for (const [index, call] of (reply.calls ?? []).entries()) {
    const id = call.id === null ? {} : { id: call.id };
    chunks.push(
      chunk({
        tool_calls: [{ index, ...id, type: "function", function: { name: call.name, arguments: "" } }],
      }),
    );
    for (const piece of call.args)
      chunks.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
  }
  const finish =
    reply.finish === "refusal"
      ? "stop"
      : (reply.finish ?? ((reply.calls ?? []).length > 0 ? "tool_calls" : "stop"));
  const { input, cached, output, reasoning } = reply.usage ?? NEUTRAL_USAGE;
  const usage = {
    prompt_tokens: input,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens: output,
    completion_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
  return [
    ...chunks,
    chunk({}, finish),
    { id: "chatcmpl_1", model: "model-that-answered", choices: [], usage },
  ];
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function listField(value: unknown, name: string): readonly unknown[] {
  const list = field(value, name);
  return Array.isArray(list) ? list : [];
}

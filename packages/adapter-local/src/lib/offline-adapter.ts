/** What answers when there is no model: matches words to tools, and says plainly that it is not a language model. */

import {
  type AIAdapter,
  ConfigError,
  type Message,
  type ModelEvent,
  type ModelRequest,
  type ModelTool,
  defineAdapter,
  textOf,
  toolCallsOf,
  toolResultsOf,
} from "@openfunctions/core";
import { extractArguments, extractBySchema, missingOf } from "./offline-extract.ts";
import { MAX_MESSAGE_CHARS } from "./offline-examples.ts";
import { pickTool } from "./offline-match.ts";
import { reportResults } from "./offline-report.ts";

const TOO_LONG = `I match words to tools, and this message is too long for that; use at most ${MAX_MESSAGE_CHARS} characters.`;

/** What one reply holds. */
type OfflineReply =
  | { readonly text: string }
  | { readonly tool: ModelTool; readonly args: Record<string, unknown>; readonly callId: string };

const NOTICE = "(Offline: I am not a language model. I match your words to tools.)";

/**
 * Makes the offline adapter: no key, no server, no network, deterministic. It picks a tool by the words of the last
 * message, fills its arguments from it, asks for what is missing, and reports results. It never invents a value: a
 * forced tool or a JSON answer whose required values are not in the message is a `ConfigError` `missing_values`.
 */
export function createOfflineAdapter(): AIAdapter {
  return defineAdapter({
    provider: "offline",
    model: "offline",
    capabilities: {
      parallelCalls: false,
      forcedChoice: true,
      jsonSchema: true,
      jsonSchemaWithTools: false,
      images: false,
      priced: true,
    },
    stream: (request) => streamReply(request),
  });
}

async function* streamReply(request: ModelRequest): AsyncGenerator<ModelEvent> {
  request.signal?.throwIfAborted();
  const reply = answer(request);
  yield { type: "start", model: "offline" };
  if ("text" in reply) {
    for (const text of reply.text.match(/\S+\s*|\s+/g) ?? []) {
      request.signal?.throwIfAborted();
      yield { type: "text_delta", text };
    }
    yield usageOf(request, reply.text);
    yield { type: "finish", reason: "stop" };
    return;
  }
  const { tool, args, callId } = reply;
  const argsText = JSON.stringify(args);
  yield { type: "tool_call_delta", index: 0, callId, name: tool.name, argsText };
  yield { type: "tool_call", index: 0, callId, name: tool.name, args: JSON.parse(argsText), argsText };
  yield usageOf(request, argsText);
  yield { type: "finish", reason: "tool_calls" };
}

function answer(request: ModelRequest): OfflineReply {
  const { messages, tools = [], toolChoice = "auto", responseFormat } = request;
  const last = messages.at(-1);
  if (last?.role === "tool") return { text: withNotice(reportResults(toolResultsOf(last)), messages) };
  const said = last === undefined ? "" : textOf(last).trim();
  if (said.length > MAX_MESSAGE_CHARS && responseFormat === undefined && toolChoice === "auto")
    return { text: withNotice(TOO_LONG, messages) };
  if (responseFormat?.type === "json_schema") return structuredAnswer(said, responseFormat);
  if (typeof toolChoice === "object" || toolChoice === "required") return forcedCall(request, said);
  const usable = toolChoice === "none" ? [] : tools;
  return answerToQuestion(messages, said, usable) ?? newCall(messages, said, usable);
}

function newCall(messages: readonly Message[], said: string, tools: readonly ModelTool[]): OfflineReply {
  const match = pickTool(said, tools);
  if (match === undefined) return { text: describeAbilities(tools) };
  const { args, missing } = extractArguments(said, match.tool);
  if (missing.length > 0) return { text: withNotice(question(match.tool, missing), messages) };
  return { tool: match.tool, args, callId: nextCallId(messages) };
}

const QUESTION = /^I can use "([a-z0-9_]+)" for that, but I need ([^.]+)\./;

function question(tool: ModelTool, missing: readonly string[]): string {
  const wanted = missing.map((name) => {
    const property = tool.inputSchema.properties?.[name];
    const about = typeof property === "object" ? property.description : undefined;
    return about === undefined ? name : `${name} (${about.replace(/[.()]/g, "")})`;
  });
  return `I can use "${tool.name}" for that, but I need ${wanted.join(" and ")}.`;
}

/** The message that answers our own question: read together with the one that led to it. */
function answerToQuestion(
  messages: readonly Message[],
  said: string,
  tools: readonly ModelTool[],
): OfflineReply | undefined {
  const before = messages.at(-2);
  const asked = before?.role === "assistant" ? QUESTION.exec(textOf(before)) : null;
  const tool = tools.find(({ name }) => name === asked?.[1]);
  if (tool === undefined) return undefined;
  const first = messages.at(-3);
  const earlier = extractArguments(first === undefined ? "" : textOf(first), tool);
  const [only, ...others] = earlier.missing;
  const now = extractArguments(said, tool).args;
  const direct = only !== undefined && others.length === 0 && isText(tool, only) ? { [only]: said } : {};
  const args = { ...earlier.args, ...now, ...direct };
  const missing = missingOf(tool.inputSchema, args);
  return missing.length > 0
    ? { text: question(tool, missing) }
    : { tool, args, callId: nextCallId(messages) };
}

function isText(tool: ModelTool, name: string): boolean {
  const property = tool.inputSchema.properties?.[name];
  return (
    typeof property === "object" &&
    property.type === "string" &&
    property.enum === undefined &&
    property.format === undefined
  );
}

function forcedCall({ messages, tools = [], toolChoice }: ModelRequest, said: string): OfflineReply {
  const tool =
    typeof toolChoice === "object"
      ? tools.find(({ name }) => name === toolChoice.name)
      : pickTool(said, tools)?.tool;
  if (tool === undefined) throw missingValues("No tool fits the message, and one was required.");
  const { args, missing } = extractArguments(said, tool, "named");
  if (missing.length > 0)
    throw missingValues(`The message does not state ${missing.join(", ")} for "${tool.name}".`);
  return { tool, args, callId: nextCallId(messages) };
}

function structuredAnswer(
  said: string,
  { schema }: Extract<ModelRequest["responseFormat"], { type: "json_schema" }>,
): OfflineReply {
  const value = extractBySchema(said, schema, { reading: "named" });
  const missing = missingOf(schema, value);
  if (missing.length > 0) throw missingValues(`The message does not state ${missing.join(", ")}.`);
  return { text: JSON.stringify(value) };
}

function missingValues(message: string): ConfigError {
  return new ConfigError(`${message} The offline adapter never invents values.`, {
    code: "missing_values",
    hint: "State the values in the message, or set a provider's key to use a model.",
  });
}

function describeAbilities(tools: readonly ModelTool[]): string {
  if (tools.length === 0) return `${NOTICE}\nThere are no tools, so there is nothing I can do.`;
  const lines = tools.map(({ name, description, examples }) => {
    const example = examples?.[0]?.description;
    return `- ${name}: ${description.split("\n", 1)[0]}${example === undefined ? "" : ` Try: ${example}`}`;
  });
  return `${NOTICE}\nI found no tool for that. What I can do:\n${lines.join("\n")}`;
}

/** Says once in a conversation what is answering. */
function withNotice(text: string, messages: readonly Message[]): string {
  const told = messages.some((message) => message.role === "assistant" && textOf(message).includes(NOTICE));
  return told ? text : `${text}\n\n${NOTICE}`;
}

/** Counted from the history, so that the same history gives the same id and no id comes twice. */
function nextCallId(messages: readonly Message[]): string {
  const used = messages.reduce((count, message) => count + toolCallsOf(message).length, 0);
  return `call_offline_${used + 1}`;
}

const CHARS_PER_TOKEN = 4;

function usageOf(request: ModelRequest, written: string): ModelEvent {
  const read = request.messages.reduce(
    (sum, message) => sum + JSON.stringify(message.content).length,
    request.system?.length ?? 0,
  );
  const [input, output] = [Math.ceil(read / CHARS_PER_TOKEN), Math.ceil(written.length / CHARS_PER_TOKEN)];
  return {
    type: "usage",
    usage: {
      input,
      cacheRead: 0,
      cacheWrite: 0,
      output,
      reasoning: 0,
      total: input + output,
      costUsd: 0,
      estimated: true,
    },
  };
}

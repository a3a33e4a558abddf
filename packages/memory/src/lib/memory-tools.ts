/** The tools by which a model reaches what is remembered. The owner is the run's, never an argument. */

import { defineTool, err, type Message, ok, partsOf, type Tool, type ToolContext } from "@openfunctions/core";
import type { ConversationMemory } from "./conversation-memory.ts";
import type { FactMemory, Recollection } from "./fact-memory.ts";

/** The halves that tools are made for. */
export interface MemoryToolOptions {
  readonly conversation?: ConversationMemory;
  readonly facts?: FactMemory;
  /** The thread of this run, which is no foreign source and so is not listed. */
  readonly currentThread?: (context: ToolContext) => string | undefined;
}

const READ = {
  version: "1",
  authority: { level: "none" },
  effects: { kind: "read", openWorld: false, domains: ["memory"] },
  idempotency: { mode: "natural" },
} as const;

const WRITE = {
  version: "1",
  authority: { level: "session" },
  effects: { kind: "write", openWorld: false, domains: ["memory"], undo: "reversible" },
  idempotency: { mode: "natural" },
} as const;

/**
 * `store_fact`, `recall_facts` and `forget_fact` for facts; `list_threads` and `get_thread` for conversations; each
 * half only where it is given.
 */
export function createMemoryTools({
  conversation,
  facts,
  currentThread,
}: MemoryToolOptions): readonly Tool[] {
  return [
    ...(facts === undefined ? [] : [storeFact(facts), recallFacts(facts), forgetFact(facts)]),
    ...(conversation === undefined
      ? []
      : [listThreads(conversation, currentThread), getThread(conversation)]),
  ];
}

function storeFact(facts: FactMemory): Tool {
  return defineTool({
    name: "store_fact",
    description: "Remembers one fact for later conversations. The same fact is kept once.",
    inputSchema: {
      type: "object",
      properties: {
        content: { type: "string", minLength: 1, maxLength: 2000, description: "The fact, in one sentence." },
        source: { type: "string", maxLength: 200, description: "Where it comes from." },
        tags: {
          type: "array",
          items: { type: "string", maxLength: 60 },
          maxItems: 20,
          description: "What it is about.",
        },
      },
      required: ["content"],
      additionalProperties: false,
    },
    contract: WRITE,
    tags: ["memory", "memory:facts"],
    examples: [
      { description: "remember that Ada likes green tea", input: { content: "Ada likes green tea" } },
    ],
    handler: async ({ content, source, tags }, { owner, runId }) => {
      const { fact, created } = await facts.remember(owner, {
        content,
        origin: "agent",
        ...(source === undefined ? {} : { source }),
        ...(tags === undefined ? {} : { tags }),
        ...(runId === undefined ? {} : { runId }),
      });
      return ok(
        { fact_id: fact.id, content: fact.content, created },
        created ? "Remembered." : "Known already.",
      );
    },
  });
}

function recallFacts(facts: FactMemory): Tool {
  return defineTool({
    name: "recall_facts",
    description: "Finds remembered facts about something, best first. An empty query lists the newest.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", maxLength: 1000, description: "What to look for, in a few words." },
        limit: { type: "integer", minimum: 1, maximum: 50, default: 10, description: "How many at most." },
        tags: { type: "array", items: { type: "string" }, description: "Only facts with all of these." },
      },
      required: ["query"],
      additionalProperties: false,
    },
    contract: READ,
    tags: ["memory", "memory:facts"],
    examples: [{ description: "what do you know about my tea", input: { query: "tea" } }],
    handler: async ({ query, limit, tags }, { owner, signal }) => {
      const {
        mode,
        reason,
        facts: found,
      } = await facts.recall(owner, query, {
        ...(limit === undefined ? {} : { limit }),
        ...(tags === undefined ? {} : { tags }),
        signal,
      });
      const how = `${mode}${reason === undefined ? "" : `, ${reason}`}`;
      const lines = found.map(({ content }) => `- ${content}`);
      const plain =
        found.length === 0
          ? `Nothing is remembered of that (${how}).`
          : [`Remembered (${how}):`, ...lines].join("\n");
      return ok({ mode, ...(reason === undefined ? {} : { reason }), facts: found.map(shownFact) }, plain);
    },
    // The plain words are for people; a model needs ids and origins.
    toModel: (result) => (result.success ? JSON.stringify(result.data) : result.error),
  });
}

/** A fact as a model reads it; text of others says so. */
function shownFact({ id, content, source, origin, tags, updatedAt, score }: Recollection["facts"][number]) {
  return {
    fact_id: id,
    content,
    tags: [...tags],
    updated: updatedAt,
    score: Math.round(score * 1000) / 1000,
    ...(source === undefined ? {} : { source }),
    ...(origin === undefined ? {} : { origin }),
  };
}

function forgetFact(facts: FactMemory): Tool {
  return defineTool({
    name: "forget_fact",
    description: "Forgets a fact. The last change can be taken back by the user.",
    inputSchema: {
      type: "object",
      properties: { fact_id: { type: "string", description: "From recall_facts." } },
      required: ["fact_id"],
      additionalProperties: false,
    },
    contract: WRITE,
    tags: ["memory", "memory:facts"],
    handler: async ({ fact_id: id }, { owner, principal }) =>
      (await facts.forget(owner, id, principal.id))
        ? ok({ fact_id: id, forgotten: true }, "Forgotten.")
        : err(`There is no fact "${id.slice(0, 60)}". recall_facts lists what there is.`),
  });
}

function listThreads(
  conversation: ConversationMemory,
  currentThread: MemoryToolOptions["currentThread"],
): Tool {
  return defineTool({
    name: "list_threads",
    description: "Lists earlier conversations, the newest first.",
    inputSchema: {
      type: "object",
      properties: {
        limit: { type: "integer", minimum: 1, maximum: 100, default: 20, description: "How many at most." },
      },
      additionalProperties: false,
    },
    contract: READ,
    tags: ["memory", "memory:threads"],
    handler: async ({ limit }, context) => {
      const current = currentThread?.(context);
      const { threads } = await conversation.listThreads(context.owner, {
        limit: Math.min(100, (limit ?? 20) + 1),
      });
      const others = threads.filter(({ id }) => id !== current).slice(0, limit ?? 20);
      return ok({
        threads: others.map(({ id, title, updatedAt, messageCount }) => ({
          thread_id: id,
          ...(title === undefined ? {} : { title }),
          updated: updatedAt,
          messages: messageCount,
        })),
      });
    },
  });
}

function getThread(conversation: ConversationMemory): Tool {
  return defineTool({
    name: "get_thread",
    description: "Reads the last messages of an earlier conversation.",
    inputSchema: {
      type: "object",
      properties: {
        thread_id: { type: "string", description: "From list_threads." },
        count: { type: "integer", minimum: 1, maximum: 200, default: 20, description: "How many messages." },
      },
      required: ["thread_id"],
      additionalProperties: false,
    },
    contract: READ,
    tags: ["memory", "memory:threads"],
    handler: async ({ thread_id: id, count }, { owner }) => {
      const known = /^[A-Za-z0-9_-]{1,128}$/.test(id);
      const messages = known ? await conversation.messages(owner, id, { last: count ?? 20 }) : undefined;
      if (messages === undefined)
        return err(`There is no thread "${id.slice(0, 60)}". list_threads shows what there is.`);
      return ok({ thread_id: id, messages: messages.map(shownMessage) });
    },
  });
}

/** A message as text; what has no text is named. */
function shownMessage(message: Message): { readonly role: string; readonly text: string } {
  const text = partsOf(message).map((part) => {
    if (part.type === "text") return part.text;
    if (part.type === "tool_call") return `[called ${part.name} ${JSON.stringify(part.args)}]`;
    if (part.type === "tool_result")
      return `[${part.name} answered: ${typeof part.result === "string" ? part.result : "content"}]`;
    return part.type === "image" || part.type === "file" ? `[${part.type}]` : "";
  });
  return { role: message.role, text: text.filter((one) => one !== "").join("\n") };
}

/** What an agent remembers: threads, facts, and the tools to reach them. */

export { type CompactorOptions, createCompactor } from "./lib/compactor.ts";
export {
  type ConversationOptions,
  ConversationMemory,
  createConversationMemory,
  type MessageQuery,
  type ThreadQuery,
  type ThreadRecord,
  type TurnInput,
} from "./lib/conversation-memory.ts";
export {
  createFactMemory,
  type Fact,
  type FactInput,
  FactMemory,
  type FactOptions,
  type RecalledFact,
  type RecallOptions,
  type Recollection,
} from "./lib/fact-memory.ts";
export { createMemoryTools, type MemoryToolOptions } from "./lib/memory-tools.ts";

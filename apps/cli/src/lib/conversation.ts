/** One conversation: turns in order, each a run, the history whole or not at all. */

import {
  type AIAdapter,
  type Compactor,
  type LoopOptions,
  type LoopResult,
  type LoopRun,
  type Message,
  type ToolView,
  composeSections,
  loadPromptPreset,
  resumeRun,
  runLoop,
} from "@openfunctions/core";
import { type ConversationMemory, createCompactor } from "@openfunctions/memory";
import { LOCAL_OWNER } from "./answer-tickets.ts";
import type { HomeStores } from "./home-stores.ts";

/** What a turn may add. */
export type TurnOptions = Pick<LoopOptions, "signal" | "ports">;

/** What a conversation works with. */
export interface ConversationOptions {
  readonly adapter: AIAdapter;
  readonly tools: ToolView;
  readonly id: string;
  /** Instructions. Default: the `assistant` preset. */
  readonly prompt?: string;
  /** Where turns are kept, approved and accounted for. Without it nothing outlives the process. */
  readonly home?: HomeStores["loop"];
  /** Where the conversation of this id goes on, and is kept turn by turn. Without it, it ends with the process. */
  readonly threads?: ConversationMemory;
  /** Hears of a turn that could not be kept; the conversation itself goes on. */
  readonly onNotKept?: (cause: unknown) => void;
}

/** The instructions of a conversation. */
export function conversationPrompt(prompt: string | undefined): NonNullable<LoopOptions["system"]> {
  return composeSections({ role: prompt ?? loadPromptPreset("assistant") });
}

/** Keeps the history of a conversation; a turn that fails or is cancelled leaves it as it was. */
export class Conversation {
  readonly id: string;
  readonly #options: ConversationOptions;
  readonly #system: NonNullable<LoopOptions["system"]>;
  /** The history that a suspended turn began with; it goes on only while nothing else was said. */
  readonly #suspended = new Map<string, readonly Message[]>();
  readonly #compactor: Compactor;
  #messages: readonly Message[] = [];
  #turns = 0;
  #loaded = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ConversationOptions) {
    this.id = options.id;
    this.#options = options;
    this.#compactor = createCompactor({ adapter: options.adapter });
    this.#system = conversationPrompt(options.prompt);
  }

  /** The history so far, as the model is sent it. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Starts a turn once the turns before it are over. */
  turn(text: string, options: TurnOptions = {}): Promise<LoopRun> {
    return this.#queue(async () => {
      await this.#load();
      return this.#start(text, options);
    });
  }

  /** Goes on with a turn that waited for a person. Throws what `resumeRun` throws. */
  resume(runId: string, options: TurnOptions = {}): Promise<LoopRun> {
    const { adapter, tools, home } = this.#options;
    const compactor = this.#compactor;
    if (home === undefined) throw new TypeError("A conversation without stores keeps no suspended turns.");
    return this.#queue(async () => {
      await this.#load();
      // A turn of an earlier process goes on only where nothing was said since.
      if (!this.#suspended.has(runId)) this.#suspended.set(runId, this.#turns === 0 ? this.#messages : []);
      return resumeRun(runId, { ...options, ...home, adapter, tools, compactor, system: this.#system });
    });
  }

  /** What an earlier process kept of this conversation. */
  async #load(): Promise<void> {
    if (this.#loaded) return;
    const kept = await this.#options.threads?.messages(LOCAL_OWNER, this.id);
    this.#messages = kept ?? this.#messages;
    this.#loaded = true;
  }

  async #queue(start: () => Promise<LoopRun>): Promise<LoopRun> {
    const before = this.#last;
    let finished = (): void => {};
    this.#last = new Promise<void>((resolve) => {
      finished = resolve;
    });
    await before;
    let run: LoopRun;
    try {
      run = await start();
    } catch (cause) {
      // A turn that cannot begin must not hold up the next one.
      finished();
      throw cause;
    }
    void run.result.then((result) => this.#settle(result)).finally(finished);
    return run;
  }

  #start(text: string, options: TurnOptions): LoopRun {
    const { adapter, tools, home } = this.#options;
    const turnIndex = this.#turns;
    this.#turns += 1;
    return runLoop({
      ...options,
      ...home,
      adapter,
      tools,
      messages: [...this.#messages, { role: "user", content: text }],
      known: this.#messages.length,
      kind: "chat_turn",
      actor: { name: "chat" },
      lineage: { threadId: this.id, turnIndex },
      capture: "full",
      compactor: this.#compactor,
      system: this.#system,
    });
  }

  async #settle({ runId, status, messages, compacted = messages }: LoopResult): Promise<void> {
    const base = this.#suspended.get(runId);
    if (status === "suspended") {
      this.#suspended.set(runId, base ?? this.#messages);
      return;
    }
    this.#suspended.delete(runId);
    if (base !== undefined && base !== this.#messages) return;
    if (status !== "completed" && status !== "limit_reached") return;
    const { threads, onNotKept } = this.#options;
    const turn = messages.slice(this.#messages.length);
    this.#messages = compacted;
    try {
      await threads?.append(LOCAL_OWNER, this.id, { messages: turn, runId });
    } catch (cause) {
      onNotKept?.(cause);
    }
  }
}

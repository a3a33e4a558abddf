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

/** How a suspended turn began; it goes on only while nothing else was said. */
interface Begun {
  readonly history: readonly Message[];
  /** Messages that its run began with: a compactor may have left fewer than the thread holds. */
  readonly known: number;
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
  readonly #suspended = new Map<string, Begun>();
  readonly #compactor: Compactor;
  #messages: readonly Message[] = [];
  #turns = 0;
  #loaded = false;
  #ended = false;
  #keeping: Promise<unknown> = Promise.resolve();
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
      if (!this.#suspended.has(runId)) this.#suspended.set(runId, await this.#begun(runId, home));
      return resumeRun(runId, { ...options, ...home, adapter, tools, compactor, system: this.#system });
    });
  }

  /** Resolves once the turns begun so far are over and kept. */
  async settled(): Promise<void> {
    await this.#last;
  }

  /** Nothing of it is kept from now on, whatever is still running. Resolves when nothing is being written any more. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#keeping;
  }

  /** How a turn of an earlier process began: it goes on only where nothing was said since. */
  async #begun(runId: string, { store }: HomeStores["loop"]): Promise<Begun> {
    const thread = await this.#options.threads?.readThread(LOCAL_OWNER, this.id);
    for await (const { at, type, data } of store.read(runId)) {
      if (type !== "run.started" || this.#turns > 0 || (thread !== undefined && thread.updatedAt > at)) break;
      const { value = [] } = data.history ?? {};
      return { history: this.#messages, known: Array.isArray(value) ? value.length : 0 };
    }
    return { history: [], known: 0 };
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
      this.#suspended.set(runId, base ?? { history: this.#messages, known: this.#messages.length });
      return;
    }
    this.#suspended.delete(runId);
    if (base !== undefined && base.history !== this.#messages) return;
    if (status !== "completed" && status !== "limit_reached") return;
    const { threads, onNotKept } = this.#options;
    const turn = messages.slice(base?.known ?? this.#messages.length);
    this.#messages = compacted;
    if (this.#ended) return;
    try {
      const kept = threads?.append(LOCAL_OWNER, this.id, { messages: turn, runId });
      this.#keeping = Promise.allSettled([kept]);
      await kept;
    } catch (cause) {
      onNotKept?.(cause);
    }
  }
}

/** One conversation: turns in order, each a run, the history whole or not at all. */

import {
  type AIAdapter,
  type LoopOptions,
  type LoopResult,
  type LoopRun,
  type Message,
  type ToolView,
  composeSections,
  loadPromptPreset,
  runLoop,
} from "@openfunctions/core";

/** What a turn may add. */
export type TurnOptions = Pick<LoopOptions, "signal" | "ports">;

/** What a conversation works with. */
export interface ConversationOptions {
  readonly adapter: AIAdapter;
  readonly tools: ToolView;
  readonly id: string;
  /** Instructions. Default: the `assistant` preset. */
  readonly prompt?: string;
  readonly store?: LoopOptions["store"];
  /** Seals the record of every turn. */
  readonly signer?: LoopOptions["signer"];
}

/** Keeps the history of a conversation; a turn that fails or is cancelled leaves it as it was. */
export class Conversation {
  readonly id: string;
  readonly #options: ConversationOptions;
  readonly #system: LoopOptions["system"];
  #messages: readonly Message[] = [];
  #turns = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ConversationOptions) {
    this.id = options.id;
    this.#options = options;
    this.#system = composeSections({ role: options.prompt ?? loadPromptPreset("assistant") });
  }

  /** The history so far. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Starts a turn once the turns before it are over. */
  async turn(text: string, options: TurnOptions = {}): Promise<LoopRun> {
    const before = this.#last;
    let finished = (): void => {};
    this.#last = new Promise<void>((resolve) => {
      finished = resolve;
    });
    await before;
    let run: LoopRun;
    try {
      run = this.#start(text, options);
    } catch (cause) {
      // A turn that cannot begin must not hold up the next one.
      finished();
      throw cause;
    }
    void run.result.then((result) => this.#settle(result)).finally(finished);
    return run;
  }

  #start(text: string, options: TurnOptions): LoopRun {
    const { adapter, tools, store, signer } = this.#options;
    const turnIndex = this.#turns;
    this.#turns += 1;
    return runLoop({
      ...options,
      adapter,
      tools,
      messages: [...this.#messages, { role: "user", content: text }],
      known: this.#messages.length,
      kind: "chat_turn",
      actor: { name: "chat" },
      lineage: { threadId: this.id, turnIndex },
      capture: "full",
      ...(this.#system === undefined ? {} : { system: this.#system }),
      ...(store === undefined ? {} : { store }),
      ...(signer === undefined ? {} : { signer }),
    });
  }

  #settle({ status, messages }: LoopResult): void {
    if (status === "completed" || status === "limit_reached") this.#messages = messages;
  }
}

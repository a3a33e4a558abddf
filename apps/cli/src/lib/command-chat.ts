/** `openfunctions chat`: a conversation in the terminal. */

import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline/promises";
import {
  type AIAdapter,
  type PendingCall,
  type ToolView,
  loadPromptPreset,
  resolvePrompt,
} from "@openfunctions/core";
import { LOCAL_OWNER, localPerson } from "./answer-tickets.ts";
import { chooseAdapter } from "./choose-adapter.ts";
import { Conversation } from "./conversation.ts";
import { dataHome } from "./data-home.ts";
import { followRun } from "./follow-run.ts";
import { type HomeStores, withHomeStores } from "./home-stores.ts";
import { openTools } from "./open-tools.ts";
import { describeError, note, oneLine, paint, print, printable } from "./output.ts";

/** Options of the command. */
export interface ChatCommandOptions {
  readonly from?: readonly string[];
  readonly provider?: string;
  readonly model?: string;
  readonly prompt?: string;
  readonly preset?: string;
  readonly thread?: string;
}

const HELP =
  "Commands: /tools lists the tools, /reset begins anew, /quit leaves. Ctrl-C stops an answer, twice leaves.";

/** Reads lines until /quit or the end of input. */
export async function chatCommand(options: ChatCommandOptions): Promise<void> {
  const { provider, model } = options;
  const prompt = await promptOf(options);
  const home = dataHome();
  const tools = await openTools({ home, ...(options.from === undefined ? {} : { from: options.from }) });
  const { adapter, reason } = await chooseAdapter({
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
  });
  await withHomeStores(home, (stores) =>
    talk({ adapter, tools, prompt, reason, stores, thread: options.thread }),
  );
}

interface Talk {
  readonly adapter: AIAdapter;
  readonly tools: ToolView;
  readonly prompt: string | undefined;
  readonly reason: string;
  readonly stores: HomeStores;
  readonly thread: string | undefined;
}

async function talk({ adapter, tools, prompt, reason, stores, thread }: Talk): Promise<void> {
  const begin = (id: string = randomUUID()): Conversation =>
    new Conversation({
      adapter,
      tools,
      id,
      home: stores.loop,
      threads: stores.conversations,
      onNotKept: (cause) => note(paint("yellow", `The turn could not be kept: ${describeError(cause)}`)),
      ...(prompt === undefined ? {} : { prompt }),
    });
  note(`${adapter.provider}/${adapter.model} (${reason}), ${tools.size} tools. ${HELP}`);
  let conversation = begin(thread);
  const terminal = createInterface({ input: process.stdin, output: process.stderr, prompt: "> " });
  const turn = new TurnControl(() => terminal.close());
  terminal.on("SIGINT", () => turn.interrupt());
  let open = true;
  terminal.once("close", () => (open = false));
  // Text from a pipe needs no prompt, and after the last line nobody reads one.
  const ask = (): void => {
    if (open && process.stdin.isTTY) terminal.prompt();
  };
  ask();
  const lines = terminal[Symbol.asyncIterator]();
  for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
    const text = line.value.trim();
    if (text === "/quit") break;
    if (text === "/reset") conversation = begin();
    else if (text === "/tools") listTools(tools);
    else if (text.startsWith("/")) note(HELP);
    else if (text !== "") await answer({ conversation, turn, stores, lines }, text);
    ask();
  }
  terminal.close();
}

/** The instructions of `--prompt` and `--preset`; undefined for the default. */
export async function promptOf({
  prompt,
  preset,
}: Pick<ChatCommandOptions, "prompt" | "preset">): Promise<string | undefined> {
  if (preset !== undefined) return loadPromptPreset(preset);
  return prompt === undefined ? undefined : resolvePrompt(prompt);
}

/** Ctrl-C: stops the turn that is under way, or leaves when there is none. */
class TurnControl {
  readonly #leave: () => void;
  #controller: AbortController | undefined;

  constructor(leave: () => void) {
    this.#leave = leave;
  }

  begin(): AbortSignal {
    this.#controller = new AbortController();
    return this.#controller.signal;
  }

  end(): void {
    this.#controller = undefined;
  }

  interrupt(): void {
    if (this.#controller === undefined || this.#controller.signal.aborted) this.#leave();
    else this.#controller.abort("interrupted");
  }
}

interface Turn {
  readonly conversation: Conversation;
  readonly turn: TurnControl;
  readonly stores: HomeStores;
  /** Where the person's answers come from. */
  readonly lines: AsyncIterator<string>;
}

/** One turn, with the questions it has to a person in between. */
async function answer({ conversation, turn, stores, lines }: Turn, text: string): Promise<void> {
  const write = (delta: string): boolean => process.stdout.write(printable(delta));
  try {
    let result = await followRun(await conversation.turn(text, { signal: turn.begin() }), write);
    while (result.status === "suspended" && (await answerAll(result.pending ?? [], stores, lines))) {
      const { runId } = result;
      result = await followRun(await conversation.resume(runId, { signal: turn.begin() }), write);
    }
    print("");
    if (result.status !== "completed")
      note(paint("yellow", `${result.status}: ${result.error?.message ?? result.stopReason}`));
    // Whoever leaves now closes the stores.
    await conversation.settled();
  } finally {
    turn.end();
  }
}

/** Asks about every waiting call. False where the person left instead of answering. */
async function answerAll(
  pending: readonly PendingCall[],
  { approvals }: HomeStores,
  lines: AsyncIterator<string>,
): Promise<boolean> {
  for (const { ticketId } of pending) {
    const ticket = await approvals.get(ticketId);
    if (ticket?.state !== "pending") continue;
    process.stderr.write(`${paint("yellow", `Allow ${oneLine(ticket.summary)}?`)} [y/N] `);
    const line = await lines.next();
    if (line.done === true) return false;
    const decision = /^y(es)?$/i.test(line.value.trim()) ? "approved" : "denied";
    await approvals.resolve(ticketId, { decision, by: localPerson(), owner: LOCAL_OWNER });
  }
  return true;
}

function listTools(tools: ToolView): void {
  for (const tool of tools.getAll())
    print(`${tool.name}  ${printable(tool.description.split("\n", 1)[0] ?? "")}`);
}

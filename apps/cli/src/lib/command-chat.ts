/** `openfunctions chat`: a conversation in the terminal. */

import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline/promises";
import { type ToolView, loadPromptPreset, resolvePrompt } from "@openfunctions/core";
import { chooseAdapter } from "./choose-adapter.ts";
import { Conversation } from "./conversation.ts";
import { dataHome } from "./data-home.ts";
import { followRun } from "./follow-run.ts";
import { openTools } from "./open-tools.ts";
import { note, paint, print, printable } from "./output.ts";

/** Options of the command. */
export interface ChatCommandOptions {
  readonly from?: readonly string[];
  readonly provider?: string;
  readonly model?: string;
  readonly prompt?: string;
  readonly preset?: string;
}

const HELP =
  "Commands: /tools lists the tools, /reset begins anew, /quit leaves. Ctrl-C stops an answer, twice leaves.";

/** Reads lines until /quit or the end of input. */
export async function chatCommand(options: ChatCommandOptions): Promise<void> {
  const { provider, model } = options;
  const prompt = await promptOf(options);
  const tools = await openTools({
    home: dataHome(),
    ...(options.from === undefined ? {} : { from: options.from }),
  });
  const { adapter, reason } = await chooseAdapter({
    ...(provider === undefined ? {} : { provider }),
    ...(model === undefined ? {} : { model }),
  });
  const begin = (): Conversation =>
    new Conversation({ adapter, tools, id: randomUUID(), ...(prompt === undefined ? {} : { prompt }) });
  note(`${adapter.provider}/${adapter.model} (${reason}), ${tools.size} tools. ${HELP}`);
  let conversation = begin();
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
  for await (const line of terminal) {
    const text = line.trim();
    if (text === "/quit") break;
    if (text === "/reset") conversation = begin();
    else if (text === "/tools") listTools(tools);
    else if (text.startsWith("/")) note(HELP);
    else if (text !== "") await answer(conversation, text, turn);
    ask();
  }
  terminal.close();
}

async function promptOf({ prompt, preset }: ChatCommandOptions): Promise<string | undefined> {
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

async function answer(conversation: Conversation, text: string, turn: TurnControl): Promise<void> {
  try {
    const run = await conversation.turn(text, { signal: turn.begin() });
    const result = await followRun(run, (delta) => process.stdout.write(printable(delta)));
    print("");
    if (result.status !== "completed")
      note(paint("yellow", `${result.status}: ${result.error?.message ?? result.stopReason}`));
  } finally {
    turn.end();
  }
}

function listTools(tools: ToolView): void {
  for (const tool of tools.getAll())
    print(`${tool.name}  ${printable(tool.description.split("\n", 1)[0] ?? "")}`);
}

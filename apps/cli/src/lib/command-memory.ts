/** `openfunctions memory`: the facts and conversations that the agent of this data folder remembers. */

import type { Message } from "@openfunctions/core";
import type { RecalledFact } from "@openfunctions/memory";
import type { Command } from "commander";
import { LOCAL_OWNER } from "./answer-tickets.ts";
import { dataHome } from "./data-home.ts";
import { type HomeStores, withHomeStores } from "./home-stores.ts";
import { openFacts } from "./open-tools.ts";
import { CommandFailure, EXIT, oneLine, print, printJson } from "./output.ts";

interface ListOptions {
  readonly threads?: boolean;
  readonly limit?: string;
  readonly json?: boolean;
}

/** Adds the command with its subcommands. */
export function addMemory(program: Command): void {
  const memory = program
    .command("memory")
    .description("what the agent remembers: list, search, forget, export");
  memory
    .command("list")
    .description("the newest facts, or conversations")
    .option("--threads", "conversations instead of facts")
    .option("--limit <number>", "how many (default: 20)")
    .option("--json", "print as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions memory list --threads\n")
    .action((options: ListOptions) => listMemory(options));
  memory
    .command("search <query>")
    .description("facts about something, best first")
    .option("--limit <number>", "how many (default: 20)")
    .option("--json", "print as JSON")
    .addHelpText("after", '\nExample:\n  openfunctions memory search "green tea"\n')
    .action((query: string, options: ListOptions) => searchMemory(query, options));
  memory
    .command("forget <id>")
    .description("forget a fact (undo takes it back, once), or delete a conversation")
    .addHelpText("after", "\nExample:\n  openfunctions memory forget fact_0123456789abcdef0123456789abcdef\n")
    .action((id: string) => forgetMemory(id));
  memory
    .command("undo")
    .description("take back the last change of a fact")
    .action(() => undoMemory());
  memory
    .command("export")
    .description("every fact and conversation, one JSON object a line")
    .addHelpText("after", "\nExample:\n  openfunctions memory export > memory.jsonl\n")
    .action(() => exportMemory());
}

async function listMemory({ threads, limit, json }: ListOptions): Promise<void> {
  const count = readLimit(limit);
  if (threads !== true) {
    const { facts } = await (await openFacts(dataHome())).recall(LOCAL_OWNER, "", { limit: count });
    return show(facts, json);
  }
  await withHomeStores(dataHome(), async ({ conversations }) => {
    const { threads: found } = await conversations.listThreads(LOCAL_OWNER, { limit: count });
    if (json === true) return printJson(found);
    if (found.length === 0) print("No conversation was kept.");
    for (const { id, title = "", messageCount, updatedAt } of found)
      print(oneLine(`${id}  ${updatedAt}  ${messageCount} messages  ${title}`).trimEnd());
  });
}

async function searchMemory(query: string, { limit, json }: ListOptions): Promise<void> {
  const count = readLimit(limit);
  const found = await (await openFacts(dataHome())).recall(LOCAL_OWNER, query, { limit: count });
  if (json === true) return printJson(found);
  show(found.facts, false);
  print(found.reason === undefined ? `mode: ${found.mode}` : `mode: ${found.mode} (${found.reason})`);
}

function show(facts: readonly RecalledFact[], json: boolean | undefined): void {
  if (json === true) return printJson(facts);
  if (facts.length === 0) print("No fact was found.");
  for (const { id, content, updatedAt } of facts) print(oneLine(`${id}  ${updatedAt}  ${content}`));
}

async function forgetMemory(id: string): Promise<void> {
  const home = dataHome();
  const done = id.startsWith("fact_")
    ? await (await openFacts(home)).forget(LOCAL_OWNER, id)
    : await withHomeStores(home, ({ conversations }) => conversations.deleteThread(LOCAL_OWNER, id));
  if (done) return print(`Forgotten: ${id}`);
  throw new CommandFailure(`Nothing is remembered under "${id}".`, EXIT.usage);
}

async function undoMemory(): Promise<void> {
  if (await (await openFacts(dataHome())).undo(LOCAL_OWNER))
    return print("The last change of a fact was taken back.");
  throw new CommandFailure("There is no change to take back.", EXIT.usage);
}

async function exportMemory(): Promise<void> {
  const all = { limit: Number.MAX_SAFE_INTEGER };
  const { facts } = await (await openFacts(dataHome())).recall(LOCAL_OWNER, "", all);
  for (const { score: _score, parts: _parts, ...fact } of facts) printJson({ type: "fact", ...fact }, 0);
  await withHomeStores(dataHome(), async (stores) => {
    for await (const thread of keptThreads(stores)) printJson({ type: "thread", ...thread }, 0);
  });
}

async function* keptThreads({
  conversations,
}: HomeStores): AsyncGenerator<{ readonly id: string; readonly messages: readonly Message[] }> {
  let cursor: string | undefined;
  do {
    const page = await conversations.listThreads(LOCAL_OWNER, cursor === undefined ? {} : { cursor });
    for (const thread of page.threads)
      yield { ...thread, messages: (await conversations.messages(LOCAL_OWNER, thread.id)) ?? [] };
    cursor = page.cursor;
  } while (cursor !== undefined);
}

function readLimit(text: string | undefined): number {
  const limit = Number(text ?? 20);
  if (Number.isInteger(limit) && limit >= 1 && limit <= 100) return limit;
  throw new CommandFailure("--limit takes a whole number from 1 to 100.", EXIT.usage);
}

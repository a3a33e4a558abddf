/** The reference chat app as a process: stores, model and tools of this machine behind one server. */

import { parseArgs } from "node:util";
import { OpenFunctionsError } from "@openfunctions/core";
import { chooseAdapter, dataHome, openHomeStores, openHttpToken, openTools } from "openfunctions/app";
import { createChatServer } from "./chat-server.ts";
import { listen } from "./listen.ts";

const DEFAULT_PORT = 3000;

/** Starts the server; says what is wrong on stderr and sets the exit code where it cannot. */
export async function runApp(): Promise<void> {
  try {
    await serve();
  } catch (error) {
    const hint = OpenFunctionsError.is(error) && error.hint !== undefined ? ` ${error.hint}` : "";
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}${hint}\n`);
    process.exitCode = 3;
  }
}

async function serve(): Promise<void> {
  const home = dataHome();
  const [tools, { adapter, reason }] = await Promise.all([openTools({ home }), chooseAdapter(wish())]);
  const stores = await openHomeStores(home);
  const token = await openHttpToken(home);
  const unknown = await stores.recover(tools);
  const server = await listen(
    createChatServer({ adapter, tools, reason, home: stores, token, onFailure: report("The server failed") }),
    portWish(),
  );
  process.stdout.write(
    [
      `openFunctions chat: ${server.url}`,
      `  model  ${adapter.provider}/${adapter.model} (${reason})`,
      `  tools  ${tools.size}`,
      `  data   ${home}`,
      ...(unknown.length === 0
        ? []
        : [`  note   ${unknown.length} effect(s) have an unknown outcome: openfunctions doctor`]),
      "",
    ].join("\n"),
  );
  // A promise that a tool left alone must not end the conversations of everybody.
  process.on("unhandledRejection", report("A tool left a rejected promise behind"));
  const stop = (): void =>
    void server
      .close()
      .then(() => stores.close())
      .then(() => process.exit(0));
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
}

const USAGE = "Usage: npm start -- [--provider <name>] [--model <id>]; PORT moves the server.";

/** `--provider` and `--model`, as everywhere. Throws for anything else, so that no wish is overheard. */
function wish(): { readonly provider?: string; readonly model?: string } {
  try {
    return parseArgs({ options: { provider: { type: "string" }, model: { type: "string" } } }).values;
  } catch (cause) {
    throw new RangeError(`${cause instanceof Error ? cause.message : String(cause)}\n${USAGE}`, { cause });
  }
}

/** Says on stderr what went wrong; the server goes on. */
function report(what: string): (error: unknown) => void {
  return (error) => {
    process.stderr.write(`${what}: ${error instanceof Error ? error.message : "no error was given"}\n`);
  };
}

/** `PORT` is obeyed exactly; without it, the next free port after 3000 is taken. */
function portWish(): { readonly port: number; readonly more: number } {
  const text = process.env["PORT"];
  if (text === undefined || text === "") return { port: DEFAULT_PORT, more: 20 };
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return { port, more: 0 };
  throw new RangeError(`PORT is "${text}"; use a whole number from 0 to 65535.`);
}

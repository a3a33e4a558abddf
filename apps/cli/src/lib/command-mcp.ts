/** `openfunctions mcp`: the tools over MCP, on stdio by default. */

import { type Logger, type ToolRegistry, ConfigError } from "@openfunctions/core";
import { type McpServerOptions, startServer } from "@openfunctions/mcp-server";
import { dataHome } from "./data-home.ts";
import { withHomeStores } from "./home-stores.ts";
import { openTools } from "./open-tools.ts";
import { CommandFailure, EXIT, describeError, note, printable } from "./output.ts";

/** Options of the command. */
export interface McpCommandOptions {
  readonly from?: readonly string[];
  readonly http?: boolean;
  readonly port?: string;
  readonly tokenEnv?: string;
}

/** Serves until the client leaves (stdio) or the process is told to end. */
export async function mcpCommand(options: McpCommandOptions): Promise<void> {
  if (options.http !== true && (options.port !== undefined || options.tokenEnv !== undefined))
    throw new CommandFailure(
      "--port and --token-env belong to --http; add it, or leave them out.",
      EXIT.usage,
    );
  const logger = stderrLogger();
  const home = dataHome();
  const tools = await openTools({ home, ...(options.from === undefined ? {} : { from: options.from }) });
  await withHomeStores(home, async ({ runs, ledger, recover }) => {
    const unknown = await recover(tools);
    if (unknown.length > 0)
      note(`${unknown.length} effect(s) have an unknown outcome: openfunctions effects list`);
    await serve(tools, options, { logger, runStore: runs, ledger });
  });
}

async function serve(
  tools: ToolRegistry,
  options: McpCommandOptions,
  kept: Required<Pick<McpServerOptions, "logger" | "runStore" | "ledger">>,
): Promise<void> {
  const { logger } = kept;
  const server = await startServer(tools, {
    ...kept,
    name: "openfunctions",
    transport: options.http === true ? "http" : "stdio",
    ...(options.http === true
      ? { http: { port: readPort(options.port), ...tokenOf(options.tokenEnv) } }
      : {}),
  });
  if (server.url !== undefined) note(`MCP on ${server.url}`);
  // A promise that a tool left alone must not end the sessions of everybody.
  process.on("unhandledRejection", (reason) =>
    logger.error("A tool left a rejected promise behind.", { reason: describeError(reason) }),
  );
  const end = (): void => void server.close();
  process.once("SIGINT", end);
  process.once("SIGTERM", end);
  await server.closed;
}

function readPort(text: string | undefined): number {
  const port = Number(text ?? 3333);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new ConfigError(`Port "${text}" is not a whole number from 0 to 65535.`, { code: "invalid_config" });
}

function tokenOf(name: string | undefined): { readonly token?: string } {
  if (name === undefined) return {};
  const token = process.env[name];
  if (token === undefined || token === "")
    throw new ConfigError(`The variable ${name} for the token is not set.`, { code: "token_required" });
  return { token };
}

/** On stdio, stdout belongs to the protocol: everything else is said on stderr. */
function stderrLogger(): Logger {
  const say = (level: string) => (message: string, fields?: Readonly<Record<string, unknown>>) =>
    note(printable(`${level}: ${message}${fields === undefined ? "" : ` ${JSON.stringify(fields)}`}`));
  return { debug: () => {}, info: () => {}, warn: say("warn"), error: say("error") };
}

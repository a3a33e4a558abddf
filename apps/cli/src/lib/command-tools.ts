/** `openfunctions tools`: what there is, one call, the tests, the reference. */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Tool, type ToolRegistry, InputError, runToolTests } from "@openfunctions/core";
import { dataHome } from "./data-home.ts";
import { openTools } from "./open-tools.ts";
import { CommandFailure, EXIT, note, paint, print, printJson, printable } from "./output.ts";
import { toolsMarkdown } from "./tool-docs.ts";

/** Options that every subcommand takes. */
export interface ToolsCommandOptions {
  readonly from?: readonly string[];
  readonly json?: boolean;
}

/** The registry that `--from` names, else the starter tools. */
export function openFrom({ from }: ToolsCommandOptions, home: string = dataHome()): Promise<ToolRegistry> {
  return openTools({ home, ...(from === undefined ? {} : { from }) });
}

/** Lists names, effects and the first line of each description. */
export async function listTools(options: ToolsCommandOptions): Promise<void> {
  const tools = (await openFrom(options)).getAll();
  if (options.json === true) return printJson(tools.map(describe));
  const width = Math.max(0, ...tools.map(({ name }) => name.length));
  for (const { name, contract, description } of tools) {
    print(
      `${name.padEnd(width)}  ${contract.effects.kind.padEnd(11)}  ${printable(description.split("\n", 1)[0] ?? "")}`,
    );
  }
}

/** Shows one tool whole. */
export async function showTool(name: string, options: ToolsCommandOptions): Promise<void> {
  const tool = find(await openFrom(options), name);
  if (options.json === true) printJson(describe(tool));
  else print(toolsMarkdown([tool]));
}

/** Makes one call through `execute`. Exit 1 unless it succeeded. */
export async function runTool(
  name: string,
  options: ToolsCommandOptions & { readonly args?: string },
): Promise<void> {
  const registry = await openFrom(options);
  find(registry, name);
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort("interrupted"));
  const result = await registry.execute(name, parseArguments(options.args), {
    signal: stop.signal,
    onProgress: (update) => note(paint("dim", printable(JSON.stringify(update)))),
  });
  if (options.json === true) printJson(result);
  else if (result.success)
    print(printable(typeof result.data === "string" ? result.data : JSON.stringify(result.data, null, 2)));
  if (!result.success)
    throw new CommandFailure(
      `${result.code ?? "tool_failed"} (${result.outcome}): ${result.error}`,
      EXIT.failed,
    );
}

/** Options of `tools test`. */
export type TestToolsOptions = ToolsCommandOptions & { readonly filter?: string };

/** Runs the tests that travel with the tools, in a data folder of their own. Exit 1 when one fails. */
export async function testTools(options: TestToolsOptions): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "openfunctions-tests-"));
  try {
    await testToolsIn(home, options);
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function testToolsIn(home: string, options: TestToolsOptions): Promise<void> {
  const registry = await openFrom(options, home);
  const { filter } = options;
  const names =
    filter === undefined ? undefined : registry.listNames().filter((name) => name.includes(filter));
  if (names?.length === 0) throw new InputError(`No tool's name contains "${filter}".`);
  const report = await runToolTests(registry, names === undefined ? {} : { filter: { names } });
  if (options.json === true) printJson(report);
  else
    for (const { tool, test, passed, problem } of report.results)
      print(
        `${passed ? "ok  " : "FAIL"}  ${tool}: ${test}${problem === undefined ? "" : `\n      ${printable(problem)}`}`,
      );
  if (report.passed + report.failed === 0)
    note("No tool has tests. Add them with `tests: [{ description, input, expect }]` in defineTool.");
  note(`${report.passed} passed, ${report.failed} failed, ${report.skipped} skipped`);
  if (report.failed > 0) throw new CommandFailure(`${report.failed} tool test(s) failed.`, EXIT.failed);
}

/** Prints the Markdown reference, or checks a file against it. */
export async function docTools(options: ToolsCommandOptions & { readonly check?: string }): Promise<void> {
  const text = toolsMarkdown((await openFrom(options)).getAll());
  if (options.check === undefined) return print(text);
  const written = await readFile(options.check, "utf8").catch(() => "");
  if (written.trim() !== text.trim())
    throw new CommandFailure(
      `"${options.check}" differs from the tools. Write it anew with: tools docs > ${options.check}`,
      EXIT.failed,
    );
  note(`"${options.check}" is up to date.`);
}

function find(registry: ToolRegistry, name: string): Tool {
  const tool = registry.get(name);
  if (tool === undefined)
    throw new InputError(`There is no tool "${name}".`, { hint: "`openfunctions tools list` shows them." });
  return tool;
}

function parseArguments(text: string | undefined): unknown {
  if (text === undefined) return {};
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InputError(`--args is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, {
      hint: `Write it like --args '{"name":"value"}'.`,
    });
  }
}

function describe(tool: Tool): object {
  const { name, description, parameters, output, contract, tags, examples, digest } = tool;
  return {
    name,
    description,
    tags,
    contract,
    inputSchema: parameters,
    ...(output === undefined ? {} : { outputSchema: output }),
    ...(examples === undefined ? {} : { examples }),
    digest,
  };
}

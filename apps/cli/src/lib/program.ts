/** The command line: names, options and help; what they do stands in the command files, loaded when called. */

import { Command, type CommanderError } from "commander";
import { addApprovals, addEffects } from "./command-approvals.ts";
import { addMemory } from "./command-memory.ts";
import { addRag } from "./command-rag.ts";
import { addRuns } from "./command-runs.ts";
import { EXIT } from "./output.ts";

const FROM = [
  "--from <file>",
  "a file that exports tools or a registry; may be given several times",
] as const;

const PROVIDER = [
  "--provider <name>",
  "anthropic, gemini, openai, openrouter, xai, ollama, lmstudio, llamacpp, vllm, local or offline; default: what is there",
] as const;

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** The program. Throws `CommanderError` for wrong usage instead of ending the process. */
export function createProgram(version: string): Command {
  const program = new Command("openfunctions")
    .description("Write tools once; test, run, chat with and serve them.")
    .version(version)
    .exitOverride()
    .showSuggestionAfterError()
    .addHelpText(
      "after",
      `\nExample:\n  openfunctions create tool add_vat\n  openfunctions tools test --from add_vat.ts\n  openfunctions run "what is 15% of 2,340"\n`,
    );
  addChat(program);
  addRun(program);
  addResume(program);
  addApprovals(program, withFrom);
  addEffects(program);
  addRuns(program, withFrom);
  addMemory(program);
  addRag(program);
  addMcp(program);
  addTools(program);
  addCreate(program);
  addDoctor(program);
  return program;
}

function addChat(program: Command): void {
  program
    .command("chat")
    .description("talk to an agent that has the tools")
    .option(...FROM, collect)
    .option(...PROVIDER)
    .option("--model <id>", "the model to ask")
    .option("--prompt <text>", "instructions, as text")
    .option("--preset <name>", "instructions of ours: assistant, concise or researcher")
    .option(
      "--thread <id>",
      "go on with a conversation that was kept; see: openfunctions memory list --threads",
    )
    .addHelpText("after", "\nExample:\n  openfunctions chat --provider offline --from tools.ts\n")
    .action(async (options) => (await import("./command-chat.ts")).chatCommand(options));
}

function addRun(program: Command): void {
  program
    .command("run <task>")
    .description("give the default agent one task; the answer is on stdout, what happens on stderr")
    .option(...FROM, collect)
    .option(...PROVIDER)
    .option("--model <id>", "the model to ask")
    .option("--json", "print the result as JSON")
    .option("--record <file>", "write the record of the run: one event per line, and the seal")
    .addHelpText(
      "after",
      '\nExample:\n  openfunctions run "add a task: call the bank tomorrow" --record run.jsonl\n',
    )
    .action(async (task, options) => (await import("./command-run.ts")).runCommand(task, options));
}

function withFrom(command: Command): Command {
  return command.option(...FROM, collect);
}

function addResume(program: Command): void {
  withFrom(program.command("resume <run>"))
    .description("go on with a run that waited for a person")
    .option("--provider <name>", "ask another provider than the run did")
    .option("--model <id>", "ask another model than the run did")
    .option("--prompt <text>", "the instructions the conversation had, as text")
    .option("--preset <name>", "the instructions of ours that the conversation had")
    .option("--allow-drift", "go on although tools or instructions have changed since")
    .option("--json", "print the result as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions resume 0197e2a4-7c1e-7000-8000-000000000000\n")
    .action(async (run, options) => (await import("./command-resume.ts")).resumeCommand(run, options));
}

function addMcp(program: Command): void {
  program
    .command("mcp")
    .description("serve the tools over MCP, on stdio by default")
    .option(...FROM, collect)
    .option("--http", "serve over Streamable HTTP instead of stdio")
    .option("--port <number>", "the port for --http; 0 takes a free one (default: 3333)")
    .option("--token-env <name>", "the environment variable that holds the bearer token for --http")
    .addHelpText(
      "after",
      `\nExample:\n  openfunctions mcp --from tools.ts\n\nAs an entry of a client's configuration:\n  { "mcpServers": { "mine": { "command": "npx", "args": ["openfunctions", "mcp", "--from", "/full/path/tools.ts"] } } }\n`,
    )
    .action(async (options) => (await import("./command-mcp.ts")).mcpCommand(options));
}

function addTools(program: Command): void {
  const tools = program.command("tools").description("list, show, run, test, document and lint tools");
  const add = (usage: string, about: string): Command =>
    tools
      .command(usage)
      .description(about)
      .option(...FROM, collect);
  add("list", "names, effects and descriptions")
    .option("--json", "print as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions tools list --from tools.ts\n")
    .action(async (options) => (await import("./command-tools.ts")).listTools(options));
  add("show <name>", "one tool whole")
    .option("--json", "print as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions tools show calculate\n")
    .action(async (name, options) => (await import("./command-tools.ts")).showTool(name, options));
  add("run <name>", "one call")
    .option("--args <json>", "the arguments, as JSON")
    .option("--json", "print the whole result as JSON")
    .addHelpText(
      "after",
      `\nExample:\n  openfunctions tools run calculate --args '{"expression":"15% of 2,340"}'\n`,
    )
    .action(async (name, options) => (await import("./command-tools.ts")).runTool(name, options));
  add("test", "run the tests that travel with the tools")
    .option("--filter <text>", "only tools whose name contains the text")
    .option("--json", "print the report as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions tools test --from tools.ts\n")
    .action(async (options) => (await import("./command-tools.ts")).testTools(options));
  add("docs", "the Markdown reference")
    .option("--check <file>", "exit 1 where the file differs from the tools")
    .addHelpText("after", "\nExample:\n  openfunctions tools docs --from tools.ts > TOOLS.md\n")
    .action(async (options) => (await import("./command-tools.ts")).docTools(options));
  add("lint", "what each provider is told of each tool, what gets lost, and the tokens it costs")
    .option("--json", "print the matrix as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions tools lint --from tools.ts\n")
    .action(async (options) => (await import("./command-tools-lint.ts")).lintTools(options));
}

function addCreate(program: Command): void {
  program
    .command("create")
    .description("new files from templates")
    .command("tool <name>")
    .description("write <name>.ts with a tool, its example and its test")
    .option("--contract <kind>", "read, write or destructive (default: read)")
    .option("--dry-run", "print the file instead of writing it")
    .addHelpText("after", "\nExample:\n  openfunctions create tool add_vat --contract read\n")
    .action(async (name, options) => (await import("./command-create.ts")).createTool(name, options));
}

function addDoctor(program: Command): void {
  program
    .command("doctor")
    .description("check runtime, providers, local servers and the data folder")
    .option("--json", "print as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions doctor\n")
    .action(async (options) => (await import("./command-doctor.ts")).doctorCommand(options));
}

/** The exit code of a `CommanderError`: help and version are fine, everything else is wrong usage. */
export function usageExitCode(error: CommanderError): number {
  return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}

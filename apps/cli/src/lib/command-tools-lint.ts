/** `openfunctions tools lint`: what each provider is told of each tool, what gets lost on the way, and what it costs. */

import {
  type CompiledSchema,
  type SchemaDialect,
  type Tool,
  SCHEMA_DIALECTS,
  compileSchema,
  describeTool,
} from "@openfunctions/core";
import { type ToolsCommandOptions, openFrom } from "./command-tools.ts";
import { CommandFailure, EXIT, note, oneLine, print, printJson } from "./output.ts";

const PROTECTION =
  "Whatever a provider is sent, arguments are validated against the tool's own schema before its handler runs.";
const ESTIMATE = "Tokens are estimated: a token for four characters of name, description and schema.";

/** The dialects that tools are sent in. Those that end so are for answers. */
const TOOL_DIALECTS = SCHEMA_DIALECTS.filter((dialect) => !dialect.endsWith("-output"));

/** One tool in one dialect. */
interface LintedDialect extends Pick<CompiledSchema, "lossless" | "losses" | "strict"> {
  readonly dialect: SchemaDialect;
  /** Name, description and schema, in every request. Estimated. */
  readonly tokens: number;
  /** Required parameters that a model cannot give, so that no call can succeed. */
  readonly unsendable: readonly string[];
}

interface LintedTool {
  readonly name: string;
  readonly dialects: readonly LintedDialect[];
}

/** Prints the matrix of tools and dialects. Exit 1 when a tool cannot be sent at all in one of them. */
export async function lintTools(options: ToolsCommandOptions): Promise<void> {
  const tools = (await openFrom(options)).getAll().map(lintTool);
  if (options.json === true) printJson({ protection: PROTECTION, tokens: ESTIMATE, tools });
  else for (const tool of tools) printTool(tool);
  note(PROTECTION);
  note(ESTIMATE);
  const stuck = tools.filter(({ dialects }) => dialects.some(({ unsendable }) => unsendable.length > 0));
  if (stuck.length === 0) return;
  const names = stuck.map(({ name }) => `"${name}"`).join(", ");
  throw new CommandFailure(`A required parameter cannot be sent to every provider: ${names}.`, EXIT.failed);
}

function lintTool(tool: Tool): LintedTool {
  return { name: tool.name, dialects: TOOL_DIALECTS.map((dialect) => lintDialect(tool, dialect)) };
}

function lintDialect(tool: Tool, dialect: SchemaDialect): LintedDialect {
  const compiled = compileSchema(tool.parameters, dialect);
  const { lossless, losses, strict } = compiled;
  const tokens = compiled.tokens + Math.ceil(`${tool.name}${describeTool(tool)}`.length / 4);
  return { dialect, lossless, losses, strict, tokens, unsendable: unsendableOf(tool, compiled) };
}

/** A parameter can be given when its schema was sent, under whatever name, or when `restore` fills it in. */
function unsendableOf({ parameters }: Tool, { schema, losses, restore }: CompiledSchema): readonly string[] {
  const sent = Object.keys(Object(Object(schema).properties));
  const renamed = losses.filter(({ keyword, action }) => keyword === "properties" && action === "rewritten");
  const given = new Set([
    ...sent,
    ...Object.keys(restore({})),
    ...renamed.map(({ path }) => path.slice("properties.".length)),
  ]);
  return (parameters.required ?? []).filter((name) => !given.has(name));
}

function printTool({ name, dialects }: LintedTool): void {
  print(name);
  const width = Math.max(...dialects.map(({ dialect }) => dialect.length));
  for (const { dialect, losses, tokens, unsendable, ...rest } of dialects) {
    print(
      `  ${dialect.padEnd(width)}  ${`~${tokens}`.padStart(6)} tokens  ${verdictOf({ losses, ...rest })}`,
    );
    for (const { path, keyword, action, note: why } of losses)
      print(oneLine(`    ${path === "" ? "(root)" : path}  ${keyword}  ${action}: ${why}`));
    for (const parameter of unsendable)
      print(oneLine(`    ${parameter}  CANNOT BE SENT: a model has no way to give this required parameter`));
  }
}

function verdictOf({
  lossless,
  strict,
  losses,
}: Pick<LintedDialect, "lossless" | "strict" | "losses">): string {
  const changes =
    losses.length === 0 ? "" : `, ${losses.length} ${losses.length === 1 ? "change" : "changes"}`;
  if (losses.some(({ keyword }) => keyword === "strict")) return `sent without strict mode${changes}`;
  return `${lossless ? "lossless" : "not lossless"}${strict ? ", strict mode" : ""}${changes}`;
}

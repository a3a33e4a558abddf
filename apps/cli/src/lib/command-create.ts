/** `openfunctions create tool`: a new file from a template; an existing one is never touched. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandFailure, EXIT, note, print } from "./output.ts";

/** Options of the command. */
export interface CreateToolOptions {
  readonly contract?: string;
  readonly dryRun?: boolean;
}

const NAME = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;
const CONTRACTS: Readonly<Record<string, string>> = {
  read: `"read"`,
  write: `"write"`,
  destructive: `{\n    version: "1",\n    authority: { level: "human" },\n    effects: { kind: "destructive" },\n    idempotency: { mode: "none" },\n  }`,
};

/** Writes `<name>.ts` into the working directory. Exit 2 for a name or contract that is not allowed. */
export async function createTool(name: string, options: CreateToolOptions): Promise<void> {
  if (!NAME.test(name) || name.length > 64) {
    throw new CommandFailure(
      `"${name}" is no tool name: snake_case, beginning with a letter, no double or trailing underscore, at most 64 characters, as in "add_task".`,
      EXIT.usage,
    );
  }
  const contract = CONTRACTS[options.contract ?? "read"];
  if (contract === undefined)
    throw new CommandFailure(
      `Contract "${options.contract}" is not one of ${Object.keys(CONTRACTS).join(", ")}.`,
      EXIT.usage,
    );
  const text = template(name, contract);
  if (options.dryRun === true) return print(text.trimEnd());
  const path = join(process.cwd(), `${name}.ts`);
  await writeFile(path, text, { flag: "wx" }).catch((cause: unknown) => {
    throw new CommandFailure(
      `"${path}" could not be made: ${cause instanceof Error ? cause.message : String(cause)}`,
      EXIT.environment,
    );
  });
  note(`Made ${path}. Try it: openfunctions tools test --from ${name}.ts`);
}

function template(name: string, contract: string): string {
  const variable = name.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
  return `import { defineTool, ok } from "@openfunctions/core";

export const ${variable} = defineTool({
  name: "${name}",
  description: "Says what ${name.replaceAll("_", " ")} does, for the model that is to use it.",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string", description: "What to work on." } },
    required: ["text"],
  },
  contract: ${contract},
  examples: [{ description: "${name.replaceAll("_", " ")}: hello", input: { text: "hello" } }],
  tests: [{ description: "answers with the text", input: { text: "hello" }, expect: { ${expectation(contract)} } }],
  handler: ({ text }) => ok({ text }),
});
`;
}

/** A destructive tool needs approval, so its test says that it does not run without one. */
function expectation(contract: string): string {
  return contract.startsWith("{") ? `success: false, error: "approval"` : `data: { text: "hello" }`;
}

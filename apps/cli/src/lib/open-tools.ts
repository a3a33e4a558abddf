/** The tools an app works with: those of the files that were named, else the starter tools and those of its memory. */

import { existsSync } from "node:fs";
import { registerHooks } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import {
  type AnyToolDefinition,
  InputError,
  ToolRegistry,
  createStore,
  isPlainObject,
  isTool,
} from "@openfunctions/core";
import { createFactMemory, createMemoryTools, type FactMemory } from "@openfunctions/memory";
import { createStarterTools } from "@openfunctions/starter-tools";

/** Where tools come from. */
export interface ToolSourceOptions {
  /** Files whose exports are tools or registries; relative to the working directory. */
  readonly from?: readonly string[];
  /** Where the starter tools keep their state. */
  readonly home: string;
  /** The folder that `search_text` may read. Default: the working directory. */
  readonly folder?: string;
}

/** A registry with the tools. Throws `InputError` for a file that is missing, fails, or exports no tool. */
export async function openTools({
  from = [],
  home,
  folder = process.cwd(),
}: ToolSourceOptions): Promise<ToolRegistry> {
  if (from.length === 0) {
    const [tasks, notes, facts] = await Promise.all([
      createStore("tasks", { dir: home }),
      createStore("notes", { dir: home }),
      openFacts(home),
    ]);
    const starter = new ToolRegistry();
    starter.registerAll([...createStarterTools({ tasks, notes, folder }), ...createMemoryTools({ facts })]);
    return starter;
  }
  resolveOwnPackages();
  const found = { tools: new Set<AnyToolDefinition>(), registries: new Set<ToolRegistry>() };
  for (const file of from) await readTools(file, found);
  return together(found);
}

/** The facts of a data folder, in a file that people can read, as tasks and notes are. */
export async function openFacts(home: string): Promise<FactMemory> {
  return createFactMemory({ store: await createStore("facts", { dir: home }) });
}

interface Found {
  readonly tools: Set<AnyToolDefinition>;
  readonly registries: Set<ToolRegistry>;
}

/** A registry keeps its own policy and limits, so it is used as it is, and there can be one only. */
function together({ tools, registries }: Found): ToolRegistry {
  const [own, another] = registries;
  if (another !== undefined)
    throw new InputError("The files of --from export more than one ToolRegistry.", {
      hint: "Export one, since policy and limits belong to it.",
    });
  const registry = own ?? new ToolRegistry();
  const loose = [...tools].filter((tool) => own === undefined || own.get(tool.name) !== tool);
  if (loose.length > 0) registry.registerAll(loose);
  return registry;
}

async function readTools(file: string, found: Found): Promise<void> {
  const path = resolve(file);
  if (!existsSync(path))
    throw new InputError(`There is no file "${path}".`, {
      hint: "--from takes the path of a file that exports tools.",
    });
  const module: unknown = await load(path);
  const before = found.tools.size + found.registries.size;
  const seen = new Set<unknown>();
  for (const exported of Object.values(Object(module))) gather(exported, found, seen);
  if (found.tools.size + found.registries.size > before) return;
  throw new InputError(`"${path}" exports no tool.`, {
    hint: "Export what defineTool returns, or a ToolRegistry.",
  });
}

async function load(path: string): Promise<unknown> {
  const { write } = process.stdout;
  // Stdout belongs to the answer or the protocol; what a file prints while it loads goes to stderr.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    return await import(pathToFileURL(path).href);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InputError(`"${path}" could not be loaded: ${why}`, { cause });
  } finally {
    process.stdout.write = write;
  }
}

function gather(exported: unknown, found: Found, seen: Set<unknown>): void {
  if (seen.has(exported)) return;
  seen.add(exported);
  if (exported instanceof ToolRegistry) found.registries.add(exported);
  else if (Array.isArray(exported)) for (const item of exported) gather(item, found, seen);
  else if (isTool(exported) || isDefinition(exported)) found.tools.add(exported);
}

/** A plain definition that `defineTool` has not seen; the registry checks it. */
function isDefinition(value: unknown): value is AnyToolDefinition {
  return isPlainObject(value) && typeof value["handler"] === "function" && "inputSchema" in value;
}

/** A file without a project around it still finds our packages: those of this command. */
function resolveOwnPackages(): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      try {
        return nextResolve(specifier, context);
      } catch (cause) {
        if (!specifier.startsWith("@openfunctions/")) throw cause;
        return nextResolve(specifier, { ...context, parentURL: import.meta.url });
      }
    },
  });
}

/** The tools an app works with: those of the files that were named, else the starter tools. */

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
  const registry = new ToolRegistry();
  if (from.length === 0) {
    const [tasks, notes] = await Promise.all([
      createStore("tasks", { dir: home }),
      createStore("notes", { dir: home }),
    ]);
    registry.registerAll(createStarterTools({ tasks, notes, folder }));
    return registry;
  }
  resolveOwnPackages();
  for (const file of from) registry.registerAll(await readTools(file));
  return registry;
}

async function readTools(file: string): Promise<readonly AnyToolDefinition[]> {
  const path = resolve(file);
  if (!existsSync(path))
    throw new InputError(`There is no file "${path}".`, {
      hint: "--from takes the path of a file that exports tools.",
    });
  const module: unknown = await load(path);
  const tools = Object.values(Object(module)).flatMap(toTools);
  if (tools.length > 0) return tools;
  throw new InputError(`"${path}" exports no tool.`, {
    hint: "Export what defineTool returns, or a ToolRegistry.",
  });
}

async function load(path: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(path).href);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new InputError(`"${path}" could not be loaded: ${why}`, { cause });
  }
}

function toTools(exported: unknown): readonly AnyToolDefinition[] {
  if (isTool(exported)) return [exported];
  if (exported instanceof ToolRegistry) return exported.getAll();
  if (Array.isArray(exported)) return exported.flatMap(toTools);
  return isDefinition(exported) ? [exported] : [];
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

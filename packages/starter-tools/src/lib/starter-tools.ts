/** Every starter tool over what an app gives them. */

import type { Store, Tool } from "@openfunctions/core";
import type { GuardedFetch } from "@openfunctions/core/http";
import { createCalculator } from "./calculate.ts";
import { createDateTools } from "./dates.ts";
import { createNoteTools } from "./notes.ts";
import { createPageReader } from "./read-page.ts";
import { createTextSearch } from "./search-text.ts";
import { createTaskTools } from "./tasks.ts";

/** Where the tools keep their state and what they may read. */
export interface StarterToolsOptions {
  readonly tasks: Store;
  readonly notes: Store;
  /** The folder that `search_text` may read; without it there is no such tool. */
  readonly folder?: string;
  /** Default: a guard that refuses every private address. */
  readonly guardedFetch?: GuardedFetch;
}

/** Tasks, notes, calculator, dates, text search and reading a page. */
export function createStarterTools(options: StarterToolsOptions): readonly Tool[] {
  const { tasks, notes, folder, guardedFetch } = options;
  return [
    createCalculator(),
    ...createDateTools(),
    ...createTaskTools(tasks),
    ...createNoteTools(notes),
    ...(folder === undefined ? [] : [createTextSearch(folder)]),
    createPageReader(guardedFetch),
  ];
}

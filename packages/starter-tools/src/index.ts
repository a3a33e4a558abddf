export { createCalculator } from "./lib/calculate.ts";
export { createDateTools } from "./lib/dates.ts";
export { createNoteTools } from "./lib/notes.ts";
export { createPageReader } from "./lib/read-page.ts";
export { createTextSearch } from "./lib/search-text.ts";
export { type StarterToolsOptions, createStarterTools } from "./lib/starter-tools.ts";
export { createTaskTools } from "./lib/tasks.ts";

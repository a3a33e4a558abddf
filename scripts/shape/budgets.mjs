// Every number and table that check-shape enforces. A budget is a conversation: raise one in a change of
// its own that says why.

/** Lines of one source file: the longest, and how the files are spread. */
export const FILE_LINES = { max: 400, median: 120, p90: 250 };

/** Lines of one function that has a body. */
export const FUNCTION_LINES = { max: 80, p90: 40 };

/** Dependencies first, one options object last: a call site must read without the signature open. */
export const MAX_PARAMETERS = 3;

/** Type assertions allowed per 1,000 lines of a package. */
export const ASSERTIONS_PER_1000_LINES = 4;

export const AGENTS_LINES = 150;

/** A run that saw fewer files than this looked at the wrong folder or through a broken parser. */
export const MIN_SOURCE_FILES = 30;

/**
 * Lines of a package without its tests; packages that are not named here are only reported. Core, mcp-server,
 * adapter-local, adapter-anthropic, adapter-gemini, memory, rag and both SQL stores stand above what architecture.md names: decisions/007-size-budgets.md.
 */
export const PACKAGE_LINES = {
  core: 22750,
  "mcp-server": 1500,
  "adapter-local": 1360,
  "adapter-anthropic": 800,
  "adapter-gemini": 870,
  "store-sqlite": 1650,
  "store-postgres": 2270,
  agents: 1200,
  workflows: 1200,
  memory: 1350,
  rag: 3120,
  "chat-agent": 1500,
};
export const PACKAGE_LINES_BY_PREFIX = { "adapter-": 600, "store-": 1500 };

export const SCOPE = "@openfunctions/";

/** What every package but core may depend on without being listed. */
export const COMMON_DEPENDENCIES = ["@openfunctions/core"];

/** Third-party packages each package may use; a package that is not named here uses none. */
export const THIRD_PARTY = {
  core: ["ajv", "ajv-formats"],
  "adapter-anthropic": ["@anthropic-ai/sdk"],
  "adapter-openai": ["openai"],
  "adapter-gemini": ["@google/genai"],
  "adapter-xai": ["openai"],
  "adapter-openrouter": ["openai"],
  "workflows-dbos": ["@dbos-inc/dbos-sdk"],
  "store-postgres": [
    "drizzle-orm",
    "pgvector",
    "pg",
    "@electric-sql/pglite",
    "@electric-sql/pglite-pgvector",
  ],
  "context-mcp": ["@modelcontextprotocol/client"],
  "mcp-server": ["@modelcontextprotocol/server"],
  rag: ["mammoth", "unpdf"],
  "telemetry-otel": ["@opentelemetry/api"],
};

/** The files every adapter has, so that a reader who knows one knows all. */
export const ADAPTER_CAST = ["adapter", "to-error", "quirks"];

/** The line budget of a package folder, or undefined when it has none. */
export function lineBudget(folder) {
  const prefix = Object.keys(PACKAGE_LINES_BY_PREFIX).find((start) => folder.startsWith(start));
  return PACKAGE_LINES[folder] ?? (prefix === undefined ? undefined : PACKAGE_LINES_BY_PREFIX[prefix]);
}

/** What a package may depend on, its tests aside. */
export function allowedDependencies(folder) {
  const common = folder === "core" ? [] : COMMON_DEPENDENCIES;
  return [...common, ...(THIRD_PARTY[folder] ?? [])];
}

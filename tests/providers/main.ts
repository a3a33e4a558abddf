/**
 * npm run providers [-- --check]
 *
 * Writes the generated parts of docs/providers: the tables of models and providers into the pages that name them, and
 * the support matrix from a run of the conformance suite. With `--check` nothing is written. Exits non-zero where
 * `--check` finds a difference, and always where a case of the suite fails.
 */

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { SUITES as ANTHROPIC } from "../../packages/adapter-anthropic/src/lib/__fixtures__/suites.ts";
import { SUITES as GEMINI } from "../../packages/adapter-gemini/src/lib/__fixtures__/suites.ts";
import { SUITES as LOCAL } from "../../packages/adapter-local/src/lib/__fixtures__/suites.ts";
import { SUITES as OPENAI } from "../../packages/adapter-openai/src/lib/__fixtures__/suites.ts";
import { SUITES as OPENROUTER } from "../../packages/adapter-openrouter/src/lib/__fixtures__/suites.ts";
import { SUITES as XAI } from "../../packages/adapter-xai/src/lib/__fixtures__/suites.ts";
import { runConformance } from "./conformance.ts";
import { withGeneratedParts } from "./generated-text.ts";
import { modelTable, providerTable } from "./policy-tables.ts";
import { type Column, supportMatrix } from "./support-matrix.ts";

const DOCS = join(import.meta.dirname, "..", "..", "docs", "providers");
const MATRIX = "support-matrix.md";

const COLUMNS: readonly Column[] = [
  { suite: "anthropic", heading: "[Claude](anthropic.md)" },
  { suite: "gemini", heading: "[Gemini](gemini.md)" },
  { suite: "openai responses", heading: "[OpenAI](openai.md)" },
  { suite: "openai chat", heading: '[OpenAI, `api: "chat"`](openai.md)' },
  { suite: "openrouter", heading: "[OpenRouter](openrouter.md)" },
  { suite: "xai", heading: "[Grok](xai.md)" },
  { suite: "local ollama", heading: "[Ollama](local.md)" },
  { suite: "local lmstudio", heading: "[LM Studio](local.md)" },
  { suite: "local llamacpp", heading: "[llama.cpp](local.md)" },
  { suite: "local vllm", heading: "[vLLM](local.md)" },
];

const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
const problems: string[] = [];

for (const file of readdirSync(DOCS).filter((name) => name.endsWith(".md") && name !== MATRIX)) {
  const page = readFileSync(join(DOCS, file), "utf8");
  settle(file, page, withGeneratedParts(page, partOf));
}

const results = await runConformance({ ...ANTHROPIC, ...GEMINI, ...OPENAI, ...OPENROUTER, ...XAI, ...LOCAL });
for (const { suite, section, title, failure } of results)
  if (failure !== undefined) problems.push(`${suite}, ${section}, "${title}" failed: ${failure}`);
settle(MATRIX, readIfThere(join(DOCS, MATRIX)), supportMatrix(results, COLUMNS));

for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`${results.length} cases ran; ${problems.length} problem(s)\n`);
process.exitCode = problems.length === 0 ? 0 : 1;

function partOf(name: string): string {
  const [kind, provider] = name.split(" ");
  if (name === "providers") return providerTable();
  if (kind === "models" && provider !== undefined) return modelTable(provider);
  throw new Error(`Nobody writes the part "${name}"; use "providers" or "models <provider>".`);
}

function settle(file: string, before: string, after: string): void {
  if (before === after) return;
  if (values.check) problems.push(`docs/providers/${file} is out of date: run \`npm run providers\``);
  else writeFileSync(join(DOCS, file), after);
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // Not written yet.
  }
}

/** `openfunctions rag`: documents of this data folder. Each command is loaded when it is called. */

import type { Command } from "commander";

const EMBEDDER = [
  "--embedder <name>",
  "openai, gemini or ollama, with :<model> behind it, such as ollama:nomic-embed-text; default: none, search by words",
] as const;

/** Adds the group to the program. */
export function addRag(program: Command): void {
  const rag = program
    .command("rag")
    .description("documents: add, search, list, remove, and measure a search");
  rag
    .command("add <files...>")
    .description("put files into the index, each in place of its last version")
    .option(...EMBEDDER)
    .option("--json", "print what became of each as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions rag add notes/*.md report.pdf\n")
    .action(async (files, options) => (await import("./command-rag-change.ts")).addFiles(files, options));
  rag
    .command("search <query>")
    .description("the passages that fit best, and how they were found")
    .option(...EMBEDDER)
    .option("--limit <number>", "how many (default: 5)")
    .option("--filter <json>", 'only documents whose metadata fit, such as \'{"path":"type","eq":"pdf"}\'')
    .option("--json", "print as JSON")
    .addHelpText("after", '\nExample:\n  openfunctions rag search "how is green tea made"\n')
    .action(async (query, options) => (await import("./command-rag-read.ts")).searchCommand(query, options));
  rag
    .command("list")
    .description("the documents of the index")
    .option("--limit <number>", "how many (default: 100)")
    .option("--cursor <text>", "go on where a page ended")
    .option("--json", "print as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions rag list\n")
    .action(async (options) => (await import("./command-rag-read.ts")).listCommand(options));
  rag
    .command("remove <document>")
    .description("take a document out, by its id or its file")
    .addHelpText("after", "\nExample:\n  openfunctions rag remove notes/tea.md\n")
    .action(async (name) => (await import("./command-rag-change.ts")).removeDocument(name));
  rag
    .command("reindex")
    .description("embed all documents with another embedder; goes on where it was interrupted")
    .requiredOption(...EMBEDDER)
    .addHelpText("after", "\nExample:\n  openfunctions rag reindex --embedder ollama:nomic-embed-text\n")
    .action(async (options) => (await import("./command-rag-change.ts")).reindexCommand(options));
  rag
    .command("eval <folder>")
    .description("measure search on judged questions (BEIR layout: corpus.jsonl, queries.jsonl, qrels.tsv)")
    .option(...EMBEDDER)
    .option("--json", "print as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions rag eval ./scifact\n")
    .action(async (folder, options) => (await import("./command-rag-eval.ts")).evalCommand(folder, options));
}

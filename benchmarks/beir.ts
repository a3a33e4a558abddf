/** Public retrieval collections in the layout of BEIR: documents, queries, and what people judged relevant. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** A collection. */
export interface Collection {
  /** Title and text of a document as one. */
  readonly documents: readonly { readonly id: string; readonly text: string }[];
  readonly queries: readonly { readonly id: string; readonly text: string }[];
  /** Grades of documents by query. */
  readonly relevant: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Reads `corpus.jsonl`, `queries.jsonl` and `qrels.tsv` (or `qrels/test.tsv`) of a folder. */
export async function readCollection(folder: string): Promise<Collection> {
  const corpus = await readJsonLines(join(folder, "corpus.jsonl"));
  const queries = await readJsonLines(join(folder, "queries.jsonl"));
  const flat = join(folder, "qrels.tsv");
  const judgements = await readFile(existsSync(flat) ? flat : join(folder, "qrels", "test.tsv"), "utf8");
  const relevant = new Map<string, Map<string, number>>();
  for (const line of judgements.trim().split("\n").slice(1)) {
    const [query = "", document = "", grade = "0"] = line.trim().split("\t");
    const grades = relevant.get(query) ?? new Map<string, number>();
    relevant.set(query, grades.set(document, Number(grade)));
  }
  return {
    documents: corpus.map((line) => ({
      id: String(line["_id"]),
      text: [line["title"], line["text"]]
        .filter((part) => typeof part === "string")
        .join(" ")
        .trim(),
    })),
    queries: queries.map((line) => ({ id: String(line["_id"]), text: String(line["text"]) })),
    relevant,
  };
}

/** The objects of a file with one JSON object per line. */
export async function readJsonLines(path: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const text = await readFile(path, "utf8");
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => Object(JSON.parse(line)));
}

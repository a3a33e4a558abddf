/** `openfunctions rag eval`: how good search is on a folder of judged questions in the layout of BEIR. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { InputError } from "@openfunctions/core";
import { isRecord, stringAt } from "@openfunctions/core/wire";
import { createMemoryChunkStore, createRAG, evaluateRetrieval, type IngestInput } from "@openfunctions/rag";
import { chooseEmbedder } from "./choose-embedder.ts";
import { note, oneLine, paint, print, printJson } from "./output.ts";
import { createProgressBar } from "./progress-bar.ts";

/** Options of the command. */
export interface RagEvalOptions {
  readonly embedder?: string;
  readonly json?: boolean;
}

/** Chunks are asked for, documents are judged: several chunks of one document come for each. */
const CHUNKS_PER_DOCUMENT = 3;

/** Ingests the corpus into memory, asks every judged query, and prints the means. */
export async function evalCommand(folder: string, { embedder: name, json }: RagEvalOptions): Promise<void> {
  const embedder = await chooseEmbedder(name);
  const rag = await createRAG({
    store: createMemoryChunkStore(),
    ...(embedder === undefined ? {} : { embedder }),
  });
  const bar = createProgressBar();
  try {
    let documents = 0;
    const skip = (error: unknown, { sourceId }: IngestInput): void =>
      note(
        paint(
          "yellow",
          `${oneLine(sourceId)} was left out: ${error instanceof Error ? oneLine(error.message) : ""}`,
        ),
      );
    for await (const { chunks } of rag.ingestMany(readCorpus(folder), { onError: skip })) {
      documents += chunks > 0 ? 1 : 0;
      bar.show(documents, documents, "documents");
    }
    const queries: { readonly id: string; readonly text: string }[] = [];
    for await (const query of readRows(folder, "queries.jsonl"))
      queries.push({ id: stringAt(query, "_id"), text: stringAt(query, "text") });
    const relevant = await readJudgements(folder);
    const modes = new Set<string>();
    let asked = 0;
    const search = async (text: string, limit: number): Promise<readonly string[]> => {
      const { hits, mode, reason } = await rag.search(text, { limit: limit * CHUNKS_PER_DOCUMENT });
      modes.add(reason === undefined ? mode : `${mode} (${reason})`);
      asked += 1;
      bar.show(asked, queries.length, "queries");
      return [...new Set(hits.map(({ sourceId }) => sourceId))].slice(0, limit);
    };
    const quality = await evaluateRetrieval({ queries, relevant, search });
    bar.clear();
    const report = { documents, modes: [...modes], ...quality };
    if (json === true) return printJson(report);
    print(`${documents} documents, ${quality.queries} judged queries, ${report.modes.join(", ")}`);
    print(`nDCG@10 ${quality.ndcg10.toFixed(3)}`);
    for (const [k, share] of Object.entries(quality.recall)) print(`Recall@${k} ${share.toFixed(3)}`);
    print(`MRR ${quality.mrr.toFixed(3)}`);
  } finally {
    bar.clear();
    await rag.close();
  }
}

async function* readCorpus(folder: string): AsyncGenerator<IngestInput> {
  for await (const document of readRows(folder, "corpus.jsonl")) {
    const [title, text] = [stringAt(document, "title"), stringAt(document, "text")];
    const content = title === "" ? text : `${title}\n\n${text}`;
    yield { sourceId: stringAt(document, "_id"), content, mediaType: "text/plain" };
  }
}

async function* readRows(folder: string, name: string): AsyncGenerator<Readonly<Record<string, unknown>>> {
  let number = 0;
  for await (const line of linesOf(folder, [name])) {
    number += 1;
    if (line.trim() === "") continue;
    const row = parse(line);
    if (!isRecord(row) || stringAt(row, "_id") === "")
      throw new InputError(`Line ${number} of ${name} is no JSON object with "_id".`);
    yield row;
  }
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

async function readJudgements(folder: string): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  const judgements = new Map<string, Map<string, number>>();
  for await (const line of linesOf(folder, ["qrels.tsv", join("qrels", "test.tsv")])) {
    const [query = "", document = "", grade = ""] = line.split("\t");
    if (!/^-?\d+$/.test(grade.trim())) continue; // The head.
    const grades = judgements.get(query) ?? new Map<string, number>();
    judgements.set(query, grades.set(document, Number(grade)));
  }
  return judgements;
}

/** The lines of the first of these files that is there. */
async function* linesOf(folder: string, names: readonly string[]): AsyncGenerator<string> {
  for (const name of names) {
    const file = join(folder, name);
    const isThere = await stat(file).then(
      (found) => found.isFile(),
      () => false,
    );
    if (!isThere) continue;
    yield* createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Number.POSITIVE_INFINITY });
    return;
  }
  throw new InputError(`"${folder}" holds no ${names.join(" and no ")}.`);
}

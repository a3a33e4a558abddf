/** What store-sqlite costs beside the same by hand: values, words by a bare FTS5 query, vectors by a bare loop. */

import { cell, countCell, ratioCell, type Section } from "./report.ts";
import { type ChildResult, readNumber, runChild } from "./run-child.ts";
import { type Summary, summarize } from "./statistics.ts";

const SIZES = [10_000, 50_000] as const;
// A process of 50,000 chunks takes a minute; both ways take turns within it.
const MOST_ROUNDS = 3;

/** Medians of operations, ours beside raw. */
export async function measureStores({ rounds }: { readonly rounds: number }): Promise<Section> {
  const turns = Math.min(rounds, MOST_ROUNDS);
  const values = await repeat(turns, ["values"]);
  const chunks = new Map<number, readonly ChildResult[]>();
  for (const size of SIZES) chunks.set(size, await repeat(turns, ["chunks", String(size)]));
  const pglite = await repeat(1, [String(SIZES[0])], "pglite-run.ts");
  const searches = [...chunks].flatMap(([size, results]) =>
    (["keyword", "vector"] as const).map((kind) => ({ size, kind, results })),
  );
  return {
    title: "Values and chunks in SQLite and PGlite",
    method: `Milliseconds of one operation (median, and the 95th of a hundred), both ways in turns in one process. Raw is \`node:sqlite\` with prepared statements and the same durability (WAL, \`synchronous = FULL\`). Chunks have 150 words and a vector of 384 numbers; a search gives ten. Raw words are an FTS5 query over the same texts with the porter tokenizer, \`ORDER BY rank LIMIT\`; raw vectors are a loop over one \`Float32Array\`. In PGlite both have an HNSW index; raw is a bare \`<=>\` query over a table of numbers and vectors, without owners, texts and filters.`,
    tables: [
      {
        caption: "Values",
        columns: ["", "ours, ms", "raw, ms", "ours to raw"],
        rows: ["put", "get"].map((name) => rowOf(name, name, values)),
      },
      {
        caption: "Searches",
        columns: ["", "ours, ms", "raw, ms", "ours to raw", "p95 ours, ms", "p95 raw, ms"],
        rows: searches
          .map(({ size, kind, results }) => [
            ...rowOf(`${kind}, ${countCell(size)} chunks`, kind, results),
            cell(of(results, `${kind}OursLate`)),
            cell(of(results, `${kind}RawLate`)),
          ])
          .concat([
            [
              ...rowOf(`vector, ${countCell(SIZES[0])} chunks, PGlite`, "vector", pglite),
              cell(of(pglite, "vectorOursLate")),
              cell(of(pglite, "vectorRawLate")),
            ],
            [
              `keyword, ${countCell(SIZES[0])} chunks, PGlite`,
              cell(of(pglite, "keywordOurs"), 3),
              "",
              "",
              "",
              "",
            ],
          ]),
      },
      {
        caption: "Ingest, 20 chunks with vectors at a time",
        columns: ["", "chunks per second"],
        rows: [
          ...[...chunks].map(([size, results]) => [
            `${countCell(size)} chunks`,
            countCell(of(results, "rowsPerSecond").median),
          ]),
          [`${countCell(SIZES[0])} chunks, PGlite`, countCell(of(pglite, "rowsPerSecond").median)],
        ],
      },
    ],
    targets: [
      ...["put", "get"].map((name) => ({
        name: `store-sqlite ${name}, operations per second to raw`,
        relation: "at least" as const,
        limit: 0.7,
        measured: 1 / ratioOf(name, values),
        unit: "x",
      })),
      ...searches.map(({ size, kind, results }) => ({
        name: `${kind} search at ${countCell(size)} chunks, to ${kind === "keyword" ? "a bare FTS5 query" : "a bare loop"}`,
        relation: "at most" as const,
        limit: 1.3,
        measured: ratioOf(kind, results),
        unit: "x",
      })),
      {
        name: `vector search at ${countCell(SIZES[0])} chunks in PGlite, to a bare \`<=>\` query`,
        relation: "at most",
        limit: 1.3,
        measured: ratioOf("vector", pglite),
        unit: "x",
      },
    ],
  };
}

async function repeat(
  turns: number,
  args: readonly string[],
  program: string = "store-run.ts",
): Promise<readonly ChildResult[]> {
  const results: ChildResult[] = [];
  for (let turn = 0; turn < turns; turn += 1) results.push(await runChild(program, args));
  return results;
}

function rowOf(name: string, key: string, results: readonly ChildResult[]): readonly string[] {
  const [ours, raw] = [of(results, `${key}Ours`), of(results, `${key}Raw`)];
  return [name, cell(ours, 3), cell(raw, 3), ratioCell(ratioOf(key, results))];
}

function ratioOf(key: string, results: readonly ChildResult[]): number {
  return summarize(results.map((one) => readNumber(one, `${key}Ours`) / readNumber(one, `${key}Raw`))).median;
}

function of(results: readonly ChildResult[], key: string): Summary {
  return summarize(results.map((one) => readNumber(one, key)));
}

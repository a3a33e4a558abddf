/** Vectors that were made elsewhere, as an embedder that looks them up. */

import { join } from "node:path";
import { cosine, type Embedder, hashEmbedder } from "@openfunctions/core/search";
import { type Collection, readJsonLines } from "./beir.ts";

/** Vectors of a collection. */
export interface GivenVectors {
  readonly embedder: Embedder;
  /** By document id. */
  readonly documents: ReadonlyMap<string, readonly number[]>;
}

/** Reads `corpus.vectors.jsonl` and `queries.vectors.jsonl` of a folder: lines of `{ "_id", "vector" }`. */
export async function readVectors(folder: string, { queries }: Collection): Promise<GivenVectors> {
  const documents = await readFileOfVectors(join(folder, "corpus.vectors.jsonl"));
  const byId = await readFileOfVectors(join(folder, "queries.vectors.jsonl"));
  const byText = new Map(queries.map(({ id, text }) => [text, byId.get(id)]));
  const [first = []] = documents.values();
  return {
    documents,
    embedder: {
      model: "given",
      dimensions: first.length,
      maxInputTokens: Number.MAX_SAFE_INTEGER,
      semantic: true,
      embed: async (texts) =>
        texts.map((text) => {
          const vector = byText.get(text);
          if (vector === undefined) throw new Error(`There is no vector for the query "${text}".`);
          return vector;
        }),
    },
  };
}

/** Vectors of core's hash embedder, which knows words and no meaning. */
export async function hashVectors({ documents }: Collection): Promise<GivenVectors> {
  const embedder = hashEmbedder();
  const texts = documents.map(({ text }) => text);
  const vectors = await embedder.embed(texts, { kind: "document" });
  return {
    embedder,
    documents: new Map(documents.map(({ id }, index) => [id, vectors[index] ?? []])),
  };
}

/** A search over all vectors, one by one, to compare with. */
export function createReferenceVectors({
  embedder,
  documents,
}: GivenVectors): (query: string, limit: number) => Promise<readonly string[]> {
  return async (query, limit) => {
    const [vector = []] = await embedder.embed([query], { kind: "query" });
    return [...documents]
      .map(([id, one]) => ({ id, near: cosine(vector, one) }))
      .sort((left, right) => right.near - left.near || (left.id < right.id ? -1 : 1))
      .slice(0, limit)
      .map(({ id }) => id);
  };
}

async function readFileOfVectors(path: string): Promise<ReadonlyMap<string, readonly number[]>> {
  const lines = await readJsonLines(path);
  return new Map(
    lines.map((line) => {
      const { vector } = line;
      if (!Array.isArray(vector)) throw new Error(`"${path}" holds a line without a vector.`);
      return [String(line["_id"] ?? line["id"]), vector.map(Number)];
    }),
  );
}

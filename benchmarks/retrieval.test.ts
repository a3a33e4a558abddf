/** Keyword search of the stores beside a plain BM25, on public collections where they are at hand. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { evaluateRetrieval } from "@openfunctions/rag";
import { describe, expect, it } from "vitest";
import { readCollection } from "./beir.ts";
import { documentOf, OWNER, withChunkStore, writeDocument } from "./chunk-stores.ts";
import { createReferenceBm25 } from "./reference-bm25.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "shared", "fixtures", "rag");
const ONE_POINT = 0.01;
/** What a standard BM25 (k1 0.9, b 0.4) reaches, and whether a short run looks at it. */
const COLLECTIONS = [
  { name: "cranfield", ndcg10: 0.371, short: true },
  { name: "cacm", ndcg10: 0.481, short: false },
];
const IS_SHORT = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1") < 1;

describe("keyword search", () => {
  for (const { name, ndcg10, short } of COLLECTIONS)
    for (const store of ["memory", "sqlite"] as const) {
      const isLeftOut = !existsSync(join(FOLDER, name)) || (IS_SHORT && !short);
      it.skipIf(isLeftOut)(
        `of ${store} is at most a point below a standard BM25 on ${name}`,
        async () => {
          const collection = await readCollection(join(FOLDER, name));
          const bm25 = createReferenceBm25(collection.documents);
          const reference = await evaluateRetrieval({
            ...collection,
            search: async (text, limit) => bm25(text, limit),
          });
          const ours = await withChunkStore(store, async (chunks) => {
            for (const document of collection.documents) await writeDocument(chunks, document);
            return evaluateRetrieval({
              ...collection,
              search: async (text, limit) =>
                (await chunks.searchKeyword({ owners: [OWNER] }, text, limit)).map(({ id }) =>
                  documentOf(id),
                ),
            });
          });
          expect(ours.ndcg10).toBeGreaterThanOrEqual(ndcg10 - ONE_POINT);
          expect(ours.ndcg10).toBeGreaterThanOrEqual(reference.ndcg10 - ONE_POINT);
          expect(ours.queries).toBe(reference.queries);
        },
        60_000,
      );
    }
});

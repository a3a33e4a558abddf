import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { InputError, type JsonObject } from "@openfunctions/core";
import {
  type ChunkStore,
  cosine,
  matchesFilter,
  type MetadataFilter,
  readFilter,
} from "@openfunctions/core/search";
import { describeChunkStore, describeRunStore, describeStore } from "@openfunctions/core/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { documentNumber } from "../../test/support/samples.ts";
import { openPglite, type PostgresStores } from "./open-postgres.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
const ADA = { owners: ["ada"] } as const;

let dir = "";
let stores: PostgresStores;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "openfunctions-pglite-"));
  stores = await openPglite({ dir });
});
afterAll(async () => {
  await stores.close();
  await rm(dir, { recursive: true });
});

let made = 0;
const freshName = (): string => `s${(made += 1)}`;

describeStore(
  "PGlite",
  async () => {
    const name = freshName();
    return { store: stores.store(name), reopen: async () => stores.store(name) };
  },
  { describe, it },
);

describeChunkStore(
  "PGlite with pgvector",
  {
    make: async () => {
      const name = freshName();
      return { store: await stores.chunkStore(name), reopen: () => stores.chunkStore(name) };
    },
  },
  { describe, it },
);

describeRunStore(
  "PGlite",
  {
    durable: true,
    make: async () => {
      await clearRuns(stores);
      return { store: stores.runStore(), reopen: async () => stores.runStore() };
    },
  },
  { describe, it },
);

async function fill(store: ChunkStore, records: readonly JsonObject[]): Promise<void> {
  for (const [n, metadata] of records.entries()) {
    const { document, pieces } = documentNumber(n, { sourceId: `s${n}`, metadata, texts: ["words"] });
    await store.replace(document, pieces);
  }
}

const NAMES = ["a", "b", "__proto__", "0", "it_s"] as const;
const scalar = fc.oneof(
  fc.constantFrom("", "a", "B", "ß", "é", "😀", "\uffee", "'; --", '"', "\\", "10", "9", "true", "null"),
  fc.constantFrom(0, -0, 1, -1, 0.1, 1e21, 5e-324, 1.7976931348623157e308, 9007199254740991, 10, 9),
  fc.boolean(),
  fc.constant(null),
);
const metadata: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.constantFrom(...NAMES),
  fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.dictionary(fc.constantFrom(...NAMES), scalar)),
  { maxKeys: 4 },
);
const path = fc.constantFrom("a", "b", "it_s", "__proto__", "a.b", "a.0", "b.a", "a.__proto__", "b.a.a");
const condition: fc.Arbitrary<MetadataFilter> = fc.oneof(
  fc.record({ path, eq: scalar }),
  fc.record({ path, ne: scalar }),
  fc.record({ path, in: fc.array(scalar, { maxLength: 3 }) }),
  fc.record({ path, exists: fc.boolean() }),
  ...(["lt", "lte", "gt", "gte"] as const).map((operator) =>
    fc
      .tuple(
        path,
        scalar.filter((value) => typeof value === "string" || typeof value === "number"),
      )
      // Proof: one of the four operators beside a path
      .map(([at, value]) => ({ path: at, [operator]: value }) as unknown as MetadataFilter),
  ),
);
const filter: fc.Arbitrary<MetadataFilter> = fc.oneof(
  condition,
  fc.array(condition, { maxLength: 3 }).map((and) => ({ and })),
  fc.array(condition, { maxLength: 3 }).map((or) => ({ not: { or } })),
);

describe("stores in PGlite", () => {
  it("state D1: two handles of one store agree", async () => {
    const [one, two] = [stores.store("agree"), stores.store("agree")];
    await one.set("a", 1);
    await two.set("b", 2);
    expect([await two.get("a"), await one.delete("b"), await two.size()]).toEqual([1, true, 1]);
    for await (const entry of two.entries()) expect(entry).toEqual(["a", 1]);
    expect(one.durability).toBe("process");
  });

  it("mean by any filter what core means by it", async () => {
    const store = await stores.chunkStore("filters");
    const records = fc.sample(metadata, { numRuns: 60, seed: 7 });
    await fill(store, records);
    await fc.assert(
      fc.asyncProperty(filter, async (one) => {
        const node = readFilter(one);
        const { documents } = await store.listDocuments({ ...ADA, filter: node });
        const wanted = records.flatMap((record, n) => (matchesFilter(record, node) ? [`d${n}`] : []));
        expect(documents.map(({ id }) => id)).toEqual(wanted.toSorted());
      }),
      { numRuns: Math.max(40, Math.round(1_000 * SCALE)) },
    );
  });

  it("take SQL in ids, owners, sources, texts and metadata keys for what it is", async () => {
    const store = await stores.chunkStore("hostile");
    const evil = `'; DROP TABLE openfunctions_documents; -- " \\ $1 {p} %s`;
    const record = { [evil]: { [evil]: evil }, ["__proto__"]: 1, "a'b": [evil] };
    const { document, pieces } = documentNumber(1, {
      id: evil,
      owner: evil,
      sourceId: evil,
      metadata: record,
      texts: [evil, "😀 'quoted' "],
    });
    await store.replace(document, pieces);
    const scope = { owners: [evil], filter: readFilter({ path: "a", ne: evil }) };
    expect(await store.findSource(evil, evil)).toEqual(document);
    expect(await store.getDocument(scope, evil)).toEqual(document);
    expect((await store.readChunks(scope, evil)).map(({ content }) => content)).toEqual([
      evil,
      "😀 'quoted' ",
    ]);
    expect([...(await store.getChunks(scope, [pieces[0]?.id ?? ""])).keys()]).toEqual([pieces[0]?.id]);
    expect(await store.searchKeyword(scope, evil, 5)).toHaveLength(1);
    expect(await store.getDocument(ADA, evil)).toBeUndefined();
    expect([await store.deleteDocument("ada", evil), await store.deleteDocument(evil, evil)]).toEqual([
      false,
      true,
    ]);
  });

  it("refuse what Postgres has no text for, wherever it stands, and write nothing of it", async () => {
    const store = await stores.chunkStore("nul");
    const before = documentNumber(0, { sourceId: "s" });
    await store.replace(before.document, before.pieces);
    for (const bad of ["a\u0000b", "half \ud800"])
      for (const options of [
        { id: bad },
        { owner: bad },
        { sourceId: bad },
        { texts: ["fine", bad] },
        { metadata: { deep: { key: bad } } },
        { metadata: { [bad]: 1 } },
      ]) {
        const { document, pieces } = documentNumber(1, { sourceId: "s", ...options });
        await expect(store.replace(document, pieces), JSON.stringify(options)).rejects.toThrow(InputError);
        expect(await store.listDocuments(ADA)).toEqual({ documents: [before.document] });
        expect(await store.readChunks(ADA, "d0")).toHaveLength(4);
      }
    await expect(store.getDocument(ADA, "a\u0000")).rejects.toThrow(InputError);
    const asked = readFilter({ path: "key", eq: "a\u0000" });
    await expect(store.listDocuments({ ...ADA, filter: asked })).rejects.toThrow(InputError);
  });

  it("refuse vectors that are none, and texts with more terms than an index entry holds", async () => {
    const store = await stores.chunkStore("limits");
    for (const dimensions of [0, 1.5, 16_001])
      await expect(store.resetEmbedding({ model: "m", dimensions })).rejects.toThrow(InputError);
    await store.resetEmbedding({ model: "m", dimensions: 2 });
    for (const vector of [
      [Number.NaN, 1],
      [Infinity, 1],
      [1e300, 1],
    ]) {
      const { document, pieces } = documentNumber(1, { vectors: [vector] });
      await expect(store.replace(document, pieces)).rejects.toThrow(InputError);
    }
    const many = Array.from({ length: 130_000 }, (_, n) => `word${n}`).join(" ");
    const { document, pieces } = documentNumber(2, { texts: [many] });
    await expect(store.replace(document, pieces)).rejects.toThrow(InputError);
    const long = documentNumber(3, { texts: [`${"x".repeat(5_000)} ${"tea ".repeat(400)}`] });
    await store.replace(long.document, long.pieces);
    expect(await store.searchKeyword(ADA, "x".repeat(5_000), 5)).toHaveLength(1);
    expect(await store.searchKeyword(ADA, "x".repeat(4_999), 5)).toHaveLength(0);
    expect(await store.embedding()).toMatchObject({ complete: false });
  });

  it("search vectors of more than 2,000 dimensions, which no index holds, exactly", async () => {
    const store = await stores.chunkStore("wide");
    await store.resetEmbedding({ model: "wide", dimensions: 2_100 });
    const ones = (count: number): number[] => Array.from({ length: 2_100 }, (_, at) => (at < count ? 1 : 0));
    const vectors = [ones(2_100), ones(1), ones(500)];
    const { document, pieces } = documentNumber(1, { texts: ["a", "b", "c"], vectors });
    await store.replace(document, pieces);
    const hits = await store.searchVector(ADA, ones(400), 3);
    expect(hits.map(({ id }) => id.at(-1))).toEqual(["2", "0", "1"]);
    for (const [index, hit] of [2, 0, 1].entries())
      expect(hits[index]?.cosine).toBeCloseTo(cosine(ones(400), vectors[hit] ?? []), 5);
  });

  it("field E1: twenty of an owner's or a filter's chunks are found, though all that is near is another's", async () => {
    const store = await stores.chunkStore("crowd");
    await store.resetEmbedding({ model: "crowd", dimensions: 3 });
    const count = Math.max(2_000, Math.round(10_000 * SCALE));
    const near = Array.from({ length: count }, (_, n) => [1_000, n % 97, n % 89]);
    const far = Array.from({ length: 25 }, (_, n) => [-1_000, 100 + n, 7 * n]);
    const write = async (
      n: number,
      owner: string,
      vectors: readonly (readonly number[])[],
    ): Promise<void> => {
      const texts = vectors.map((_, index) => `chunk ${index}. `);
      const metadata = { user_id: owner };
      const { document, pieces } = documentNumber(n, { owner, sourceId: `s${n}`, texts, metadata, vectors });
      await store.replace(document, pieces);
      const shared = documentNumber(n, {
        id: `all${n}`,
        owner: "all",
        sourceId: `s${n}`,
        texts,
        metadata,
        vectors,
      });
      await store.replace(shared.document, shared.pieces);
    };
    for (let from = 0; from < count; from += 500) await write(from + 1, "bob", near.slice(from, from + 500));
    await write(0, "ada", far);
    const query = [1_000, 1, 1];
    const exact = far
      .map((vector, index) => ({ cosine: cosine(query, vector), index }))
      .toSorted((left, right) => right.cosine - left.cosine)
      .slice(0, 20)
      .map(({ index }) => `chunk ${index}. `);
    const filter = readFilter({ path: "user_id", eq: "ada" });
    for (const scope of [ADA, { owners: ["all"], filter }]) {
      const hits = await store.searchVector(scope, query, 20);
      const chunks = await store.getChunks(
        scope,
        hits.map(({ id }) => id),
      );
      expect(hits.map(({ id }) => chunks.get(id)?.content)).toEqual(exact);
    }
    expect((await store.searchVector({ owners: ["bob"] }, query, 20)).length).toBe(20);
  });

  it("find by index nearly what a look at every vector finds, and all that a filter leaves", async () => {
    const store = await stores.chunkStore("near");
    await store.resetEmbedding({ model: "near", dimensions: 8 });
    const count = 1_200;
    const vectors = fc.sample(
      fc.array(fc.integer({ min: -1_000, max: 1_000 }), { minLength: 8, maxLength: 8 }),
      { numRuns: count, seed: 3 },
    );
    for (let n = 0; n < count / 100; n += 1) {
      const part = vectors.slice(n * 100, n * 100 + 100);
      const texts = part.map((_, index) => `text ${index} `);
      const { document, pieces } = documentNumber(n, { sourceId: `s${n}`, texts, vectors: part });
      await store.replace(document, pieces);
    }
    const all = new Map<string, readonly number[]>();
    for (let n = 0; n < count / 100; n += 1)
      for (const [index, piece] of (await store.readChunks(ADA, `d${n}`)).entries())
        all.set(piece.id, vectors[n * 100 + index] ?? []);
    const nearest = (query: readonly number[], accepts: (id: string) => boolean): readonly string[] =>
      [...all]
        .filter(([id]) => accepts(id))
        .map(([id, vector]) => ({ id, cosine: cosine(query, vector) }))
        .toSorted((left, right) => right.cosine - left.cosine)
        .slice(0, 10)
        .map(({ id }) => id);
    let shared = 0;
    for (const query of vectors.slice(0, 20).map((vector) => vector.map((value) => value + 50))) {
      const hits = await store.searchVector(ADA, query, 10);
      const wanted = nearest(query, () => true);
      shared += hits.filter(({ id }) => wanted.includes(id)).length;
      const one = { ...ADA, filter: readFilter({ path: "n", eq: 7 }) };
      const left = (await store.searchVector(one, query, 10)).map(({ id }) => id);
      expect(left).toEqual(nearest(query, (id) => id.startsWith("d7:")));
      expect(await store.searchVector({ owners: ["bob"] }, query, 10)).toEqual([]);
    }
    expect(shared / 200).toBeGreaterThan(0.95);
    expect(await store.searchVector(ADA, [0, 0, 0, 0, 0, 0, 0, 0], 3)).toHaveLength(3);
  });
});

async function clearRuns({ runStore }: PostgresStores): Promise<void> {
  const runs = runStore();
  for (;;) {
    const { runs: page } = await runs.list();
    if (page.length === 0) return;
    for (const { runId } of page) await runs.remove(runId);
  }
}

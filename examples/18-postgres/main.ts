/** Postgres inside the process: state, runs and documents in one directory. The same on a server: `openPostgres({ url })`. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runLoop, userMessage } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import type { DocumentRecord, NewChunk } from "@openfunctions/core/search";
// #region open
import { openPglite } from "@openfunctions/store-postgres";

const dir = await mkdtemp(join(tmpdir(), "openfunctions-postgres-")); // yours stays
const postgres = await openPglite({ dir }); // or: openPostgres({ url: "postgres://…" })
const counts = postgres.store<number>("counts");
await Promise.all([1, 2, 3].map(() => counts.update("visits", (n = 0) => ({ set: n + 1 }))));
assert.equal(await counts.get("visits"), 3);

const adapter = scriptedAdapter([{ text: "hello" }]); // in your program: any real adapter
const run = runLoop({ adapter, messages: [userMessage("hi")], store: postgres.runStore() });
const { record } = await run.result;
assert.deepEqual((await postgres.runStore().list({ status: "completed" })).runs, [record]);
// #endregion

// #region chunks
const chunks = await postgres.chunkStore("docs"); // by word alone: { allowKeywordOnly: true }
await chunks.resetEmbedding({ model: "by-hand", dimensions: 2 });
const [document, pieces] = leaflet("Green tea wants 80 °C. ", "Black tea wants boiling water. ");
await chunks.replace(document, pieces);
const scope = { owners: ["ada"] };
const [word] = await chunks.searchKeyword(scope, "boiling", 5);
const [near] = await chunks.searchVector(scope, [0.9, 0.1], 5);
assert.deepEqual([word?.id, near?.id], [pieces[1]?.id, pieces[0]?.id]);
assert.deepEqual(await chunks.searchKeyword({ owners: ["bob"] }, "boiling", 5), []);
// #endregion
await postgres.close();
await rm(dir, { recursive: true });
process.stdout.write("counted, recorded, found by word and by vector; bob found nothing\n");

/** What `@openfunctions/rag` makes of a file. */
function leaflet(...texts: readonly [string, string]): [DocumentRecord, readonly NewChunk[]] {
  const [id, length] = ["leaflet", texts.join("").length];
  const made = texts.map((content, n): NewChunk => {
    const start = n === 0 ? 0 : texts[0].length;
    const place = { id: `${id}:${n}`, documentId: id, start, end: start + content.length };
    return { ...place, content, headings: [], hash: content, vector: n === 0 ? [1, 0] : [0, 1] };
  });
  const about = { owner: "ada", sourceId: "leaflet.md", contentHash: "1", mediaType: "text/markdown" };
  const createdAt = new Date().toISOString();
  return [{ id, ...about, metadata: {}, createdAt, length, chunkCount: 2 }, made];
}

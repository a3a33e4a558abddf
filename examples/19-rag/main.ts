/** An agent that answers from documents and cites them: found by their words here, since no embedder is chosen. No key, no network. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolRegistry, runLoop, userMessage } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
// #region create
import { checkCitations, cite, createRAG } from "@openfunctions/rag";
import { openSqlite } from "@openfunctions/store-sqlite";

const dir = await mkdtemp(join(tmpdir(), "openfunctions-rag-"));
const sqlite = await openSqlite({ file: join(dir, "documents.db") });
const rag = await createRAG({ store: sqlite.chunkStore("documents") }); // embedder: … to search by meaning too
// #endregion

// #region ingest
const tea = "# Tea\n\nGreen tea is steamed, so it stays green.\n\n# Coffee\n\nCoffee is roasted.";
const document = { sourceId: "drinks.md", content: tea, metadata: { year: 2026 } };
assert.equal((await rag.ingest(document)).status, "created");
assert.equal((await rag.ingest(document)).status, "unchanged"); // the same content costs nothing

const { mode, reason, hits } = await rag.search("why is tea green", { filter: { path: "year", gte: 2020 } });
assert.equal(`${mode}: ${reason}`, "keyword: no embedder configured"); // it says how it searched
assert.deepEqual(hits[0]?.headings, ["Tea"]);
// #endregion

// #region cite
const { prompt } = cite(hits); // "[1]\n<data origin=…>…</data>", for a prompt of your own
assert.match(prompt, /^\[1\]\n<data origin="document doc_/);
const { quotes, dangling } = checkCitations('It says "so it stays green" [1], and more [7].', hits);
assert.equal(tea.slice(quotes[0]?.found?.start, quotes[0]?.found?.end), "so it stays green");
assert.equal(dangling[0]?.number, 7); // cites what is not there
// #endregion

// #region tools
const tools = new ToolRegistry();
tools.registerAll(rag.createTools()); // the owner is the run's, never an argument
const ask = { toolCalls: [{ name: "search_documents", args: { query: "green tea" } }] };
const answer = { text: 'Because it is "steamed" [1].' };
const messages = [userMessage("Why is tea green?")];
const run = (owner: string) =>
  runLoop({ adapter: scriptedAdapter([ask, answer]), tools, owner, messages }).result;
assert.match(JSON.stringify((await run("local")).messages), /Green tea is steamed/);
assert.doesNotMatch(JSON.stringify((await run("bob")).messages), /Green tea is steamed/);
// #endregion

await rag.close();
await sqlite.close();
await rm(dir, { recursive: true });
process.stdout.write("ingested, found, cited; bob saw nothing\n");

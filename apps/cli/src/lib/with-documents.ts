/** The documents of a data folder, in its SQLite file. */

import { join } from "node:path";
import { createRAG, type Rag } from "@openfunctions/rag";
import { openSqlite } from "@openfunctions/store-sqlite";
import { LOCAL_OWNER } from "./answer-tickets.ts";
import { chooseEmbedder } from "./choose-embedder.ts";
import { dataHome } from "./data-home.ts";

/** Works with the documents and closes them on every path. `embedder` is a name of the command line. */
export async function withDocuments<T>(
  embedder: string | undefined,
  work: (rag: Rag) => Promise<T>,
): Promise<T> {
  const chosen = await chooseEmbedder(embedder);
  const sqlite = await openSqlite({ file: join(dataHome(), "openfunctions.db") });
  try {
    const store = sqlite.chunkStore("documents");
    const rag = await createRAG({
      store,
      owner: LOCAL_OWNER,
      ...(chosen === undefined ? {} : { embedder: chosen }),
    });
    return await work(rag);
  } finally {
    await sqlite.close();
  }
}

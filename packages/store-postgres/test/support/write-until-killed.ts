/**
 * `node write-until-killed.ts <url> <name>`: writes a value, a document in the place of the one before and a count,
 * over and over, and prints a line each time that all three are done.
 */

import { openPostgres } from "@openfunctions/store-postgres";
import { documentNumber, valueNumber } from "./samples.ts";

const [url = "", name = ""] = process.argv.slice(2);
const stores = await openPostgres({ url });
const store = stores.store(name);
const chunks = await stores.chunkStore(name, { allowKeywordOnly: true });
for (let n = 0; ; n += 1) {
  await store.set(`k${n}`, valueNumber(n));
  const { document, pieces } = documentNumber(n);
  await chunks.replace(document, pieces);
  await store.update("count", (count) => ({ set: Number(count ?? 0) + 1 }));
  process.stdout.write(`${n}\n`);
}

/** `node count-up.ts <url> <name> <times>`: adds one to a shared count so many times. */

import { openPostgres } from "@openfunctions/store-postgres";

const [url = "", name = "", times = "0"] = process.argv.slice(2);
const stores = await openPostgres({ url });
for (let done = 0; done < Number(times); done += 1)
  await stores.store(name).update("n", (n) => ({ set: Number(n ?? 0) + 1 }));
await stores.close();

/** `node hold-directory.ts <dir>`: opens a database in a directory, writes to it, says so and stays. */

import { openPglite } from "@openfunctions/store-postgres";

const stores = await openPglite({ dir: process.argv[2] ?? "" });
await stores.store("things").set("a", 1);
process.stdout.write("open\n");
setInterval(() => {}, 60_000);

/** `node without-pglite.ts`: opens a directory where first one and then another package is not installed; prints why not. */

import { registerHooks } from "node:module";
import { OpenFunctionsError } from "@openfunctions/core";

let missing = "";
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier === missing) throw new Error(`Cannot find package "${specifier}"`);
    return next(specifier, context);
  },
});
const { openPglite } = await import("@openfunctions/store-postgres");
for (missing of ["@electric-sql/pglite", "@electric-sql/pglite-pgvector"])
  try {
    await openPglite({ dir: "/nowhere/at/all" });
  } catch (error) {
    const { code, hint, message } = OpenFunctionsError.is(error)
      ? error
      : { code: "", hint: "", message: String(error) };
    process.stdout.write(`${JSON.stringify({ code, hint, message })}\n`);
  }

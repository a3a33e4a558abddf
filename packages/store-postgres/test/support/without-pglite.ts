/** `node without-pglite.ts <package>`: tries to open a directory where one package is not installed, prints the error. */

import { registerHooks } from "node:module";
import { OpenFunctionsError } from "@openfunctions/core";

const [missing = ""] = process.argv.slice(2);
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier === missing) throw new Error(`Cannot find package "${specifier}"`);
    return next(specifier, context);
  },
});
const { openPglite } = await import("@openfunctions/store-postgres");
try {
  await openPglite({ dir: "/nowhere/at/all" });
} catch (error) {
  process.stdout.write(JSON.stringify(OpenFunctionsError.is(error) ? error : String(error)));
}

// Run in a package's folder after its build: the JSON Schemas of records travel with the package, in dist/schemas.
import { cpSync, rmSync } from "node:fs";

rmSync("dist/schemas", { recursive: true, force: true });
cpSync("../../contracts/schemas", "dist/schemas", { recursive: true });

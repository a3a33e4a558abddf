// Run in a package's folder after tsc: makes one file of each entry, so that an import reads a few files instead of
// a hundred. The module graph was most of core's import time (decisions/004-flattened-dist.md). Types stay as tsc
// wrote them; nothing is minified.
import { readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const { name, exports: entries = {}, bin = {} } = { ...manifest, ...manifest.publishConfig };

/** The sources of the entries that the packed package names, by the name of the file in dist. */
function inputs() {
  const targets = [...Object.values(entries).map((entry) => entry.default), ...Object.values(bin)];
  return Object.fromEntries(
    targets.map((target) => {
      const file = target.replace(/^\.\/dist\//, "").replace(/\.js$/, "");
      return [file, join("src", `${file}.ts`)];
    }),
  );
}

/** tsc's own JavaScript below lib, which no entry reads any more. */
function removeModules() {
  for (const file of readdirSync("dist/lib", { recursive: true })) {
    if (file.endsWith(".js")) rmSync(join("dist/lib", file));
  }
}

const bundle = await rolldown({
  input: inputs(),
  platform: "node",
  // Only our own modules go in: what is installed stays a package of its own.
  external: (id) => !id.startsWith(".") && !id.startsWith("/") && !id.includes("src/"),
  treeshake: { moduleSideEffects: false },
});
removeModules();
await bundle.write({
  dir: "dist",
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "lib/[name]-[hash].js",
  minify: false,
});
await bundle.close();
process.stdout.write(`${name}: ${Object.keys(inputs()).length} entries\n`);

// Run in a package's folder after tsc: makes one file of each entry, so that an import reads a few files instead of
// a hundred. The module graph was most of core's import time (decisions/004-flattened-dist.md). Types stay as tsc
// wrote them; nothing is minified.
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { rolldown } from "rolldown";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const { name, exports: entries = {}, bin = {} } = { ...manifest, ...manifest.publishConfig };
const installed = Object.keys({
  ...manifest.dependencies,
  ...manifest.optionalDependencies,
  ...manifest.peerDependencies,
});

/** Files that are started as a thread, by their own address: each stays a file of its own in dist/lib. */
function workers() {
  const found = readdirSync("src/lib", { recursive: true }).filter((file) => file.endsWith("-worker.ts"));
  return found.map((file) => `./dist/lib/${file.replace(/\.ts$/, ".js")}`);
}

/** The sources of the entries that the packed package names, by the name of the file in dist. */
function inputs() {
  const named = [...Object.values(entries).map((entry) => entry.default), ...Object.values(bin)];
  const targets = [...named, ...workers()];
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

/** The licences of the packages that went in, each beside what was made of it. */
function copyLicenses(output) {
  const modules = output.flatMap((chunk) => chunk.moduleIds ?? []);
  const folders = modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0]);
  for (const folder of new Set(folders.filter((found) => found !== undefined))) {
    const license = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    if (license === undefined) throw new Error(`${folder} went into ${name} and carries no licence.`);
    const { name: source, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    mkdirSync("dist/licenses", { recursive: true });
    copyFileSync(join(folder, license), `dist/licenses/${source.replace("/", "__")}@${version}.txt`);
  }
}

const bundle = await rolldown({
  input: inputs(),
  platform: "node",
  // What the package depends on stays a package of its own; a development dependency that is imported goes in.
  external: (id) => isBuiltin(id) || installed.some((name) => id === name || id.startsWith(`${name}/`)),
  treeshake: { moduleSideEffects: false },
});
removeModules();
const { output } = await bundle.write({
  dir: "dist",
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: "lib/[name]-[hash].js",
  minify: false,
});
await bundle.close();
copyLicenses(output);
process.stdout.write(`${name}: ${Object.keys(inputs()).length} entries\n`);

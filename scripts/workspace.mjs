// What is in this workspace, read from the folders themselves.
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Every package and app below `root` with its folder and manifest, in a stable order. */
export function workspacePackages(root) {
  return ["packages", "apps"].flatMap((group) =>
    foldersIn(join(root, group)).flatMap((name) => {
      const folder = join(root, group, name);
      const manifest = readJson(join(folder, "package.json"));
      return manifest ? [{ name: manifest.name, path: `${group}/${name}`, folder, group, manifest }] : [];
    }),
  );
}

/** The ones that are published. */
export function publishedPackages(root) {
  return workspacePackages(root).filter(({ manifest }) => manifest.private !== true);
}

/** Names of the folders directly in `path`; none when it does not exist. */
export function foldersIn(path) {
  if (!existsSync(path)) return [];
  return readdirSync(path)
    .filter((name) => name !== "node_modules" && statSync(join(path, name)).isDirectory())
    .sort();
}

/** All files below `path` as absolute paths, without node_modules and dist. */
export function filesBelow(path) {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules" && name !== "dist")
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const full = join(path, entry.name);
      return entry.isDirectory() ? filesBelow(full) : [full];
    });
}

/** A parsed JSON file, or undefined when there is none. */
export function readJson(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** The programs under examples/, as paths relative to `root`. */
export function exampleFiles(root) {
  return foldersIn(join(root, "examples"))
    .map((name) => `examples/${name}/main.ts`)
    .filter((file) => existsSync(join(root, file)));
}

// npm run build: emits dist/ of every published package, dependencies first.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { bootstrap, root, runPnpm } from "./bootstrap.mjs";
import { publishedPackages } from "./workspace.mjs";

/** Builds and returns `{ ok, output }`. */
export function build() {
  for (const { folder } of publishedPackages(root)) removeStale(folder);
  // turbo runs package scripts through pnpm, which is not on the PATH of a machine that has only npm:
  // `pnpm exec` puts it there.
  const result = runPnpm(["exec", "turbo", "run", "build"], {
    encoding: "utf8",
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1" },
  });
  return { ok: result.status === 0, output: `${result.stdout}${result.stderr}` };
}

/** tsc never deletes what it once emitted, so a renamed file would be packed for ever. */
function removeStale(folder) {
  const dist = join(folder, "dist");
  if (!existsSync(dist)) return;
  const isStale = readdirSync(dist, { recursive: true })
    .filter((file) => file.endsWith(".js"))
    .some((file) => !existsSync(join(folder, "src", file.replace(/\.js$/, ".ts"))));
  if (isStale) rmSync(dist, { recursive: true });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  bootstrap();
  const { ok, output } = build();
  process.stdout.write(output);
  process.exit(ok ? 0 : 1);
}

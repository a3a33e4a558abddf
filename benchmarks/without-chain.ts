/**
 * Loaded before a measuring program (`--import`): takes hashing out of the log, so that a run without a record can be
 * measured. Core has no switch for this, and needs none. Events get one constant for a hash, leaves for a digest.
 */

import { registerHooks } from "node:module";

const CONSTANT = `"sha256:${"0".repeat(64)}"`;

/** The functions whose work is left out, by the end of their file's name. */
const EMPTIED: ReadonlyMap<string, string> = new Map([
  ["/packages/core/src/lib/run-event.ts", "hashEvent"],
  ["/packages/core/src/lib/sealed.ts", "commitment"],
]);

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const emptied = [...EMPTIED].find(([file]) => url.endsWith(file))?.[1];
    if (emptied === undefined || loaded.source === undefined || loaded.source === null) return loaded;
    const source =
      typeof loaded.source === "string" ? loaded.source : new TextDecoder().decode(loaded.source);
    return { ...loaded, source: withoutBody(source, emptied) };
  },
});

/** The source with the function answering a constant. Throws when it is not there: nothing must be measured then. */
function withoutBody(source: string, name: string): string {
  const head = new RegExp(`function ${name}\\([^)]*\\): Digest \\{`);
  if (!head.test(source)) throw new Error(`There is no function "${name}" to take out.`);
  return source.replace(head, (found) => `${found} return ${CONSTANT};`);
}

// node --import: every run of the program is recorded whole into the folder RECORD_DIR, whatever the program says.
import { registerHooks } from "node:module";

const HEAD = "export function runLoop(options: LoopOptions): LoopRun {";

/** The program's own store, with a folder of record files beside it. */
const BESIDE = `
function beside(own) {
  const files = createFileRunStore({ dir: process.env.RECORD_DIR });
  if (own === undefined) return files;
  return new Proxy(own, {
    get(target, key) {
      if (key !== "append") return typeof target[key] === "function" ? target[key].bind(target) : target[key];
      return async (...args) => (await files.append(...args), target.append(...args));
    },
  });
}`;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith("/core/src/lib/run-loop.ts")) return loaded;
    const source = Buffer.from(loaded.source).toString("utf8");
    if (!source.includes(HEAD)) throw new Error("runLoop does not begin as the recording hook expects.");
    const body = `options = { ...options, capture: "full", store: beside(options.store) };`;
    const name = new URL("./file-run-store.ts", url).href;
    return {
      ...loaded,
      source: `import { createFileRunStore } from ${JSON.stringify(name)};\n${BESIDE}\n${source.replace(HEAD, `${HEAD}\n${body}`)}`,
    };
  },
});

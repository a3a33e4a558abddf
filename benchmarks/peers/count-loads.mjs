// `node --import ./count-loads.mjs program`: counts the files Node loads, ES modules and CommonJS alike.
import { registerHooks } from "node:module";

globalThis.loadedFiles = 0;
registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith("node:")) globalThis.loadedFiles += 1;
    return nextLoad(url, context);
  },
});

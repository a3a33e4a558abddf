// npm run check:shape: the budgets and edges of this repository. Prints what broke and where, and exits
// non-zero; the report below the findings is information, not judgement.
import { parseArgs } from "node:util";

import { bootstrap, root } from "./bootstrap.mjs";

const { values } = parseArgs({
  options: { root: { type: "string", default: root }, "min-files": { type: "string" } },
});

bootstrap();
// Loaded after the bootstrap: the rules need the TypeScript parser.
const { checkTree } = await import("./shape/check.mjs");
const { MIN_SOURCE_FILES } = await import("./shape/budgets.mjs");

const { findings, report } = checkTree(values.root, {
  minFiles: Number(values["min-files"] ?? MIN_SOURCE_FILES),
});
for (const { file, line, rule, message } of findings) console.log(`${file}:${line}  ${rule}  ${message}`);
console.log(`${findings.length > 0 ? "\n" : ""}${report.join("\n")}`);
console.log(findings.length > 0 ? `\n${findings.length} problems` : "\nshape ok");
process.exitCode = findings.length > 0 ? 1 : 0;

// npm run check:types: everything that is published, then everything that only has to compile.
import { spawnSync } from "node:child_process";

import { bootstrap, node, root, tsc } from "./bootstrap.mjs";

bootstrap();
const { status } = spawnSync(node, [tsc, "-b", "tsconfig.json", "tsconfig.checks.json"], {
  cwd: root,
  stdio: "inherit",
});
process.exit(status ?? 1);

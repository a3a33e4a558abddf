// npm run api: writes one report per public entry into api/, from the emitted declarations. The reports are
// committed, so that a change of what we promise is seen in review; `--check` only compares.
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

import { bootstrap, node, root, tsc } from "./bootstrap.mjs";
import { closeRun, countChecks, runCheck } from "./steps.mjs";
import { filesBelow, publishedPackages } from "./workspace.mjs";

bootstrap();
// Loaded after the bootstrap.
const { Extractor, ExtractorConfig } = await import("@microsoft/api-extractor");

const REPORTS = join(root, "api");
const SCRATCH = join(root, "node_modules", ".cache", "api");
// The tool's own compiler sees only declarations; what it needs to read them is the same for every package.
const COMPILER = {
  module: "nodenext",
  target: "es2024",
  lib: ["es2024"],
  types: ["node"],
  strict: true,
  skipLibCheck: true,
};
const SILENT = { default: { logLevel: "none" } };

const isCheck = process.argv.includes("--check");
const built = runCheck("build", [node, tsc, "-b", "tsconfig.json"], { cwd: root });
closeRun(countChecks(built.ok ? reportAll() : [built]));

function reportAll() {
  mkdirSync(REPORTS, { recursive: true });
  const entries = publishedPackages(root).flatMap(entriesOf);
  const checks = entries.map(report);
  const known = entries.map(({ file }) => join(REPORTS, file));
  return [
    ...checks,
    ...filesBelow(REPORTS)
      .filter((path) => !known.includes(path))
      .map(removeOrphan),
  ];
}

function entriesOf({ folder, manifest, path }) {
  const name = path.split("/").at(-1);
  return Object.keys(manifest.exports ?? {}).map((key) => {
    const entry = key === "." ? "index" : key.slice(2);
    return { folder, entry, file: `${name}${key === "." ? "" : `.${entry}`}.api.md` };
  });
}

function report({ folder, entry, file }) {
  const messages = [];
  const result = Extractor.invoke(configure({ folder, entry, file }), {
    localBuild: !isCheck,
    messageCallback(message) {
      if (["error", "warning"].includes(message.logLevel)) messages.push(message.text);
      message.handled = true;
    },
  });
  const isSame = !isCheck || !result.apiReportChanged;
  const hint = isSame
    ? ""
    : `api/${file} is out of date: run \`npm run api\`, review the difference, add a changeset.\n`;
  return { name: `api ${file}`, ok: result.succeeded && isSame, output: `${hint}${messages.join("\n")}` };
}

function configure({ folder, entry, file }) {
  return ExtractorConfig.prepare({
    packageJsonFullPath: join(folder, "package.json"),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: join(folder, "dist", `${entry}.d.ts`),
      apiReport: { enabled: true, reportFileName: file, reportFolder: REPORTS, reportTempFolder: SCRATCH },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: "lf",
      compiler: { overrideTsconfig: { compilerOptions: COMPILER, include: ["dist"] } },
      messages: {
        compilerMessageReporting: SILENT,
        extractorMessageReporting: SILENT,
        tsdocMessageReporting: SILENT,
      },
    },
  });
}

function removeOrphan(path) {
  if (isCheck)
    return {
      name: path,
      ok: false,
      output: "A report of an entry that no longer exists: run `npm run api`.",
    };
  rmSync(path);
  return { name: `removed ${path}`, ok: true };
}

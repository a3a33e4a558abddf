// All rules over one tree.
import { checkCycles, checkImports, checkManifests } from "./check-edges.mjs";
import {
  checkAdapterCast,
  checkDocComments,
  checkExportLists,
  checkParameters,
  checkPublicSurface,
} from "./check-exports.mjs";
import { checkAgentsFile, checkFileLengths, checkFunctionLengths, checkPackageSizes } from "./check-size.mjs";
import { checkAssertions, checkEnvironment, checkForbiddenSyntax } from "./check-syntax.mjs";
import { reportLines } from "./report.mjs";
import { readTree } from "./tree.mjs";

const RULES = [
  checkFileLengths,
  checkFunctionLengths,
  checkPackageSizes,
  checkAgentsFile,
  checkParameters,
  checkCycles,
  checkManifests,
  checkImports,
  checkForbiddenSyntax,
  checkEnvironment,
  checkAssertions,
  checkDocComments,
  checkExportLists,
  checkPublicSurface,
  checkAdapterCast,
];

/** Runs every rule: `{ findings, report }`. A tree with too few source files is itself a finding. */
export function checkTree(root, { minFiles }) {
  const tree = readTree(root);
  const findings = RULES.flatMap((rule) => rule(tree));
  if (tree.sources.length < minFiles) {
    const message = `saw ${tree.sources.length} source files, expected at least ${minFiles}: is this the right folder?`;
    findings.push({ rule: "files-seen", file: "packages", line: 1, message });
  }
  return { findings, report: reportLines(tree) };
}

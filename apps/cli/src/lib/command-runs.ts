/** `openfunctions runs`: what can be done with the records of runs. Each command is loaded when it is called. */

import type { Command } from "commander";

/** Adds the group to the program. */
export function addRuns(program: Command): void {
  const runs = program.command("runs").description("verify records, and the keys that seal them");
  addVerify(runs);
  addKeys(runs);
}

function addVerify(runs: Command): void {
  runs
    .command("verify <file>")
    .description("check a record file byte by byte; exit 0 verified, 1 not, 4 intact but unsigned")
    .option("--key <file>", "the public key (PEM) to trust; default: the keys of this data folder")
    .option("--json", "print the result as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions runs verify run.jsonl --key signer.pub.pem\n")
    .action(async (file, options) => (await import("./command-runs-verify.ts")).verifyCommand(file, options));
}

function addKeys(runs: Command): void {
  const keys = runs.command("keys").description("the keys that seal records");
  keys
    .command("list")
    .description("the public keys, and which of them seals new records")
    .option("--json", "print as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions runs keys list\n")
    .action(async (options) => (await import("./command-runs-keys.ts")).listKeysCommand(options));
  keys
    .command("rotate")
    .description("make a new key; records sealed by old ones stay verifiable")
    .addHelpText("after", "\nExample:\n  openfunctions runs keys rotate\n")
    .action(async () => (await import("./command-runs-keys.ts")).rotateKeyCommand());
}

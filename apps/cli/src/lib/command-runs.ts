/** `openfunctions runs`: what can be done with the records of runs. Each command is loaded when it is called. */

import type { Command } from "commander";

/** Adds the group to the program. */
export function addRuns(program: Command, from: (command: Command) => Command): void {
  const runs = program
    .command("runs")
    .description("what ran: list, explain, verify, replay; a record is a file or the id of a run");
  addReading(runs);
  addChanges(runs);
  addReplay(runs, from);
  addEval(runs, from);
  addVerify(runs);
  addKeys(runs);
}

function addReading(runs: Command): void {
  runs
    .command("list")
    .description("runs of this data folder, newest first")
    .option("--status <status>", "only runs that stand so, such as suspended or failed")
    .option("--thread <id>", "only turns of this conversation")
    .option("--task <id>", "only attempts at this task")
    .option("--since <time>", "only runs that started since")
    .option("--limit <number>", "how many (default: 50)")
    .option("--cursor <text>", "go on where a page ended")
    .option("--json", "print as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions runs list --status failed\n")
    .action(async (options) => (await import("./command-runs-read.ts")).listCommand(options));
  runs
    .command("show <record>")
    .description("the record as JSON")
    .option("--events", "the events instead, one per line")
    .addHelpText("after", "\nExample:\n  openfunctions runs show run.jsonl\n")
    .action(async (name, options) => (await import("./command-runs-read.ts")).showCommand(name, options));
  runs
    .command("explain <record>")
    .description("what was asked, what ran, what changed, what it cost, why it stopped, what is not proven")
    .addHelpText("after", "\nExample:\n  openfunctions runs explain run.jsonl\n")
    .action(async (name) => (await import("./command-runs-read.ts")).explainCommand(name));
  runs
    .command("export <record>")
    .description("the record file: events, seal, redactions")
    .option("--out <file>", "write a new file instead of stdout")
    .addHelpText(
      "after",
      "\nExample:\n  openfunctions runs export 0197e2a4-7c1e-7000-8000-000000000000 --out run.jsonl\n",
    )
    .action(async (name, options) => (await import("./command-runs-read.ts")).exportCommand(name, options));
}

function addChanges(runs: Command): void {
  runs
    .command("redact <run>")
    .description("take one value out of a finished run; its chain still verifies")
    .requiredOption("--seq <number>", "the event that holds it (runs show <run> --events)")
    .requiredOption("--leaf <pointer>", "where in the event, such as /data/args")
    .requiredOption("--reason <text>", "why; it stays in the record, with who did it")
    .addHelpText(
      "after",
      '\nExample:\n  openfunctions runs redact 0197e2a4-7c1e-7000-8000-000000000000 --seq 4 --leaf /data/args --reason "a password"\n',
    )
    .action(async (run, options) => (await import("./command-runs-change.ts")).redactCommand(run, options));
  runs
    .command("remove <run>")
    .description("remove a whole run")
    .addHelpText("after", "\nExample:\n  openfunctions runs remove 0197e2a4-7c1e-7000-8000-000000000000\n")
    .action(async (run) => (await import("./command-runs-change.ts")).removeCommand(run));
  runs
    .command("prune")
    .description("remove old runs; those that are open, wait or are in doubt stay")
    .option("--max-age <days>", "how long a run is kept after its end")
    .option("--max-runs <number>", "how many runs are kept, the newest")
    .addHelpText("after", "\nExample:\n  openfunctions runs prune --max-age 90\n")
    .action(async (options) => (await import("./command-runs-change.ts")).pruneCommand(options));
}

function addReplay(runs: Command, from: (command: Command) => Command): void {
  from(runs.command("replay <record>"))
    .description("make the run again, offline: exit 0 where the same digest comes out")
    .option("--json", "print the result as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions runs replay run.jsonl\n")
    .action(async (name, options) => (await import("./command-runs-replay.ts")).replayCommand(name, options));
  from(runs.command("fork <record>"))
    .description("go on live from a point, as a new run; recorded calls are answered from the record")
    .requiredOption("--at <point>", "an event number, or round:<n>")
    .option("--provider <name>", "ask another provider")
    .option("--model <id>", "ask another model")
    .option("--say <text>", "a message after the point")
    .option("--live", "run calls that the record does not answer; writes still need a grant")
    .option("--json", "print the result as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions runs fork run.jsonl --at round:1 --provider offline\n")
    .action(async (name, options) => (await import("./command-runs-replay.ts")).forkCommand(name, options));
}

function addEval(runs: Command, from: (command: Command) => Command): void {
  from(runs.command("eval <folder>"))
    .description("replay a folder of records against today's code, or --save a run as a case")
    .option("--save <name>", "keep the run or record as a case of --dir")
    .option("--dir <folder>", "where cases are kept (default: evals)")
    .option("--provider <name>", "give the inputs to another provider and compare")
    .option("--model <id>", "give the inputs to another model and compare")
    .option("--threshold <share>", "how many have to pass, from 0 to 1 (default: 1)")
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      "\nExample:\n  openfunctions runs eval run.jsonl --save bank-call\n  openfunctions runs eval evals\n",
    )
    .action(async (folder, options) => (await import("./command-runs-eval.ts")).evalCommand(folder, options));
}

function addVerify(runs: Command): void {
  runs
    .command("verify <record>")
    .description("check a record byte by byte; exit 0 verified, 1 not, 4 intact but unsigned")
    .option("--key <file>", "the public key (PEM) to trust; default: the keys of this data folder")
    .option("--json", "print the result as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions runs verify run.jsonl --key signer.pub.pem\n")
    .action(async (file, options) => (await import("./command-runs-verify.ts")).verifyCommand(file, options));
  runs
    .command("lint <record>")
    .description("what a provider could not cache: where a request no longer begins as the one before it")
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      "\nA run of a thread is read together with the turn before it.\nExample:\n  openfunctions runs lint run.jsonl\n",
    )
    .action(async (name, options) => (await import("./command-runs-lint.ts")).lintCommand(name, options));
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

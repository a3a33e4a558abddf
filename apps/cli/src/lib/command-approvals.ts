/** `openfunctions approvals`: names, options and help; each command is loaded when it is called. */

import type { Command } from "commander";

/** Adds what a person does about effects that nobody knows the end of. */
export function addEffects(program: Command): void {
  const effects = program.command("effects").description("calls that began and never said how they ended");
  effects
    .command("list")
    .description("effects of unknown outcome; --all shows settled ones, too")
    .option("--all", "the whole ledger")
    .option("--json", "print as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions effects list\n")
    .action(async (options) => (await import("./command-effects.ts")).listEffects(options));
  effects
    .command("settle <key>")
    .description("write down what you found out")
    .option("--succeeded <json>", "it happened; the result, or null")
    .option("--failed <reason>", "it did not happen")
    .addHelpText(
      "after",
      '\nExample:\n  openfunctions effects settle sha256:0123 --failed "no such payment"\n',
    )
    .action(async (key, options) => (await import("./command-effects.ts")).settleEffect(key, options));
}

/** Adds the group to the program. */
export function addApprovals(program: Command, from: (command: Command) => Command): void {
  const approvals = program.command("approvals").description("calls that wait for a person");
  approvals
    .command("list")
    .description("what waits; --all shows what was answered, too")
    .option("--all", "answered and expired ones as well")
    .option("--json", "print as JSON")
    .addHelpText("after", "\nExample:\n  openfunctions approvals list\n")
    .action(async (options) => (await import("./command-tickets.ts")).listTickets(options));
  from(approvals.command("approve <ticket>"))
    .description("let exactly this call run, once; then `openfunctions resume <run>`")
    .option("--args <json>", "run it with these arguments instead")
    .option("--reason <text>", "why; it stays in the record")
    .addHelpText("after", "\nExample:\n  openfunctions approvals approve apr_0123-0\n")
    .action(async (id, options) =>
      (await import("./command-tickets.ts")).answerTicket("approved", id, options),
    );
  approvals
    .command("deny <ticket>")
    .description("the call does not run; the model is told why")
    .option("--reason <text>", "why")
    .addHelpText("after", '\nExample:\n  openfunctions approvals deny apr_0123-0 --reason "not on Fridays"\n')
    .action(async (id, options) =>
      (await import("./command-tickets.ts")).answerTicket("denied", id, options),
    );
}

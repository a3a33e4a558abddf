/** `openfunctions runs redact|remove|prune`: what may be taken out of the data folder, and how it stays accountable. */

import { pruneRuns } from "@openfunctions/core";
import { redactLeaf } from "@openfunctions/core/records";
import { localPerson } from "./answer-tickets.ts";
import { dataHome } from "./data-home.ts";
import { withHomeStores } from "./home-stores.ts";
import { CommandFailure, EXIT, note, print, printable } from "./output.ts";

/** Which value goes, and why. */
export interface RedactOptions {
  readonly seq: string;
  readonly leaf: string;
  readonly reason: string;
}

/** Takes one value out of a finished run; the chain still verifies, and the record says who did it and why. */
export async function redactCommand(runId: string, { seq, leaf, reason }: RedactOptions): Promise<void> {
  const number = wholeNumber("--seq", seq);
  await withHomeStores(dataHome(), async ({ runs, loop }) => {
    const by = localPerson().id;
    const line = await redactLeaf(
      runs,
      { runId, seq: number, leaf, by, reason, at: new Date().toISOString() },
      loop.signer,
    );
    print(printable(`${runId}: ${leaf} of event ${line.seq} was redacted.`));
  });
}

/** Removes a whole run. */
export async function removeCommand(runId: string): Promise<void> {
  await withHomeStores(dataHome(), async ({ runs }) => {
    if (!(await runs.remove(runId))) throw new CommandFailure(`There is no run "${runId}".`, EXIT.usage);
    print(`${runId} was removed.`);
  });
}

/** How much is kept. */
export interface PruneOptions {
  readonly maxAge?: string;
  readonly maxRuns?: string;
}

const DAY_MS = 86_400_000;

/** Removes old runs, never those that are open, wait for a person or have unknown effects. */
export async function pruneCommand({ maxAge, maxRuns }: PruneOptions): Promise<void> {
  if (maxAge === undefined && maxRuns === undefined)
    throw new CommandFailure("Say --max-age <days>, --max-runs <number>, or both.", EXIT.usage);
  const policy = {
    now: Date.now(),
    ...(maxAge === undefined ? {} : { maxAgeMs: wholeNumber("--max-age", maxAge) * DAY_MS }),
    ...(maxRuns === undefined ? {} : { maxRuns: wholeNumber("--max-runs", maxRuns) }),
  };
  await withHomeStores(dataHome(), async ({ runs }) => {
    const { removed, kept } = await pruneRuns(runs, policy);
    print(`${removed.length} run(s) were removed.`);
    for (const { runId: id, reason } of kept) note(`${id} was kept: ${reason.replaceAll("_", " ")}`);
  });
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 0 && text.trim() !== "") return number;
  throw new CommandFailure(`${option} is "${text}"; use a whole number from 0 on.`, EXIT.usage);
}

/** `openfunctions effects`: calls that began and never said how they ended, and what a person found out. */

import { type EffectEntry, type Json, type ReconcileDecision, InputError } from "@openfunctions/core";
import { dataHome } from "./data-home.ts";
import { withHomeStores } from "./home-stores.ts";
import { CommandFailure, EXIT, oneLine, print, printJson } from "./output.ts";

/** What the person found out. */
export interface SettleOptions {
  readonly succeeded?: string;
  readonly failed?: string;
}

/** What is unknown, or everything. */
export async function listEffects(options: {
  readonly all?: boolean;
  readonly json?: boolean;
}): Promise<void> {
  await withHomeStores(dataHome(), async ({ ledger }) => {
    const entries: EffectEntry[] = [];
    for await (const entry of ledger.list(options.all === true ? {} : { state: "unknown" }))
      entries.push(entry);
    if (options.json === true) return printJson(entries);
    if (entries.length === 0) print("No effect has an unknown outcome.");
    for (const entry of entries) print(describeEffect(entry));
  });
}

/** One entry in two lines. */
export function describeEffect({ intent, state }: EffectEntry): string {
  const { key, toolName, args, runId, callId, startedAt } = intent;
  const where = runId === undefined ? `call ${callId}` : `call ${callId} of run ${runId}`;
  const what = oneLine(`${key}  ${state}  ${toolName} ${JSON.stringify(args)}`);
  return `${what}
  ${oneLine(where)}, began ${startedAt}`;
}

/** Writes what became of an effect, so that nobody asks again and nothing repeats it. */
export async function settleEffect(key: string, { succeeded, failed }: SettleOptions): Promise<void> {
  const decision = toDecision(succeeded, failed);
  await withHomeStores(dataHome(), async ({ ledger }) => {
    for await (const { intent } of ledger.list({ state: "unknown" })) {
      if (intent.key !== key) continue;
      await ledger.reconcile(intent, decision);
      return print(`${intent.toolName}: ${decision.outcome}.`);
    }
    throw new CommandFailure(`No effect of unknown outcome has the key "${key}".`, EXIT.usage);
  });
}

function toDecision(
  succeeded: string | undefined,
  failed: string | undefined,
): Exclude<ReconcileDecision, { outcome: "still_unknown" }> {
  if ((succeeded === undefined) === (failed === undefined))
    throw new CommandFailure("Say either --succeeded <result> or --failed <reason>.", EXIT.usage);
  return failed === undefined
    ? { outcome: "succeeded", result: parseResult(succeeded ?? "null") }
    : { outcome: "failed", error: failed };
}

function parseResult(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    throw new InputError(`--succeeded takes the result as JSON, such as '{"receipt":"r-17"}' or null.`);
  }
}

/** What the apps keep in the data folder: runs, tickets, effects and conversations, in one SQLite file. */

import { join } from "node:path";
import {
  type ApprovalStore,
  type EffectEntry,
  type EffectLedger,
  type LoopOptions,
  type RunStore,
  type ToolView,
  recoverRuns,
} from "@openfunctions/core";
import { type ConversationMemory, createConversationMemory } from "@openfunctions/memory";
import { openSigner } from "./signing-keys.ts";

/** The stores of one data folder; `close` ends the use of all of them. */
export interface HomeStores {
  readonly runs: RunStore;
  readonly approvals: ApprovalStore;
  readonly ledger: EffectLedger;
  readonly conversations: ConversationMemory;
  /** What a run needs to be kept, sealed and held to its contracts here. */
  readonly loop: Required<Pick<LoopOptions, "store" | "approvals" | "ledger" | "signer">>;
  /** Sets runs right whose process died; gives the effects that only a person can settle. */
  recover(tools?: ToolView): Promise<readonly EffectEntry[]>;
  close(): Promise<void>;
}

/** Opens `openfunctions.db` in the folder and the key of the folder, making them when they are missing. */
export async function openHomeStores(home: string): Promise<HomeStores> {
  // Loaded late: commands that keep nothing need no database.
  const { openSqlite } = await import("@openfunctions/store-sqlite");
  const signer = await openSigner(home);
  const sqlite = await openSqlite({ file: join(home, "openfunctions.db") });
  const runs = sqlite.runStore();
  const ledger = sqlite.ledger();
  const approvals = sqlite.approvals();
  return {
    runs,
    ledger,
    approvals,
    conversations: createConversationMemory({ store: sqlite.store("threads") }),
    loop: { store: runs, ledger, approvals, signer },
    recover: async (tools) => {
      const known = tools === undefined ? {} : { tools };
      return (await recoverRuns(runs, { ledger, signer, ...known })).unknown;
    },
    close: () => sqlite.close(),
  };
}

/** Works with the stores and closes them on every path. */
export async function withHomeStores<T>(home: string, work: (stores: HomeStores) => Promise<T>): Promise<T> {
  const stores = await openHomeStores(home);
  try {
    return await work(stores);
  } finally {
    await stores.close();
  }
}

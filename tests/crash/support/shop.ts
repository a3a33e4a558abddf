/** Everything a program with payments needs, over one SQLite file; opened by the processes and by the test. */

import {
  type ApprovalStore,
  type CallResult,
  type EffectLedger,
  type Lineage,
  type LoopOptions,
  type LoopRun,
  type Recovery,
  type RunStore,
  type ToolRegistry,
  createApprovalStore,
  createEffectLedger,
  recoverRuns,
  resumeRun,
  runCall,
  runLoop,
} from "@openfunctions/core";
import { createSigner } from "@openfunctions/core/records";
import { type ScriptStep, scriptedAdapter } from "@openfunctions/core/testing";
import { openSqlite } from "@openfunctions/store-sqlite";
import { Boundaries, watch } from "./boundaries.ts";
import { createPaymentTools } from "./payment-tools.ts";

/** What a shop is opened with. */
export interface ShopPlace {
  readonly file: string;
  readonly url: string;
  /** PEM of the key that seals its records. */
  readonly privateKey: string;
  readonly patienceMs?: number | undefined;
}

/** One call to make, and the order it is for. */
export interface Charge {
  readonly tool: "charge_keyed" | "charge_once" | "charge_asked" | "transfer";
  readonly order: string;
}

/** A run to make: rounds of charges, those of one round side by side. */
export interface PaymentPlan {
  readonly runId: string;
  readonly lineage: Partial<Omit<Lineage, "depth">>;
  readonly rounds: readonly (readonly Charge[])[];
}

/** An open shop. */
export interface Shop {
  readonly runs: RunStore;
  readonly ledger: EffectLedger;
  readonly approvals: ApprovalStore;
  readonly tools: ToolRegistry;
  pay(plan: PaymentPlan): LoopRun;
  /** One charge without a model, by a tool that cannot hand a key on; `key` is the caller's. */
  call(order: string, key: string): Promise<CallResult>;
  resume(runId: string): Promise<LoopRun>;
  recover(): Promise<Recovery>;
  close(): Promise<void>;
}

/** Opens it; each step of its stores and tools passes a boundary. */
export async function openShop(place: ShopPlace, boundaries: Boundaries = new Boundaries()): Promise<Shop> {
  const { file, url, privateKey, patienceMs } = place;
  const stores = await openSqlite({ file });
  const runs = watch(stores.runStore(), "runs", boundaries);
  const ledger = createEffectLedger(watch(stores.store("effects"), "effects", boundaries));
  const approvals = createApprovalStore(watch(stores.store("approvals"), "approvals", boundaries));
  const tools = createPaymentTools({ url, boundaries, ...(patienceMs === undefined ? {} : { patienceMs }) });
  const signer = createSigner(privateKey);
  const shared = { tools, ledger, approvals, signer, store: runs, system: "Pay what is asked." };
  return {
    runs,
    ledger,
    approvals,
    tools,
    pay: ({ runId, lineage, rounds }) =>
      runLoop({
        ...shared,
        runId,
        lineage,
        adapter: scriptedAdapter(toScript(rounds)),
        capture: "full",
        messages: [{ role: "user", content: "Pay." }],
      } satisfies LoopOptions),
    call: async (order, key) => {
      const options = { store: runs, ledger, idempotencyKey: key, capture: "full" } as const;
      return (await runCall(tools, { name: "charge_once", args: { order } }, options)).result;
    },
    resume: (runId) => resumeRun(runId, { ...shared, adapter: scriptedAdapter([{ text: "Paid." }]) }),
    recover: () => recoverRuns(runs, { ledger, tools, signer }),
    close: () => stores.close(),
  };
}

/** Opens the shop for some work and closes it, on every path. */
export async function inShop<T>(place: ShopPlace, work: (shop: Shop) => Promise<T>): Promise<T> {
  const shop = await openShop(place);
  try {
    return await work(shop);
  } finally {
    await shop.close();
  }
}

function toScript(rounds: PaymentPlan["rounds"]): readonly ScriptStep[] {
  // A model takes its time, so what happened before is stored meanwhile.
  const steps = rounds.map((charges) => ({
    delayMs: 1,
    toolCalls: charges.map(({ tool, order }) => ({ name: tool, args: { order } })),
  }));
  return [...steps, { delayMs: 1, text: "Paid." }];
}

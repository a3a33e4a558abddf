/**
 * `node shop-program.ts <job>`: one process of the shop. Does its job and prints one line of JSON: what came of it, and
 * the boundaries it passed. With `wait` it prints `ready` first and begins when its input says so.
 */

import { once } from "node:events";
import { type LoopRun, OpenFunctionsError } from "@openfunctions/core";
import { Boundaries } from "./boundaries.ts";
import { type PaymentPlan, type Shop, type ShopPlace, openShop } from "./shop.ts";

/** What a process is to do. */
export type ShopJob =
  /** As many runs at a time as `lanes` says; by default one. */
  | { readonly do: "pay"; readonly plans: readonly PaymentPlan[]; readonly lanes?: number }
  | { readonly do: "call"; readonly order: string; readonly key: string }
  | { readonly do: "recover" }
  | { readonly do: "approve"; readonly ticketId: string; readonly by: string }
  | { readonly do: "resume"; readonly runId: string };

/** One process: where, what, and at which boundary it is to die. */
export interface ShopOrder {
  readonly place: ShopPlace;
  readonly job: ShopJob;
  readonly killAt?: number | string;
  readonly wait?: boolean;
}

const order: ShopOrder = JSON.parse(process.argv[2] ?? "");
if (order.wait === true) {
  process.stdout.write("ready\n");
  await once(process.stdin, "data");
  process.stdin.destroy();
}
const boundaries = new Boundaries(order.killAt);
const shop = await openShop(order.place, boundaries);
const answer = await work(shop, order.job).catch((error: unknown) => {
  if (!OpenFunctionsError.is(error)) throw error;
  return error.code;
});
await shop.close();
process.stdout.write(`${JSON.stringify({ answer, passed: boundaries.passed })}\n`);

async function work({ approvals, call, recover, pay, resume }: Shop, job: ShopJob): Promise<string> {
  switch (job.do) {
    case "pay": {
      const left = [...job.plans];
      let last = "";
      const lane = async (): Promise<void> => {
        for (let plan = left.shift(); plan !== undefined; plan = left.shift())
          last = await statusOf(pay(plan));
      };
      await Promise.all(Array.from({ length: job.lanes ?? 1 }, lane));
      return last;
    }
    case "call":
      return (await call(job.order, job.key)).outcome;
    case "recover": {
      const { failed, suspended, unknown } = await recover();
      return `${failed.length} ${suspended.length} ${unknown.length}`;
    }
    case "approve": {
      const by = { kind: "human", id: job.by, via: "local" } as const;
      return (await approvals.resolve(job.ticketId, { decision: "approved", by, owner: "local" })).state;
    }
    case "resume":
      return statusOf(await resume(job.runId));
  }
}

async function statusOf(run: LoopRun): Promise<string> {
  const { status, error } = await run.result;
  return error === undefined ? status : `${status} ${error.code}`;
}

/** A process killed at every step of a run with effects: no effect twice, none lost, whatever is unknown is told. */

import { randomUUID } from "node:crypto";
import { type RunRecord, RecordError } from "@openfunctions/core";
import { checkRetry } from "@openfunctions/core/records";
import { describe, expect, it } from "vitest";
import { checkBooks, entriesOf, orderIn, orderOf, settleByHand, paidOrders } from "./support/books.ts";
import { type World, type WorldOptions, forEachTwo, inWorld, sample } from "./support/processes.ts";
import { killedAt, stepsOf } from "./support/steps.ts";
import type { ShopJob } from "./support/shop-program.ts";
import { type PaymentPlan, type Shop, inShop } from "./support/shop.ts";

const PLAN = {
  runId: "first",
  lineage: { taskId: "month-end" },
  rounds: [
    [{ tool: "charge_keyed", order: "A" }],
    [{ tool: "charge_once", order: "B" }],
    [
      { tool: "charge_asked", order: "C" },
      { tool: "charge_keyed", order: "D" },
    ],
  ],
} as const satisfies PaymentPlan;
const PAY: ShopJob = { do: "pay", plans: [PLAN] };
const CHARGES = PLAN.rounds.flat();
const ORDERS = CHARGES.map(({ order }) => order);

const SERVICES: readonly (readonly [string, WorldOptions])[] = [
  ["answers", {}],
  ["takes what it is sent and never answers", { manner: () => "silent", patienceMs: 40 }],
];

describe("killed at a step", () => {
  it.each(SERVICES)(
    "runs L10, Z35: of payments to a service that %s: every effect happens once and is accounted for",
    async (_, options) => {
      const steps = await stepsOf((world) => world.run(PAY), options);
      expect(steps.length).toBeGreaterThan(45);
      const pay = (n: number) => async (world: World) => {
        await world.run(PAY, n);
        await payTheRest(world);
      };
      await forEachTwo(sample(steps, 6), ({ n, name }) => killedAt(name, pay(n), options));
    },
    240_000,
  );

  it("of a direct call with a key of the caller: it is not sent again until a person decides", async () => {
    const call: ShopJob = { do: "call", order: "B", key: "order-17" };
    const steps = await stepsOf((world) => world.run(call));
    await forEachTwo(sample(steps, 4), ({ n, name }) =>
      killedAt(name, async (world) => {
        await world.run(call, n);
        const { requests } = world.service;
        const sent = requests.length;
        await inShop(world.place, async (shop) => {
          const { entries } = await checkBooks(world, shop);
          const again = await shop.call("B", "order-17");
          expect(again.outcome).toBe(entries[0]?.state === "unknown" ? "unknown" : "succeeded");
          if (again.outcome === "unknown") expect(requests).toHaveLength(sent);
          await settleByHand(world, shop);
          expect((await shop.call("B", "order-17")).outcome).toBe("succeeded");
          expect(requests).toHaveLength(1);
          await checkBooks(world, shop);
        });
      }),
    );
  }, 240_000);

  it("of the recovery after a kill while something was paid: another recovery finds the same", async () => {
    const steps = await stepsOf(async (world) => {
      await killWhile(world, "inside charge C");
      return world.run({ do: "recover" });
    });
    const cases = steps.flatMap(({ n, name }) => ORDERS.map((order) => ({ n, name, order })));
    await forEachTwo(sample(cases, 5), ({ n, name, order }) =>
      killedAt(`${name}, while ${order} was paid`, async (world) => {
        await killWhile(world, `inside charge ${order}`);
        // Where there is less to recover there are fewer steps.
        await world.run({ do: "recover" }, n);
        await payTheRest(world);
      }),
    );
  }, 240_000);

  it("of the second attempt, with the first unknown: the key still has one effect", async () => {
    const again: ShopJob = { do: "pay", plans: [{ ...PLAN, runId: "second" }] };
    const steps = await stepsOf(async (world) => {
      await killWhile(world, "inside charge A");
      return world.run(again);
    });
    await forEachTwo(sample(steps, 3), ({ n, name }) =>
      killedAt(name, async (world) => {
        await killWhile(world, "inside charge A");
        // Not even recovered: whoever starts next finds the keys in the ledger.
        await world.run(again, n);
        await payTheRest(world);
      }),
    );
  }, 240_000);

  it("of a run for which two processes recover at the same moment: both see the same, neither fails", async () => {
    await forEachTwo(sample([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 2), () =>
      inWorld(async (world) => {
        await killWhile(world, "inside charge B");
        const both = [1, 2].map(() => world.start({ do: "recover" }, { wait: true }));
        await Promise.all(both.map(({ ready }) => ready));
        for (const { go } of both) go();
        const ends = await Promise.all(both.map(({ end }) => end));
        // Failed, suspended, unknown: one of them ended the run; both tell of the payment.
        expect(ends.map(({ answer = "" }) => answer).sort()).toEqual(["0 0 1", "1 0 1"]);
        await payTheRest(world);
      }),
    );
  }, 240_000);
});

/** Kills the first attempt at a step of this name. */
async function killWhile(world: World, step: string): Promise<void> {
  expect((await world.run(PAY, step)).killed).toBe(true);
}

/** Recovers, and tries again until all is paid, with a person's word where only a person can know. */
async function payTheRest(world: World): Promise<void> {
  world.service.behave(() => ({ delayMs: 0 }));
  await inShop({ ...world.place, patienceMs: undefined }, async (shop) => {
    const { records } = await checkBooks(world, shop);
    const last = records[0];
    const lineage = last === undefined ? PLAN.lineage : await retryLineage(world, shop, last);
    const paid = await paidOrders(shop);
    // What has a key is simply asked for again, the rest only where it is not known to be paid.
    const rest = CHARGES.filter(({ tool, order }) => tool === "charge_keyed" || !paid.has(order));
    const rounds = rest.map((charge) => [charge]);
    const { record } = await shop.pay({ runId: randomUUID(), lineage, rounds }).result;
    expect(record.toolCalls.map(({ outcome }) => outcome)).toEqual(rest.map(() => "succeeded"));
    expect(ORDERS.map((order) => world.service.chargesOf(order))).toEqual(ORDERS.map(() => 1));
    await settleByHand(world, shop);
    const { entries } = await checkBooks(world, shop);
    expect(entries.every(({ state }) => state === "done")).toBe(true);
  });
}

/** A retry is refused exactly where a charge that must not be repeated is unknown; then a person settles it. */
async function retryLineage(world: World, shop: Shop, record: RunRecord): Promise<PaymentPlan["lineage"]> {
  const { tools } = shop;
  const unknown = record.toolCalls
    .filter(({ toolName, outcome }) => toolName !== "charge_keyed" && outcome === "unknown")
    .map(orderOf);
  if (unknown.length === 0) return checkRetry(record, { tools });
  expect(() => checkRetry(record, { tools })).toThrow(RecordError);
  // Of a run that ended by itself the record stays as it is; what C came to, its tool told the ledger.
  expect(record.status === "failed" ? ["B"] : ["B", "C"]).toEqual(unknown);
  const left = (await entriesOf(shop)).filter(({ state }) => state === "unknown");
  expect(left.map(({ intent }) => orderIn(intent.args))).toContain("B");
  expect(left.map(({ intent }) => orderIn(intent.args))).not.toContain("C");
  await settleByHand(world, shop);
  return checkRetry(record, { tools, force: { reason: "A person looked at the service." } });
}

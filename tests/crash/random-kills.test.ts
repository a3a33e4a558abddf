/** Processes that pay many orders over a slow, sometimes silent service, killed from outside at any time. */

import { setTimeout as sleep } from "node:timers/promises";
import { checkRetry } from "@openfunctions/core/records";
import { describe, expect, it } from "vitest";
import { checkBooks, entriesOf, orderIn, paidOrders, settleByHand } from "./support/books.ts";
import { type World, forEachTwo, inWorld, sample } from "./support/processes.ts";
import { type Charge, type PaymentPlan, type Shop, inShop } from "./support/shop.ts";

const TASKS = Array.from({ length: 16 }, (_, n) => `task-${n}`);
const SEEDS = [11, 12, 13, 14, 15, 16, 17, 18, 19, 20];
const KILLS = 8;
const LANES = 3;
/** How long a tool waits for a service that is silent. */
const PATIENCE_MS = 60;

describe("killed from outside at any time", () => {
  it("every order of many is paid once, whatever was unknown on the way", async () => {
    await forEachTwo(sample(SEEDS, 2), (seed) => {
      const random = randomOf(seed);
      const manner = () => (random() < 0.1 ? "silent" : { delayMs: random() < 0.5 ? 0 : random() * 20 });
      return inWorld((world) => payAll(world, random), { manner, patienceMs: PATIENCE_MS });
    });
  }, 300_000);
});

async function payAll(world: World, random: () => number): Promise<void> {
  let attempt = 0;
  const next = () => (attempt += 1);
  for (let kill = 0; kill < KILLS; kill += 1) {
    const plans = await inShop(world.place, (shop) => plansOf(shop, next()));
    const worker = world.start({ do: "pay", plans, lanes: LANES }, { wait: true });
    await worker.ready;
    worker.go();
    await sleep(20 + random() * 200);
    worker.child.kill("SIGKILL");
    await worker.end;
    await world.service.settled();
    await inShop(world.place, (shop) => checkBooks(world, shop));
  }
  await inShop(world.place, async (shop) => {
    // Even unkilled, a silent service leaves things unknown; each time a person settles them, and the rest is paid.
    for (let open = true; open;) {
      for (const plan of await plansOf(shop, next())) await shop.pay(plan).result;
      await world.service.settled();
      await settleByHand(world, shop);
      await checkBooks(world, shop);
      open = (await plansOf(shop, next())).length > 0;
    }
    const orders = TASKS.flatMap(chargesOf).map(({ order }) => order);
    expect(orders.filter((order) => world.service.chargesOf(order) !== 1)).toEqual([]);
    expect((await entriesOf(shop)).filter(({ state }) => state !== "done")).toEqual([]);
  });
}

/** The next attempts: of every task that is not known to be paid and waits for no person. */
async function plansOf(shop: Shop, attempt: number): Promise<readonly PaymentPlan[]> {
  const paid = await paidOrders(shop);
  const unknown = new Set<string>();
  for (const { state, intent } of await entriesOf(shop))
    if (state === "unknown" && intent.toolName !== "charge_keyed") unknown.add(orderIn(intent.args));
  const plans: PaymentPlan[] = [];
  for (const taskId of TASKS) {
    const charges = chargesOf(taskId);
    const rest = charges.filter(({ order }) => !paid.has(order));
    if (rest.length === 0 || rest.some(({ order }) => unknown.has(order))) continue;
    const rounds = charges.filter(({ tool, order }) => tool === "charge_keyed" || !paid.has(order));
    const lineage = await lineageOf(shop, taskId);
    plans.push({ runId: `${taskId}-${attempt}`, lineage, rounds: rounds.map((charge) => [charge]) });
  }
  return plans;
}

function chargesOf(taskId: string): readonly Charge[] {
  return [
    { tool: "charge_keyed", order: `${taskId}-keyed` },
    { tool: "charge_once", order: `${taskId}-once` },
    { tool: "charge_asked", order: `${taskId}-asked` },
  ];
}

async function lineageOf(shop: Shop, taskId: string): Promise<PaymentPlan["lineage"]> {
  const [last] = (await shop.runs.list({ taskId, limit: 1 })).runs;
  if (last === undefined) return { taskId };
  // What its record leaves unknown, the ledger knows by now: see the caller.
  return checkRetry(last, { tools: shop.tools, force: { reason: "The ledger has settled it." } });
}

/** The same numbers for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

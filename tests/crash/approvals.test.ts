/** Approvals over several processes: what a person allowed happens once, whoever dies or comes at the same moment. */

import { type ApprovalTicket, type RunRecord } from "@openfunctions/core";
import { describe, expect, it } from "vitest";
import { checkBooks, orderOf } from "./support/books.ts";
import { type World, forEachTwo, inWorld, sample } from "./support/processes.ts";
import { type PaymentPlan, type Shop, inShop } from "./support/shop.ts";
import type { ShopJob } from "./support/shop-program.ts";
import { killedAt, stepsOf } from "./support/steps.ts";

const PLAN = {
  runId: "asks",
  lineage: { taskId: "rent" },
  rounds: [
    [
      { tool: "transfer", order: "T" },
      { tool: "charge_keyed", order: "K" },
    ],
  ],
} as const satisfies PaymentPlan;
const ASK: ShopJob = { do: "pay", plans: [PLAN] };
const RESUME: ShopJob = { do: "resume", runId: PLAN.runId };
const TIMES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

describe("a run that asks a person", () => {
  it("runs Z38: killed at a step of asking, is suspended with its ticket open, or failed with nothing done", async () => {
    const steps = await stepsOf((world) => world.run(ASK));
    const ends = new Set<string>();
    await forEachTwo(sample(steps, 4), ({ n, name }) =>
      killedAt(name, async (world) => {
        await world.run(ASK, n);
        await inShop(world.place, async (shop) => {
          await checkBooks(world, shop);
          expect(world.service.chargesOf("T")).toBe(0);
          const record = await shop.runs.get(PLAN.runId);
          ends.add(record?.status ?? "not begun");
          if (record?.status !== "suspended") return;
          await approve(world, await openTicket(shop));
          expect((await world.run(RESUME)).answer).toBe("completed");
          await checkBooks(world, shop);
          expect(["T", "K"].map((order) => world.service.chargesOf(order))).toEqual([1, 1]);
        });
      }),
    );
    expect(ends).toContain("suspended");
  }, 240_000);

  it("killed at a step of answering, is answered or not, and then exactly once", async () => {
    const answer = async (world: World, killAt?: number) =>
      world.run({ do: "approve", ticketId: (await ask(world)).ticketId, by: "ann" }, killAt);
    const steps = await stepsOf(answer);
    await forEachTwo(sample(steps, 2), ({ n, name }) =>
      killedAt(name, async (world) => {
        expect((await answer(world, n)).killed).toBe(true);
        await inShop(world.place, async (shop) => {
          const [ticket] = await shop.approvals.list();
          expect(["pending", "approved"]).toContain(ticket?.state);
          if (ticket?.state === "pending") await approve(world, ticket);
        });
        expect((await world.run(RESUME)).answer).toBe("completed");
        expect(world.service.chargesOf("T")).toBe(1);
      }),
    );
  }, 240_000);

  it("killed at a step of its resumption, does the approved call once or not at all, and says which", async () => {
    const steps = await stepsOf(async (world) => {
      await approve(world, await ask(world));
      return world.run(RESUME);
    });
    const outcomes = new Set<string>();
    await forEachTwo(sample(steps, 5), ({ n, name }) =>
      killedAt(name, async (world) => {
        await approve(world, await ask(world));
        await world.run(RESUME, n);
        await inShop(world.place, async (shop) => {
          await checkBooks(world, shop);
          const { status } = await recordOf(shop);
          if (status === "suspended") expect((await world.run(RESUME)).answer).toBe("completed");
          await checkBooks(world, shop);
          const record = await recordOf(shop);
          const call = record.toolCalls.find((one) => orderOf(one) === "T");
          const happened = world.service.chargesOf("T");
          outcomes.add(`${call?.outcome} ${happened}`);
          if (happened === 1) expect((await shop.approvals.list())[0]?.state).toBe("consumed");
          // Once more changes nothing: the run has ended and its ticket is used up, or lets only a suspended run go on.
          expect((await world.run(RESUME)).answer).toBe("record_invalid");
          expect(world.service.chargesOf("T")).toBe(happened);
        });
      }),
    );
    const truths = ["succeeded 1", "unknown 1", "unknown 0", "not_started 0"];
    expect([...outcomes].filter((outcome) => !truths.includes(outcome))).toEqual([]);
    expect(outcomes).toContain("succeeded 1");
  }, 240_000);
});

describe("at the same moment", () => {
  it("two answers: one is taken, the other told so; two resumptions: one goes on, and the call runs once", async () => {
    await forEachTwo(sample(TIMES, 2), () =>
      inWorld(async (world) => {
        const { ticketId } = await ask(world);
        const answers = await together(world, [
          { do: "approve", ticketId, by: "ann" },
          { do: "approve", ticketId, by: "bob" },
        ]);
        expect(answers.toSorted()).toEqual(["approval_used", "approved"]);
        const [first, second] = (await together(world, [RESUME, RESUME])).toSorted();
        // Late, it finds the run no longer suspended; else it lost the log to the other.
        expect([first, ["failed store_conflict", "record_invalid"].includes(second ?? "")]).toEqual([
          "completed",
          true,
        ]);
        expect(["T", "K"].map((order) => world.service.chargesOf(order))).toEqual([1, 1]);
        await inShop(world.place, async (shop) => {
          await checkBooks(world, shop);
          expect((await recordOf(shop)).status).toBe("completed");
        });
      }),
    );
  }, 240_000);

  it("an answer and a resumption: the run goes on, or waits until it is resumed again", async () => {
    await forEachTwo(sample(TIMES, 1), () =>
      inWorld(async (world) => {
        const { ticketId } = await ask(world);
        const [answer, resumed] = await together(world, [{ do: "approve", ticketId, by: "ann" }, RESUME]);
        expect(answer).toBe("approved");
        expect(["completed", "suspended"]).toContain(resumed);
        if (resumed === "suspended") expect((await world.run(RESUME)).answer).toBe("completed");
        expect(world.service.chargesOf("T")).toBe(1);
      }),
    );
  }, 240_000);
});

/** Suspends a run in a process of its own; gives the open ticket. */
async function ask(world: World): Promise<ApprovalTicket> {
  expect((await world.run(ASK)).answer).toBe("suspended");
  return inShop(world.place, openTicket);
}

async function approve(world: World, { ticketId }: ApprovalTicket): Promise<void> {
  const by = { kind: "human", id: "ann", via: "local" } as const;
  await inShop(world.place, ({ approvals }) =>
    approvals.resolve(ticketId, { decision: "approved", by, owner: "local" }),
  );
}

async function openTicket({ approvals }: Shop): Promise<ApprovalTicket> {
  const [ticket, ...others] = await approvals.list({ state: "pending" });
  expect(others).toEqual([]);
  if (ticket === undefined) throw new Error("There is no open ticket.");
  return ticket;
}

async function recordOf({ runs }: Shop): Promise<RunRecord> {
  const record = await runs.get(PLAN.runId);
  if (record === undefined) throw new Error("There is no record.");
  return record;
}

/** Starts a process for each job and lets them begin at once; what each came to. */
async function together(world: World, jobs: readonly ShopJob[]): Promise<readonly string[]> {
  const started = jobs.map((job) => world.start(job, { wait: true }));
  await Promise.all(started.map(({ ready }) => ready));
  for (const { go } of started) go();
  const ends = await Promise.all(started.map(({ end }) => end));
  await world.service.settled();
  return ends.map(({ answer = "" }) => answer);
}

/** Approval tickets and suspended runs: what a person allowed, exactly that runs, exactly once. */

import { describe, expect, it } from "vitest";
import type { ModelRequest } from "./adapter.ts";
import {
  type ApprovalStore,
  type ApprovalTicket,
  type TicketAnswer,
  createApprovalStore,
} from "./approval-store.ts";
import type { PolicyPort } from "./authority.ts";
import type { CapabilityContract } from "./contract.ts";
import { createEffectLedger } from "./effect-ledger.ts";
import type { Json } from "./json.ts";
import { userMessage } from "./message.ts";
import { type Ports, createPorts } from "./ports.ts";
import type { Principal } from "./principal.ts";
import { recoverRuns } from "./recover-runs.ts";
import { replayRun } from "./replay-run.ts";
import { resolveApproval } from "./resolve-approval.ts";
import { resumeRun } from "./resume-run.ts";
import { ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import { type RunStore, createMemoryRunStore } from "./run-store.ts";
import { recordLacks, runLoop } from "./__fixtures__/replayed-loop.ts";
import type { LoopOptions } from "./run-options.ts";
import { type Store, createMemoryStore } from "./store.ts";
import { fakeClock } from "./testing/fakes.ts";
import { type ScriptStep, scriptedAdapter } from "./testing/scripted-adapter.ts";

const ann: Principal = { kind: "human", id: "ann", via: "local" };
const human: CapabilityContract = {
  version: "1",
  authority: { level: "human" },
  effects: { kind: "destructive" },
  idempotency: { mode: "none" },
};

interface World {
  readonly approvals: ApprovalStore;
  readonly store: RunStore;
  readonly data: Store<Json>;
  readonly clock: ReturnType<typeof fakeClock>;
  readonly deleted: unknown[];
}

function world(): World {
  const clock = fakeClock();
  const data = createMemoryStore<Json>();
  return {
    approvals: createApprovalStore(data, { clock }),
    store: createMemoryRunStore(),
    data,
    clock,
    deleted: [],
  };
}

/** What a fresh process would build: its own registry over the same stores. */
function registry(
  { approvals, data, clock, deleted }: World,
  contract: CapabilityContract = human,
  policy?: PolicyPort,
): ToolRegistry {
  const tools = new ToolRegistry({
    approvals,
    ledger: createEffectLedger(data, { clock }),
    ports: createPorts({ clock }),
    ...(policy === undefined ? {} : { policy }),
  });
  tools.register({
    name: "delete_file",
    description: "Deletes a file.",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    contract,
    handler: ({ path }) => (deleted.push(path), ok({ deleted: path })),
  });
  tools.register({
    name: "look",
    description: "Looks around.",
    inputSchema: { type: "object", properties: {} },
    contract: "read",
    handler: () => ok("seen"),
  });
  return tools;
}

const remove = (path: string) => ({ name: "delete_file", args: { path } });

function start(place: World, script: readonly ScriptStep[], options: Partial<LoopOptions> = {}) {
  const adapter = scriptedAdapter(script);
  const loop = {
    tools: registry(place),
    store: place.store,
    capture: "full" as const,
    system: "Be careful.",
    ports: { clock: place.clock },
    ...options,
  };
  return { adapter, run: runLoop({ adapter, messages: [userMessage("tidy up")], ...loop }) };
}

function resume(
  place: World,
  runId: string,
  script: readonly ScriptStep[],
  options: Partial<LoopOptions> = {},
) {
  const { approvals, store, clock } = place;
  return resumeRun(runId, {
    adapter: scriptedAdapter(script),
    tools: registry(place),
    system: "Be careful.",
    ports: { clock },
    ...options,
    store,
    approvals,
  });
}

async function asked(
  place: World,
  calls = [remove("a.txt")],
): Promise<{ readonly runId: string; readonly tickets: readonly ApprovalTicket[] }> {
  const { run } = start(place, [{ text: "I will.", toolCalls: calls }]);
  const { status, runId } = await run.result;
  expect(status).toBe("suspended");
  return { runId, tickets: await place.approvals.list() };
}

const yes: TicketAnswer = { decision: "approved", by: ann, owner: "local" };

describe("approvals", () => {
  it("core R13: a destructive call without grant or ticket waits, with a ticket id, and its handler is not called", async () => {
    const place = world();
    const { run } = start(place, [{ toolCalls: [remove("a.txt")] }]);
    const { status, stopReason, pending, record, text } = await run.result;
    const [ticket] = await place.approvals.list();
    expect([status, stopReason, text]).toEqual(["suspended", "approval_required", ""]);
    expect(pending).toEqual([{ callId: "call_0_0", ticketId: ticket?.ticketId }]);
    expect(record.toolCalls[0]).toMatchObject({
      outcome: "not_started",
      authority: { decision: "pending", ticketId: ticket?.ticketId },
    });
    expect(ticket).toMatchObject({
      state: "pending",
      args: { path: "a.txt" },
      toolName: "delete_file",
      owner: "local",
    });
    expect(place.deleted).toEqual([]);
  });

  it("runs the approved call once, after a restart, with the results in the order asked for", async () => {
    const place = world();
    const { run } = start(place, [{ toolCalls: [remove("a.txt"), { name: "look" }] }]);
    const { runId, record } = await run.result;
    expect(record.toolCalls.map(({ outcome }) => outcome)).toEqual(["not_started", "succeeded"]);
    const [ticket] = await place.approvals.list();
    await place.approvals.resolve(ticket?.ticketId ?? "", yes);
    const resumed = await resume(place, runId, [
      (request) => ({ text: JSON.stringify(request.messages.at(-1)?.content) }),
    ]);
    const result = await resumed.result;
    expect(result.status).toBe("completed");
    expect(JSON.parse(result.text).map((part: { result: string }) => part.result)).toEqual([
      '{"deleted":"a.txt"}',
      "seen",
    ]);
    expect(place.deleted).toEqual(["a.txt"]);
    expect(result.record.toolCalls[0]).toMatchObject({
      outcome: "succeeded",
      authority: { decision: "granted" },
    });
    await expect(resume(place, runId, [])).rejects.toThrow("completed");
    const events = await all(place.store.read(runId));
    expect(await replayRun(events)).toMatchObject({ complete: true, events: events.length });
    expect((await place.approvals.get(ticket?.ticketId ?? ""))?.state).toBe("consumed");
  });

  it("field D1: stays suspended while one of several tickets is open, and never mixes them up", async () => {
    const place = world();
    const { runId, tickets } = await asked(place, [remove("a.txt"), remove("b.txt")]);
    const ofB = tickets.find((ticket) => ticket.args["path"] === "b.txt");
    await place.approvals.resolve(ofB?.ticketId ?? "", yes);
    const early = await resume(place, runId, []);
    expect((await early.result).status).toBe("suspended");
    expect(place.deleted).toEqual([]);
    const ofA = tickets.find((ticket) => ticket.args["path"] === "a.txt");
    await place.approvals.resolve(ofA?.ticketId ?? "", { ...yes, decision: "denied", reason: "I need it" });
    const { result } = await resume(place, runId, [{ text: "done" }]);
    const { messages } = await result;
    expect(place.deleted).toEqual(["b.txt"]);
    expect(JSON.stringify(messages)).toContain("I need it");
  });

  it("goes on with the settings and the revealed tools it was started with, and replays", async () => {
    const place = world();
    const tools = registry(place);
    tools.register(
      {
        name: "gem",
        description: "A rare gem.",
        inputSchema: { type: "object", properties: {} },
        contract: "read",
        handler: () => ok("gem"),
      },
      { deferred: true },
    );
    const settings = {
      toolChoice: "auto",
      parallelToolCalls: false,
      maxOutputTokens: 99,
      sampling: { temperature: 0 },
      reasoning: "low",
    } as const;
    const script = [
      { toolCalls: [{ name: "tools_search", args: { query: "gem" } }] },
      { toolCalls: [remove("a.txt")] },
    ];
    const { run } = start(place, script, { tools, ...settings });
    const { runId } = await run.result;
    const [ticket] = await place.approvals.list();
    await place.approvals.resolve(ticket?.ticketId ?? "", yes);
    const seen: ModelRequest[] = [];
    const step: ScriptStep = (request) => (seen.push(request), { text: "done" });
    await (
      await resume(place, runId, [step], { tools })
    ).result;
    expect(seen[0]).toMatchObject(settings);
    expect(seen[0]?.tools?.map(({ name }) => name)).toContain("gem");
    const events = await all(place.store.read(runId));
    expect(await replayRun(events)).toMatchObject({ complete: true, events: events.length });
  });

  it("ends as cancelled where a denial is to stop the run", async () => {
    const place = world();
    const { runId, tickets } = await asked(place);
    await place.approvals.resolve(tickets[0]?.ticketId ?? "", { ...yes, decision: "denied" });
    const { result } = await resume(place, runId, [], { onDenied: "stop" });
    expect(await result).toMatchObject({ status: "cancelled", stopReason: "approval_denied" });
    expect(place.deleted).toEqual([]);
  });

  it("runs Z37: edited arguments make a new ticket that runs; the old one is superseded and refuses", async () => {
    const place = world();
    const { runId, tickets } = await asked(place);
    const old = tickets[0]?.ticketId ?? "";
    const doors = { approvals: place.approvals, tools: registry(place) };
    const edited = await resolveApproval(doors, old, { ...yes, editedArgs: { path: "b.txt" } });
    expect(edited).toMatchObject({ state: "approved", editedFrom: old, args: { path: "b.txt" } });
    expect(edited.callDigest).not.toBe(tickets[0]?.callDigest);
    const bob: Principal = { kind: "human", id: "bob", via: "network" };
    await expect(place.approvals.resolve(old, { ...yes, by: bob })).rejects.toMatchObject({
      code: "approval_used",
    });
    const { result } = await resume(place, runId, [{ text: "done" }]);
    const { record } = await result;
    expect(place.deleted).toEqual(["b.txt"]);
    expect(record.toolCalls[0]).toMatchObject({ argsOrigin: "edited", outcome: "succeeded" });
  });

  it("refuses edited arguments that the tool would not take, and leaves the ticket open", async () => {
    const place = world();
    const { tickets } = await asked(place);
    const doors = { approvals: place.approvals, tools: registry(place) };
    const id = tickets[0]?.ticketId ?? "";
    await expect(resolveApproval(doors, id, { ...yes, editedArgs: { path: 7 } })).rejects.toThrow("path");
    expect((await place.approvals.get(id))?.state).toBe("pending");
  });

  it("runs Z38: killed right after the question was written, the ticket is still open and the run suspended", async () => {
    const place = world();
    const { runId } = await asked(place);
    const whole = createMemoryRunStore();
    for await (const event of place.store.read(runId)) {
      if (event.type === "run.suspended") break;
      const dead = event.type !== "run.started" ? event : asDead(event);
      await whole.append(runId, [dead], { expectedSeq: event.seq });
    }
    const recovery = await recoverRuns(whole, { ports: { clock: place.clock } });
    expect(recovery.suspended).toEqual([runId]);
    expect(await whole.get(runId)).toMatchObject({ status: "suspended", pending: [{ callId: "call_0_0" }] });
    expect((await place.approvals.list())[0]?.state).toBe("pending");
    expect(await recoverRuns(whole)).toEqual({ failed: [], suspended: [], unknown: [] });
  });
});

describe("approval attacks: none executes", () => {
  const outcomes: readonly (readonly [
    string,
    (place: World, runId: string, id: string) => Promise<unknown>,
  ])[] = [
    [
      "a forged id",
      async ({ approvals }) => approvals.resolve("apr_00000000000000000000000000000000-0", yes),
    ],
    ["an id with a path in it", async ({ approvals }) => approvals.resolve("apr_../../x-0", yes)],
    [
      "another owner's ticket",
      async ({ approvals }, _, id) => approvals.resolve(id, { ...yes, owner: "mallory" }),
    ],
    [
      "an agent as the approver",
      async ({ approvals }, _, id) =>
        approvals.resolve(id, { ...yes, by: { kind: "agent", id: "x", via: "local" } }),
    ],
    [
      "an anonymous approver",
      async ({ approvals }, _, id) =>
        approvals.resolve(id, { ...yes, by: { kind: "anonymous", id: "x", via: "network" } }),
    ],
    [
      "an expired ticket",
      async ({ approvals, clock }, _, id) => (clock.advance(3_600_001), approvals.resolve(id, yes)),
    ],
    [
      "a second answer after a denial",
      async ({ approvals }, _, id) => {
        await approvals.resolve(id, { ...yes, decision: "denied" });
        return approvals.resolve(id, yes);
      },
    ],
  ];
  it.each(outcomes)("%s", async (_, attack) => {
    const place = world();
    const { runId, tickets } = await asked(place);
    await expect(attack(place, runId, tickets[0]?.ticketId ?? "")).rejects.toMatchObject({
      fault: "authority",
    });
    const resumed = await resume(place, runId, [{ text: "done" }]);
    await resumed.result;
    expect(place.deleted).toEqual([]);
  });

  it("an approval that expired before it was used", async () => {
    const place = world();
    const { runId, tickets } = await asked(place);
    await place.approvals.resolve(tickets[0]?.ticketId ?? "", yes);
    place.clock.advance(3_600_001);
    const { result } = await resume(place, runId, [{ text: "done" }]);
    expect((await result).record.toolCalls[0]).toMatchObject({
      code: "approval_expired",
      outcome: "not_started",
    });
    expect(place.deleted).toEqual([]);
  });

  it("a replayed approval: a consumed ticket lets nothing run again", async () => {
    const place = world();
    const { runId, tickets } = await asked(place);
    const ticket = await place.approvals.resolve(tickets[0]?.ticketId ?? "", yes);
    const call = { ...ticket, runId };
    await place.approvals.consume(ticket.ticketId, call);
    await expect(place.approvals.consume(ticket.ticketId, call)).rejects.toMatchObject({
      code: "approval_used",
    });
    const { result } = await resume(place, runId, [{ text: "done" }]);
    expect((await result).record.toolCalls[0]).toMatchObject({ code: "approval_used" });
    expect(place.deleted).toEqual([]);
  });

  it.each([
    ["arguments", { args: { path: "b.txt" } }],
    ["run", { runId: "other" }],
    ["principal", { principal: { kind: "human", id: "mallory", via: "network" } }],
    ["tool", { toolDigest: "sha256:0" }],
    ["contract", { contractVersion: "2" }],
  ] as const)("an approval for another %s is a mismatch and stays unused", async (_, change) => {
    const place = world();
    const { tickets } = await asked(place);
    const ticket = await place.approvals.resolve(tickets[0]?.ticketId ?? "", yes);
    await expect(place.approvals.consume(ticket.ticketId, { ...ticket, ...change })).rejects.toMatchObject({
      code: "approval_mismatch",
    });
    expect((await place.approvals.get(ticket.ticketId))?.state).toBe("approved");
  });

  it("a tool whose contract changed since: the run does not resume, and with drift allowed the ticket does not fit", async () => {
    const place = world();
    const { runId, tickets } = await asked(place);
    await place.approvals.resolve(tickets[0]?.ticketId ?? "", yes);
    const tools = registry(place, { ...human, version: "2" });
    await expect(resume(place, runId, [], { tools })).rejects.toMatchObject({
      code: "resume_mismatch",
      details: { drift: ["tools"] },
    });
    const resumed = await resumeRun(runId, {
      adapter: scriptedAdapter([{ text: "done" }]),
      tools,
      system: "Be careful.",
      store: place.store,
      approvals: place.approvals,
      ports: { clock: place.clock },
      allowDrift: true,
    });
    const { record } = await resumed.result;
    expect(record.toolCalls[0]).toMatchObject({ code: "approval_mismatch" });
    expect(place.deleted).toEqual([]);
  });

  it("a denied call stays denied when the gate is open by then", async () => {
    const granting: CapabilityContract = { ...human, authority: { level: "grant" } };
    const place = world();
    const { run } = start(place, [{ toolCalls: [remove("a.txt")] }], { tools: registry(place, granting) });
    const { runId } = await run.result;
    const [ticket] = await place.approvals.list();
    await place.approvals.resolve(ticket?.ticketId ?? "", { ...yes, decision: "denied" });
    const grants = [{ ref: "g", scopes: ["tool:delete_file"], grantedBy: ann }];
    const resumed = await resume(place, runId, [{ text: "done" }], {
      grants,
      tools: registry(place, granting),
    });
    expect((await resumed.result).record.toolCalls[0]).toMatchObject({ code: "not_permitted" });
    expect(place.deleted).toEqual([]);
  });

  it("an edited call runs as edited when the gate is open by then", async () => {
    const granting: CapabilityContract = { ...human, authority: { level: "grant" } };
    const place = world();
    const tools = registry(place, granting);
    const { run } = start(place, [{ toolCalls: [remove("a.txt")] }], { tools });
    const { runId } = await run.result;
    const [ticket] = await place.approvals.list();
    const editedArgs = { path: "b.txt" };
    await resolveApproval({ approvals: place.approvals, tools }, ticket?.ticketId ?? "", {
      ...yes,
      editedArgs,
    });
    const grants = [{ ref: "g", scopes: ["tool:delete_file"], grantedBy: ann }];
    await (
      await resume(place, runId, [{ text: "done" }], { grants, tools })
    ).result;
    expect(place.deleted).toEqual(["b.txt"]);
  });

  it("a policy that denies the new arguments is not passed by an edit", async () => {
    const place = world();
    const policy: PolicyPort = {
      decide: ({ args }) =>
        args["path"] === "/etc" ? { decision: "deny", reason: "never" } : { decision: "ask", reason: "look" },
    };
    const tools = registry(place, human, policy);
    const { run } = start(place, [{ toolCalls: [remove("a.txt")] }], { tools });
    const { runId } = await run.result;
    const [ticket] = await place.approvals.list();
    const editedArgs = { path: "/etc" };
    await resolveApproval({ approvals: place.approvals, tools }, ticket?.ticketId ?? "", {
      ...yes,
      editedArgs,
    });
    const { result } = await resume(place, runId, [{ text: "done" }], { tools });
    expect((await result).record.toolCalls[0]).toMatchObject({ code: "not_permitted" });
    expect(place.deleted).toEqual([]);
  });

  it("arguments that hold a secret cannot wait, and say so; an edit cannot bring one in", async () => {
    recordLacks("the secret in the arguments");
    const place = world();
    const secret = "sk-proj-abcdefghijklmnop1234567890";
    const { run } = start(place, [{ toolCalls: [remove(secret)] }, { text: "ok" }]);
    const { status, record } = await run.result;
    expect([status, record.toolCalls[0]?.code]).toEqual(["completed", "not_permitted"]);
    expect(JSON.stringify(await place.approvals.list())).not.toContain(secret);
    const { tickets } = await asked(place);
    const edit = { ...yes, editedArgs: { path: secret } };
    await expect(place.approvals.resolve(tickets[0]?.ticketId ?? "", edit)).rejects.toThrow("secret");
    const odd = { ...yes, decision: "consumed" } as unknown as TicketAnswer;
    await expect(place.approvals.resolve(tickets[0]?.ticketId ?? "", odd)).rejects.toThrow("decision");
  });

  it("a raced double approval executes once, and so do two resumes at once", async () => {
    const place = world();
    const { runId, tickets } = await asked(place);
    const id = tickets[0]?.ticketId ?? "";
    const answers = await Promise.allSettled([1, 2, 3].map(() => place.approvals.resolve(id, yes)));
    expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    const runs = await Promise.all([1, 2].map(() => resume(place, runId, [{ text: "done" }])));
    const results = await Promise.all(runs.map((run) => run.result));
    expect(results.map(({ status }) => status).sort()).toEqual(["completed", "failed"]);
    expect(place.deleted).toEqual(["a.txt"]);
  });
});

describe("recoverRuns", () => {
  it("runs L10: a process killed between start and result leaves the call unknown, and it is not run again", async () => {
    const place = world();
    const write: CapabilityContract = {
      version: "1",
      authority: { level: "session" },
      effects: { kind: "write" },
      idempotency: { mode: "none" },
    };
    const { run } = start(place, [{ toolCalls: [remove("a.txt")] }, { text: "done" }], {
      tools: registry(place, write),
    });
    const { runId } = await run.result;
    const cut = createMemoryRunStore();
    for await (const event of place.store.read(runId)) {
      if (event.type === "tool.finished") break;
      await cut.append(runId, [event.type === "run.started" ? asDead(event) : event], {
        expectedSeq: event.seq,
      });
    }
    const { failed } = await recoverRuns(cut, { ports: { clock: place.clock } });
    expect(failed).toEqual([runId]);
    expect(await cut.get(runId)).toMatchObject({
      status: "failed",
      error: { code: "run_failed", retryable: true },
      effects: { certainty: "unknown", verificationRequired: ["call_0_0"] },
    });
    expect(place.deleted).toEqual(["a.txt"]);
  });

  it("leaves a run suspended again whose resumption was killed before the approved call began", async () => {
    const place = world();
    const { runId, tickets } = await asked(place);
    await place.approvals.resolve(tickets[0]?.ticketId ?? "", yes);
    await (
      await resume(place, runId, [{ text: "done" }])
    ).result;
    const cut = createMemoryRunStore();
    for await (const event of place.store.read(runId)) {
      if (event.type === "approval.consumed") break;
      const dead = event.type === "run.started" ? asDead(event) : event;
      const gone =
        dead.type === "run.resumed"
          ? {
              ...dead,
              data: {
                ...dead.data,
                process: { host: "sha256:0" as const, ...dead.data.process, pid: 2 ** 30 },
              },
            }
          : dead;
      await cut.append(runId, [gone], { expectedSeq: event.seq });
    }
    expect(await recoverRuns(cut, { ports: { clock: place.clock } })).toMatchObject({ suspended: [runId] });
    // The ticket was used up meanwhile: it lets nothing run again.
    const { result } = await resume({ ...place, store: cut }, runId, [{ text: "done" }]);
    expect((await result).record.toolCalls[0]).toMatchObject({
      outcome: "not_started",
      code: "approval_used",
    });
    expect(place.deleted).toEqual(["a.txt"]);
  });

  it("writes down what a tool says of a call that ended as unknown", async () => {
    const place = world();
    const ledger = createEffectLedger(place.data, { clock: place.clock });
    const tools = new ToolRegistry({ ledger, ports: createPorts({ clock: place.clock }) });
    tools.register({
      name: "delete_file",
      description: "Deletes a file.",
      inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      contract: "write",
      handler: () => Promise.reject(new Error("the line broke")),
      reconcile: async () => ({ outcome: "succeeded", result: "deleted" }),
    });
    const { run } = start(place, [{ toolCalls: [remove("a.txt")] }, { text: "done" }], { tools });
    const { runId } = await run.result;
    const cut = createMemoryRunStore();
    for await (const event of place.store.read(runId)) {
      const dead = event.type === "run.started" ? asDead(event) : event;
      await cut.append(runId, [dead], { expectedSeq: event.seq });
      if (event.type === "tool.finished") break;
    }
    expect((await cut.get(runId))?.toolCalls[0]?.outcome).toBe("unknown");
    expect((await recoverRuns(cut, { ledger, tools, ports: { clock: place.clock } })).unknown).toEqual([]);
    expect((await cut.get(runId))?.toolCalls[0]).toMatchObject({ outcome: "succeeded", reconciled: true });
  });

  it("takes a run for dead that an earlier process with the same number wrote", async () => {
    const { store, run } = await stalled({
      clock: { ...createPorts().clock, now: () => performance.timeOrigin - 1 },
    });
    expect(await recoverRuns(store)).toMatchObject({ failed: [run.runId] });
    run.abort();
    await run.result;
  });

  it("leaves a run alone that another process recovers at the same time", async () => {
    const { store, run } = await stalled({});
    const cut = createMemoryRunStore();
    for await (const event of store.read(run.runId)) {
      const dead = event.type === "run.started" ? asDead(event) : event;
      await cut.append(run.runId, [dead], { expectedSeq: event.seq });
    }
    run.abort();
    await run.result;
    const [first, second] = await Promise.all([recoverRuns(cut), recoverRuns(cut)]);
    expect([...first.failed, ...second.failed]).toEqual([run.runId]);
  });

  it("leaves a run alone whose process lives", async () => {
    const { store, run } = await stalled({});
    expect(await recoverRuns(store)).toEqual({ failed: [], suspended: [], unknown: [] });
    run.abort();
    await run.result;
  });
});

/** A run that waits for its model for ever. */
async function stalled(ports: Partial<Ports>) {
  const store = createMemoryRunStore();
  const adapter = scriptedAdapter([{ stall: true }]);
  const run = runLoop({ adapter, messages: [userMessage("hi")], store, ports });
  while ((await store.get(run.runId)) === undefined) await new Promise((resolve) => setImmediate(resolve));
  return { store, run };
}

/** The same start by a process that is gone. */
function asDead<T extends { readonly data: { readonly environment: object } }>(event: T): T {
  const { environment } = event.data;
  const writer = { ...Reflect.get(environment, "process"), pid: 2 ** 30 };
  return { ...event, data: { ...event.data, environment: { ...environment, process: writer } } };
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

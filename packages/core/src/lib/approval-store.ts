/** Approval tickets: the server's own account of who allowed which exact call (spec runs.md section 7). */

import { defined } from "./defined.ts";
import { type Digest, digest } from "./digest.ts";
import { ApprovalError, InputError } from "./errors.ts";
import type { Json, JsonObject } from "./json.ts";
import { type Clock, systemClock } from "./ports.ts";
import type { Principal } from "./principal.ts";
import { redactSecrets } from "./redactor.ts";
import type { Store } from "./store.ts";

/** How a ticket stands. Only `approved` lets a call run, once. */
export type TicketState = "pending" | "approved" | "denied" | "expired" | "consumed" | "superseded";

/** The exact call a ticket is for. */
export interface TicketCall {
  readonly runId: string;
  readonly callId: string;
  readonly threadId?: string;
  readonly toolName: string;
  readonly toolDigest: Digest;
  readonly contractVersion: string;
  readonly args: JsonObject;
  readonly principal: Principal;
  readonly owner: string;
}

/** A question to a person, and its answer. */
export interface ApprovalTicket extends TicketCall {
  readonly schema: "ticket/1";
  readonly ticketId: string;
  /** Covers tool, contract version, arguments, principal, run and call: whatever differs is another call. */
  readonly callDigest: Digest;
  /** What will happen, in one line. */
  readonly summary: string;
  readonly requestedAt: string;
  readonly expiresAt: string;
  readonly state: TicketState;
  readonly resolved?: { readonly by: Principal; readonly at: string };
  readonly reason?: string;
  /** The ticket whose arguments a person changed into these. */
  readonly editedFrom?: string;
}

/** An answer. `owner` is whose calls the person may answer for; `editedArgs` must have passed the tool's schema. */
export interface TicketAnswer {
  readonly decision: "approved" | "denied";
  readonly by: Principal;
  readonly owner: string;
  readonly reason?: string;
  readonly editedArgs?: JsonObject;
}

/** Keeps tickets; clients hold an id, never a permission. */
export interface ApprovalStore {
  /** The open ticket of a call, made if there is none. */
  request(call: TicketCall): Promise<ApprovalTicket>;
  /** The ticket that counts for a call: of several the last. */
  find(runId: string, callId: string): Promise<ApprovalTicket | undefined>;
  get(ticketId: string): Promise<ApprovalTicket | undefined>;
  /** Tickets of an owner, or of all; oldest run first. */
  list(filter?: {
    readonly state?: TicketState;
    readonly owner?: string;
  }): Promise<readonly ApprovalTicket[]>;
  /**
   * Answers once: the first answer wins. Throws `ApprovalError` `approval_used` for an answered ticket,
   * `approval_expired`, `approval_mismatch` for one that is not there or not this owner's, `not_permitted` for a
   * principal that may not answer. Gives the ticket that now counts: a new one where arguments were edited.
   */
  resolve(ticketId: string, answer: TicketAnswer): Promise<ApprovalTicket>;
  /** Uses an approved ticket up for exactly this call; throws `ApprovalError` where it does not fit. */
  consume(ticketId: string, call: TicketCall): Promise<ApprovalTicket>;
}

/** Options of an approval store. */
export interface ApprovalStoreOptions {
  /** How long a ticket may be answered and used, in milliseconds. Default one hour. */
  readonly lifeMs?: number;
  readonly clock?: Clock;
}

const PREFIX = "approval/";
const LIFE_MS = 3_600_000;

/** Tickets in any store: one entry per call holds all its tickets, so every step is one atomic change. */
export function createApprovalStore(store: Store<Json>, options: ApprovalStoreOptions = {}): ApprovalStore {
  return new StoredApprovals(store, options);
}

/** The digest that binds a ticket to a call. */
export function callDigest({
  toolDigest,
  contractVersion,
  args,
  principal,
  runId,
  callId,
}: TicketCall): Digest {
  return digest("call/1", { tool: toolDigest, contract: contractVersion, args, principal, runId, callId });
}

type Change<T> = (tickets: readonly ApprovalTicket[]) => {
  readonly tickets?: readonly ApprovalTicket[];
  readonly value: T;
};

class StoredApprovals implements ApprovalStore {
  readonly #store: Store<Json>;
  readonly #clock: Clock;
  readonly #lifeMs: number;

  constructor(store: Store<Json>, { lifeMs = LIFE_MS, clock = systemClock }: ApprovalStoreOptions) {
    if (!(lifeMs > 0))
      throw new InputError(`"lifeMs" is ${String(lifeMs)}; use a number of milliseconds above 0.`);
    this.#store = store;
    this.#clock = clock;
    this.#lifeMs = lifeMs;
  }

  request(call: TicketCall): Promise<ApprovalTicket> {
    return this.#change(entryId(call.runId, call.callId), (tickets) => {
      const last = tickets.at(-1);
      if (last !== undefined) return { value: last };
      const fresh = this.#issue(call, 0);
      return { tickets: [fresh], value: fresh };
    });
  }

  async find(runId: string, callId: string): Promise<ApprovalTicket | undefined> {
    return (await this.#read(entryId(runId, callId))).at(-1);
  }

  async get(ticketId: string): Promise<ApprovalTicket | undefined> {
    return (await this.#read(entryOf(ticketId))).find((ticket) => ticket.ticketId === ticketId);
  }

  async list({ state, owner }: { readonly state?: TicketState; readonly owner?: string } = {}): Promise<
    readonly ApprovalTicket[]
  > {
    const found: ApprovalTicket[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined;) {
      const page = await this.#store.list({ prefix: PREFIX, ...(cursor === "" ? {} : { cursor }) });
      found.push(...page.entries.flatMap(([, value]) => this.#parse(value)));
      cursor = page.cursor;
    }
    return found
      .filter(
        (ticket) =>
          (state === undefined || ticket.state === state) && (owner === undefined || ticket.owner === owner),
      )
      .sort((left, right) => (left.requestedAt < right.requestedAt ? -1 : 1));
  }

  async resolve(ticketId: string, answer: TicketAnswer): Promise<ApprovalTicket> {
    checkAnswer(answer);
    return this.#change(entryOf(ticketId), (tickets) => {
      const open = this.#open(tickets, ticketId, answer.owner);
      const resolved = { by: answer.by, at: this.#now() };
      const { decision, reason, editedArgs } = answer;
      const facts = defined({ resolved, reason });
      if (decision === "denied" || editedArgs === undefined) {
        const value: ApprovalTicket = { ...open, ...facts, state: decision };
        return { tickets: replace(tickets, value), value };
      }
      const call: TicketCall = { ...open, args: editedArgs };
      const edited = this.#issue(call, tickets.length);
      const value: ApprovalTicket = { ...edited, ...facts, state: "approved", editedFrom: ticketId };
      return { tickets: [...replace(tickets, { ...open, ...facts, state: "superseded" }), value], value };
    });
  }

  consume(ticketId: string, call: TicketCall): Promise<ApprovalTicket> {
    return this.#change(entryOf(ticketId), (tickets) => {
      const ticket = tickets.find((one) => one.ticketId === ticketId) ?? notThis(ticketId);
      if (ticket.state === "expired") throw expired(ticketId);
      if (ticket.state !== "approved") throw used(ticket);
      if (ticket.callDigest !== callDigest(call)) {
        throw new ApprovalError(
          `Ticket "${ticketId}" allows another call: tool, contract, arguments, principal or run differ.`,
          { code: "approval_mismatch" },
        );
      }
      const value: ApprovalTicket = { ...ticket, state: "consumed" };
      return { tickets: replace(tickets, value), value };
    });
  }

  #open(tickets: readonly ApprovalTicket[], ticketId: string, owner: string): ApprovalTicket {
    const ticket =
      tickets.find((one) => one.ticketId === ticketId && one.owner === owner) ?? notThis(ticketId);
    if (ticket.state === "expired") throw expired(ticketId);
    if (ticket.state !== "pending") throw used(ticket);
    return ticket;
  }

  #issue(call: TicketCall, n: number): ApprovalTicket {
    const { runId, callId, threadId, toolName, toolDigest, contractVersion, args, principal, owner } = call;
    const nowMs = this.#clock.now();
    return defined({
      schema: "ticket/1" as const,
      ticketId: `${entryId(runId, callId)}-${n}`,
      runId,
      callId,
      threadId,
      toolName,
      toolDigest,
      contractVersion,
      args,
      principal,
      owner,
      callDigest: callDigest(call),
      summary: summarize(toolName, args),
      requestedAt: new Date(nowMs).toISOString(),
      expiresAt: new Date(nowMs + this.#lifeMs).toISOString(),
      state: "pending" as const,
    });
  }

  async #change<T>(entry: string, change: Change<T>): Promise<T> {
    let outcome: { readonly value: T } | undefined;
    await this.#store.update(PREFIX + entry, (value) => {
      const { tickets, value: result } = change(this.#parse(value));
      outcome = { value: result };
      return tickets === undefined ? { keep: true } : { set: JSON.parse(JSON.stringify(tickets)) };
    });
    if (outcome === undefined) throw new InputError("The store did not run the change it was given.");
    return outcome.value;
  }

  async #read(entry: string): Promise<readonly ApprovalTicket[]> {
    return this.#parse(await this.#store.get(PREFIX + entry));
  }

  #parse(value: Json | undefined): readonly ApprovalTicket[] {
    const tickets = (value ?? []) as unknown as readonly ApprovalTicket[]; // Proof: keys below the prefix are written here alone
    const now = this.#now();
    return tickets.map((ticket) =>
      (ticket.state === "pending" || ticket.state === "approved") && ticket.expiresAt <= now
        ? { ...ticket, state: "expired" }
        : ticket,
    );
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

/** Names the entry of a call: nothing a provider put into a call id reaches a key or a URL. */
function entryId(runId: string, callId: string): string {
  return `apr_${digest("ticket/1", [runId, callId]).slice("sha256:".length, "sha256:".length + 32)}`;
}

function entryOf(ticketId: string): string {
  const [, entry] = /^(apr_[0-9a-f]{32})-\d+$/.exec(ticketId) ?? [];
  return entry ?? notThis(ticketId);
}

function replace(tickets: readonly ApprovalTicket[], changed: ApprovalTicket): readonly ApprovalTicket[] {
  return tickets.map((ticket) => (ticket.ticketId === changed.ticketId ? changed : ticket));
}

/** A model, an agent and whoever did not say who it is cannot answer; and an answer is yes or no. */
function checkAnswer({ by, decision, editedArgs }: TicketAnswer): void {
  if (by.kind !== "human" && by.kind !== "remote" && by.kind !== "program") {
    throw new ApprovalError(`A principal of kind "${by.kind}" cannot answer an approval; a person has to.`, {
      code: "not_permitted",
    });
  }
  if (decision !== "approved" && decision !== "denied")
    throw new InputError(`The decision is "${String(decision)}"; use "approved" or "denied".`);
  if (editedArgs !== undefined && holdsSecret(editedArgs))
    throw new InputError("The new arguments hold what looks like a secret, which no ticket keeps.");
}

/** True for arguments that a record would not keep whole, so that the call could not be found again. */
export function holdsSecret(args: JsonObject): boolean {
  return redactSecrets(args) !== args;
}

const MAX_SUMMARY = 200;

function summarize(toolName: string, args: JsonObject): string {
  const text = JSON.stringify(args);
  return `${toolName} ${text.length > MAX_SUMMARY ? `${text.slice(0, MAX_SUMMARY).toWellFormed()}…` : text}`;
}

function notThis(ticketId: string): never {
  throw new ApprovalError(`There is no ticket ${JSON.stringify(ticketId).slice(0, 80)} to answer.`, {
    code: "approval_mismatch",
    hint: "List the open ones with `openfunctions approvals list`.",
  });
}

function expired(ticketId: string): ApprovalError {
  return new ApprovalError(`Ticket "${ticketId}" has expired.`, { code: "approval_expired" });
}

function used({ ticketId, state }: ApprovalTicket): ApprovalError {
  return new ApprovalError(`Ticket "${ticketId}" is ${state} already.`, { code: "approval_used" });
}

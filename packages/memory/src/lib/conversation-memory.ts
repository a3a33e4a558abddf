/** Threads: what was said, turn by turn, each turn whole or not at all. */

import { randomUUID } from "node:crypto";
import {
  type Clock,
  InputError,
  type Json,
  type JsonObject,
  type Message,
  type Store,
  StoreError,
  createPorts,
  lintHistory,
} from "@openfunctions/core";
import { ownerKey } from "./owner-key.ts";
import { fromStore, toStore } from "./stored.ts";

/** A thread as lists show it. Times are ISO-8601. */
export interface ThreadRecord {
  readonly id: string;
  readonly owner: string;
  readonly title?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly messageCount: number;
  readonly metadata?: JsonObject;
}

/** One turn, appended at its end: the user's message and everything up to the answer. */
export interface TurnInput {
  readonly messages: readonly Message[];
  /** The run the turn came from. */
  readonly runId?: string;
  /** Fails with `store_conflict` unless the thread has so many messages. Default: whatever it has. */
  readonly expectedCount?: number;
}

/** Which messages to read. */
export interface MessageQuery {
  /** Only the last so many; 0 for none. */
  readonly last?: number;
  /** Only those before this place, counted from 0. */
  readonly before?: number;
}

/** Which threads to list, the newest first. */
export interface ThreadQuery {
  /** Default 20, at most 100. */
  readonly limit?: number;
  readonly cursor?: string;
}

/** What a memory of conversations is made of. */
export interface ConversationOptions {
  readonly store: Store;
  readonly clock?: Clock;
}

interface Header extends ThreadRecord {
  readonly turns: number;
  /** Another one each time a thread of this id is made, so that rows of a deleted one are nobody's. */
  readonly epoch: string;
  /** Where the last turn was put down; it is copied to its row before the next one comes. */
  readonly staged?: string;
}

interface Turn {
  readonly messages: readonly Message[];
  /** Messages before this turn. */
  readonly from: number;
  readonly at: string;
  readonly runId?: string;
}

const THREAD_ID = /^[A-Za-z0-9_-]{1,128}$/;
const MAX_LISTED = 100;
const DEFAULT_LISTED = 20;
const MAX_TRIES = 20;

/**
 * Threads in a store. Every call names its owner; a thread of another one is as good as missing. A resolved `append`
 * has stored the whole turn, a rejected one nothing a reader sees. Throws `InputError` (`bad_id`) for an id that is not
 * 1 to 128 of A-Z, a-z, 0-9, `_` and `-`, and what the store throws.
 */
export class ConversationMemory {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor({ store, clock = createPorts().clock }: ConversationOptions) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The thread, made when it is missing; without an id a new one. */
  async ensureThread(owner: string, id: string = randomUUID()): Promise<ThreadRecord> {
    const key = headerKey(owner, id);
    const at = this.#now();
    const fresh: Header = {
      id,
      owner,
      createdAt: at,
      updatedAt: at,
      messageCount: 0,
      turns: 0,
      epoch: randomUUID(),
    };
    const now = await this.#store.update(key, (known) =>
      known === undefined ? { set: toStore(fresh) } : { keep: true },
    );
    return toRecord(fromStore<Header>(now) ?? fresh);
  }

  /** The thread, or undefined; nothing is made. */
  async readThread(owner: string, id: string): Promise<ThreadRecord | undefined> {
    const header = await this.#header(owner, id);
    return header && toRecord(header);
  }

  /**
   * Adds a turn; the thread is made when it is missing. Costs the same in a long thread as in a short one. Throws
   * `StoreError` `store_conflict` where `expectedCount` is not what the thread has.
   */
  async append(owner: string, id: string, turn: TurnInput): Promise<ThreadRecord> {
    const { messages, expectedCount, runId } = turn;
    await this.ensureThread(owner, id);
    for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
      const header = await this.#header(owner, id);
      if (header === undefined) throw conflict(id, "was deleted meanwhile");
      if (expectedCount !== undefined && expectedCount !== header.messageCount)
        throw conflict(id, `has ${header.messageCount} messages, not ${expectedCount}`);
      if (messages.length === 0) return toRecord(header);
      await this.#settle(owner, header);
      const at = this.#now();
      const staged = randomUUID();
      const row: Turn = {
        messages,
        from: header.messageCount,
        at,
        ...(runId === undefined ? {} : { runId }),
      };
      await this.#store.set(stagedKey(owner, id, staged), toStore(row));
      const next: Header = {
        ...header,
        turns: header.turns + 1,
        messageCount: header.messageCount + messages.length,
        updatedAt: at,
        staged,
      };
      const now = fromStore<Header>(
        await this.#store.update(headerKey(owner, id), (known) => {
          const held = fromStore<Header>(known);
          const fits = held?.epoch === header.epoch && held.turns === header.turns;
          return fits ? { set: toStore({ ...held, ...pick(next) }) } : { keep: true };
        }),
      );
      if (now?.staged === staged) return toRecord(now);
      await this.#store.delete(stagedKey(owner, id, staged));
    }
    throw conflict(id, "has too many writers");
  }

  /** The messages in order, fit to be sent: calls have their results. Undefined for an unknown thread. */
  async messages(
    owner: string,
    id: string,
    query: MessageQuery = {},
  ): Promise<readonly Message[] | undefined> {
    const header = await this.#header(owner, id);
    if (header === undefined) return undefined;
    const end = Math.min(header.messageCount, count("before", query.before) ?? header.messageCount);
    const start = Math.max(0, end - (count("last", query.last) ?? end));
    const turns: Turn[] = [];
    for (let number = header.turns - 1; number >= 0 && start < end; number -= 1) {
      const turn = await this.#turn(owner, header, number);
      if (turn === undefined) return this.#missingTurn(owner, header, number);
      if (turn.from < end) turns.unshift(turn);
      if (turn.from <= start) break;
    }
    const first = turns[0]?.from ?? 0;
    const found = turns.flatMap(({ messages }) => messages).slice(start - first, end - first);
    return lintHistory(found).messages;
  }

  /** The threads of an owner, the newest first. Reads no message. */
  async listThreads(
    owner: string,
    { limit = DEFAULT_LISTED, cursor }: ThreadQuery = {},
  ): Promise<{ readonly threads: readonly ThreadRecord[]; readonly cursor?: string }> {
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LISTED)
      throw new InputError(`"limit" is ${String(limit)}; use a whole number from 1 to ${MAX_LISTED}.`);
    const all: ThreadRecord[] = [];
    for await (const value of this.#values(`thread/${ownerKey(owner)}/`)) {
      const header = fromStore<Header>(value);
      if (header !== undefined) all.push(toRecord(header));
    }
    const sorted = all
      .sort((left, right) => (placeOf(left) < placeOf(right) ? 1 : -1))
      .filter((thread) => cursor === undefined || placeOf(thread) < cursor);
    const threads = sorted.slice(0, limit);
    const last = threads.at(-1);
    return sorted.length > limit && last !== undefined ? { threads, cursor: placeOf(last) } : { threads };
  }

  /** Names a thread. False for an unknown one. */
  async setTitle(owner: string, id: string, title: string): Promise<boolean> {
    const now = await this.#store.update(headerKey(owner, id), (known) => {
      const header = fromStore<Header>(known);
      return header === undefined ? { keep: true } : { set: toStore({ ...header, title }) };
    });
    return now !== undefined;
  }

  /** Deletes a thread and its messages. False for an unknown one. */
  async deleteThread(owner: string, id: string): Promise<boolean> {
    const existed = await this.#store.delete(headerKey(owner, id));
    await this.#deleteAll(`msg/${ownerKey(owner)}/${id}/`);
    return existed;
  }

  /** Deletes every thread of an owner; gives how many there were. */
  async clear(owner: string): Promise<number> {
    const { threads: first } = await this.listThreads(owner, { limit: MAX_LISTED });
    let deleted = 0;
    for (let threads = first; threads.length > 0;) {
      for (const { id } of threads) deleted += (await this.deleteThread(owner, id)) ? 1 : 0;
      threads = (await this.listThreads(owner, { limit: MAX_LISTED })).threads;
    }
    return deleted;
  }

  async #header(owner: string, id: string): Promise<Header | undefined> {
    return fromStore<Header>(await this.#store.get(headerKey(owner, id)));
  }

  /** Copies the last turn to its row. Whoever does it writes the same, so it may be done twice and by anybody. */
  async #settle(owner: string, header: Header): Promise<void> {
    if (header.staged === undefined) return;
    const from = stagedKey(owner, header.id, header.staged);
    const turn = await this.#store.get(from);
    if (turn === undefined) return;
    await this.#store.set(rowKey(owner, header, header.turns - 1), turn);
    await this.#store.delete(from);
  }

  async #turn(owner: string, header: Header, number: number): Promise<Turn | undefined> {
    const isLast = number === header.turns - 1;
    const staged =
      isLast && header.staged !== undefined
        ? await this.#store.get(stagedKey(owner, header.id, header.staged))
        : undefined;
    return fromStore<Turn>(staged ?? (await this.#store.get(rowKey(owner, header, number))));
  }

  /** A thread that was deleted while it was read is unknown now; any other has lost something. */
  async #missingTurn(owner: string, { id, epoch }: Header, number: number): Promise<undefined> {
    if ((await this.#header(owner, id))?.epoch !== epoch) return undefined;
    throw new StoreError(`Turn ${number} of thread "${id}" is missing.`, { code: "store_corrupt" });
  }

  async *#values(prefix: string): AsyncGenerator<Json> {
    let cursor: string | undefined;
    do {
      const page = await this.#store.list({ prefix, ...(cursor === undefined ? {} : { cursor }) });
      for (const [, value] of page.entries) yield value;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }

  async #deleteAll(prefix: string): Promise<void> {
    for (;;) {
      const { entries } = await this.#store.list({ prefix });
      if (entries.length === 0) return;
      for (const [key] of entries) await this.#store.delete(key);
    }
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

/** The part of a header that an append changes. */
function pick({ turns, messageCount, updatedAt, staged }: Header): Partial<Header> {
  return { turns, messageCount, updatedAt, ...(staged === undefined ? {} : { staged }) };
}

function headerKey(owner: string, id: string): string {
  return `thread/${ownerKey(owner)}/${checkThreadId(id)}`;
}

const ROW_DIGITS = 10;

function rowKey(owner: string, { id, epoch }: Header, number: number): string {
  return `msg/${ownerKey(owner)}/${id}/${epoch}/${String(number).padStart(ROW_DIGITS, "0")}`;
}

function stagedKey(owner: string, id: string, token: string): string {
  return `msg/${ownerKey(owner)}/${id}/new/${token}`;
}

function checkThreadId(id: string): string {
  if (typeof id === "string" && THREAD_ID.test(id)) return id;
  throw new InputError(`Thread id ${JSON.stringify(id)?.slice(0, 80)} is not allowed.`, {
    code: "bad_id",
    hint: "Use 1 to 128 of A-Z, a-z, 0-9, _ and -.",
  });
}

function count(name: string, value: number | undefined): number | undefined {
  if (value === undefined || (Number.isInteger(value) && value >= 0)) return value;
  throw new InputError(`"${name}" is ${String(value)}; use a whole number from 0.`);
}

function placeOf({ updatedAt, id }: ThreadRecord): string {
  return `${updatedAt} ${id}`;
}

function toRecord({ turns: _turns, epoch: _epoch, staged: _staged, ...record }: Header): ThreadRecord {
  return record;
}

function conflict(id: string, what: string): StoreError {
  return new StoreError(`Thread "${id}" ${what}.`, { code: "store_conflict", retryable: true });
}

/** Makes a memory of conversations over a store; see `ConversationMemory`. */
export function createConversationMemory(options: ConversationOptions): ConversationMemory {
  return new ConversationMemory(options);
}

/** Facts: what an agent was told to remember, whose words they are, and what became of them. */

import { createHash } from "node:crypto";
import { type Clock, createPorts, InputError, type Origin, type Store } from "@openfunctions/core";
import {
  Bm25Index,
  cosine,
  embedChecked,
  type Embedder,
  hybridSearch,
  type Ranking,
  type RankedHit,
} from "@openfunctions/core/search";
import { ownerKey } from "./owner-key.ts";
import { fromStore, toStore } from "./stored.ts";

/** One fact. Times are ISO-8601. */
export interface Fact {
  readonly id: string;
  readonly owner: string;
  readonly content: string;
  /** Where it comes from, in words. */
  readonly source?: string;
  /** Whose text it was taken from; kept when it is recalled. Remote text is data, never instructions. */
  readonly origin?: Origin;
  readonly tags: readonly string[];
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly runId?: string;
  /** The fact this one took the place of. */
  readonly supersedes?: string;
  /** Not recalled from then on. */
  readonly validUntil?: string;
}

/** What to remember. */
export interface FactInput {
  /** 1 to 2,000 characters. */
  readonly content: string;
  readonly source?: string;
  readonly origin?: Origin;
  readonly tags?: readonly string[];
  readonly runId?: string;
  readonly validUntil?: string;
}

/** How facts are recalled. */
export interface RecallOptions {
  /** Default 10. */
  readonly limit?: number;
  /** Only facts with all of these. */
  readonly tags?: readonly string[];
  /** Facts with a lower score are left out; scores are from 0 to 1. */
  readonly minScore?: number;
  readonly signal?: AbortSignal;
}

/** A fact that was recalled. */
export interface RecalledFact extends Fact {
  readonly score: number;
  readonly parts: RankedHit["parts"];
}

/** Facts, best first, and how they were found. `newest` is the answer to an empty query. */
export interface Recollection {
  readonly mode: Ranking["mode"] | "newest";
  readonly reason?: string;
  readonly facts: readonly RecalledFact[];
}

/** What a memory of facts is made of. */
export interface FactOptions {
  readonly store: Store;
  /** Without one, facts are recalled by their words. */
  readonly embedder?: Embedder;
  readonly clock?: Clock;
}

/** A fact as it is kept; of a forgotten one its content is gone. */
interface Kept extends Fact {
  readonly state: "current" | "superseded" | "forgotten";
  readonly by?: string;
  readonly vector?: { readonly model: string; readonly values: readonly number[] };
}

/** The last change of an owner: what stood at each key before. */
interface Change {
  readonly before: readonly (readonly [key: string, kept: Kept | null])[];
}

const MAX_CONTENT = 2_000;
/** How much newness counts beside the words and the meaning, and the days after which it is a third. */
const RECENCY = { weight: 0.05, days: 30 } as const;
const DAY_MS = 86_400_000;

/**
 * Facts in a store. Every call names its owner; a fact of another one is as good as missing. Nothing is overwritten:
 * a correction supersedes, `forget` leaves a tombstone without the content, and `undo` takes back the owner's last
 * change, one step. Throws `InputError` for what cannot be kept, `EmbedderError`, and what the store throws.
 */
export class FactMemory {
  readonly #store: Store;
  readonly #embedder: Embedder | undefined;
  readonly #clock: Clock;

  constructor({ store, embedder, clock = createPorts().clock }: FactOptions) {
    this.#store = store;
    this.#embedder = embedder;
    this.#clock = clock;
  }

  /** Keeps a fact. One with the same words (case and space aside) is given back as it stands, `created: false`. */
  async remember(
    owner: string,
    input: FactInput,
  ): Promise<{ readonly fact: Fact; readonly created: boolean }> {
    const fact = await this.#draft(owner, input);
    const key = factKey(owner, fact.id);
    const held = fromStore<Kept>(await this.#store.get(key));
    if (held?.state === "current") return { fact: toFact(held), created: false };
    await this.#change(owner, [[key, fact]]);
    return { fact: toFact(fact), created: true };
  }

  /** Puts other words in a fact's place; the earlier ones stay, superseded. Undefined for an unknown fact. */
  async correct(owner: string, id: string, content: string): Promise<Fact | undefined> {
    const held = await this.#current(owner, id);
    if (held === undefined) return undefined;
    const { source, origin, tags, runId, validUntil } = held;
    const rest = {
      tags,
      ...(source === undefined ? {} : { source }),
      ...(origin === undefined ? {} : { origin }),
      ...(runId === undefined ? {} : { runId }),
      ...(validUntil === undefined ? {} : { validUntil }),
    };
    const fact = { ...(await this.#draft(owner, { ...rest, content })), supersedes: id };
    if (fact.id === id) return toFact(held);
    const superseded: Kept = { ...held, state: "superseded", by: fact.id, updatedAt: fact.updatedAt };
    await this.#change(owner, [
      [factKey(owner, id), superseded],
      [factKey(owner, fact.id), fact],
    ]);
    return toFact(fact);
  }

  /** Leaves a tombstone with who and when; the words are gone once another change was made. False for an unknown fact. */
  async forget(owner: string, id: string, by: string = owner): Promise<boolean> {
    const held = await this.#current(owner, id);
    if (held === undefined) return false;
    const { createdAt } = held;
    const updatedAt = this.#now();
    const tombstone: Kept = {
      id,
      owner,
      content: "",
      tags: [],
      createdAt,
      updatedAt,
      state: "forgotten",
      by,
    };
    await this.#change(owner, [[factKey(owner, id), tombstone]]);
    return true;
  }

  /** Takes back the owner's last change. False where there is none, or it was taken back already. */
  async undo(owner: string): Promise<boolean> {
    const key = undoKey(owner);
    const change = fromStore<Change>(await this.#store.get(key));
    if (change === undefined) return false;
    for (const [factAt, kept] of change.before) {
      if (kept === null) await this.#store.delete(factAt);
      else await this.#store.set(factAt, toStore(kept));
    }
    return this.#store.delete(key);
  }

  /** A current fact, or undefined. */
  async get(owner: string, id: string): Promise<Fact | undefined> {
    const held = await this.#current(owner, id);
    return held && toFact(held);
  }

  /** The facts that fit a query best; all words count, none has to be there. An empty query gives the newest. */
  async recall(owner: string, query: string, options: RecallOptions = {}): Promise<Recollection> {
    const { limit = 10, tags = [], minScore = 0, signal } = options;
    const now = this.#clock.now();
    const facts = (await this.#all(owner)).filter(
      ({ tags: own, validUntil }) =>
        tags.every((tag) => own.includes(tag)) && (validUntil === undefined || Date.parse(validUntil) > now),
    );
    if (query.trim() === "") {
      const newest = facts.toSorted(byTime).slice(0, limit);
      return { mode: "newest", facts: newest.map((fact) => ({ ...toFact(fact), score: 1, parts: {} })) };
    }
    const byId = new Map(facts.map((fact) => [fact.id, fact]));
    const { mode, reason, hits } = await hybridSearch(this.#sourceOf(facts), query, {
      limit: Math.max(1, facts.length),
      embedder: this.#embedder,
      ...(signal === undefined ? {} : { signal }),
      clock: this.#clock,
    });
    const recalled = hits
      .flatMap(({ id, score, parts }): readonly RecalledFact[] => {
        const fact = byId.get(id);
        return fact === undefined ? [] : [{ ...toFact(fact), score: withRecency(score, fact, now), parts }];
      })
      .filter(({ score }) => score >= minScore)
      .sort((left, right) => right.score - left.score || (left.id < right.id ? -1 : 1))
      .slice(0, limit);
    return { mode, ...(reason === undefined ? {} : { reason }), facts: recalled };
  }

  #sourceOf(facts: readonly Kept[]): Parameters<typeof hybridSearch>[0] {
    const index = new Bm25Index();
    for (const { id, content } of facts) index.add(id, content);
    const model = this.#embedder?.model;
    return {
      keyword: async (query, limit) => index.search(query, limit),
      vector: async (vector, limit) =>
        facts
          .flatMap(({ id, vector: own }) =>
            own?.model === model && own !== undefined ? [{ id, cosine: cosine(vector, own.values) }] : [],
          )
          .sort((left, right) => right.cosine - left.cosine || (left.id < right.id ? -1 : 1))
          .slice(0, limit),
    };
  }

  async #draft(owner: string, input: FactInput): Promise<Kept> {
    const content = checkContent(input.content);
    const { source, origin, tags = [], runId, validUntil } = input;
    const at = this.#now();
    const id = `fact_${createHash("sha256").update(folded(content)).digest("hex").slice(0, 32)}`;
    const [values] =
      this.#embedder === undefined ? [] : await embedChecked(this.#embedder, [content], { kind: "document" });
    const vector = values && this.#embedder ? { model: this.#embedder.model, values } : undefined;
    ownerKey(owner);
    return {
      ...(source === undefined ? {} : { source }),
      ...(origin === undefined ? {} : { origin }),
      ...(runId === undefined ? {} : { runId }),
      ...(validUntil === undefined ? {} : { validUntil }),
      ...(vector === undefined ? {} : { vector }),
      id,
      owner,
      content,
      tags: [...new Set(tags)],
      createdAt: at,
      updatedAt: at,
      state: "current",
    };
  }

  /** The state before is kept first: a change that stops half way can be taken back. */
  async #change(owner: string, writes: readonly (readonly [string, Kept])[]): Promise<void> {
    const before: [string, Kept | null][] = [];
    for (const [key] of writes) before.push([key, fromStore<Kept>(await this.#store.get(key)) ?? null]);
    await this.#store.set(undoKey(owner), toStore({ before }));
    for (const [key, kept] of writes) await this.#store.set(key, toStore(kept));
  }

  async #current(owner: string, id: string): Promise<Kept | undefined> {
    const held = fromStore<Kept>(await this.#store.get(factKey(owner, id)));
    return held?.state === "current" ? held : undefined;
  }

  async #all(owner: string): Promise<readonly Kept[]> {
    const prefix = `fact/${ownerKey(owner)}/`;
    const facts: Kept[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#store.list({
        prefix,
        limit: 500,
        ...(cursor === undefined ? {} : { cursor }),
      });
      for (const [, value] of page.entries) {
        const kept = fromStore<Kept>(value);
        if (kept?.state === "current") facts.push(kept);
      }
      cursor = page.cursor;
    } while (cursor !== undefined);
    return facts;
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

function factKey(owner: string, id: string): string {
  if (typeof id === "string" && /^fact_[0-9a-f]{32}$/.test(id)) return `fact/${ownerKey(owner)}/${id}`;
  return `fact/${ownerKey(owner)}/none`;
}

function undoKey(owner: string): string {
  return `undo/${ownerKey(owner)}`;
}

function checkContent(content: string): string {
  const text = typeof content === "string" ? content.toWellFormed().trim() : "";
  if (text === "") throw new InputError("A fact needs a text.", { code: "empty_document" });
  if (text.length <= MAX_CONTENT) return text;
  throw new InputError(`A fact may have ${MAX_CONTENT} characters; this one has ${text.length}.`, {
    code: "too_large",
    hint: "Keep it short, and put long texts into documents.",
  });
}

/** Equal facts have equal words: case and space do not count. */
function folded(content: string): string {
  return content.normalize("NFKC").toLowerCase().replace(/\s+/gu, " ");
}

function withRecency(score: number, { updatedAt }: Fact, now: number): number {
  const days = Math.max(0, now - Date.parse(updatedAt)) / DAY_MS;
  return score * (1 - RECENCY.weight) + RECENCY.weight * Math.exp(-days / RECENCY.days);
}

function byTime(left: Fact, right: Fact): number {
  return left.updatedAt === right.updatedAt
    ? left.id < right.id
      ? -1
      : 1
    : left.updatedAt < right.updatedAt
      ? 1
      : -1;
}

function toFact({ state: _state, by: _by, vector: _vector, ...fact }: Kept): Fact {
  return fact;
}

/** Makes a memory of facts over a store; see `FactMemory`. */
export function createFactMemory(options: FactOptions): FactMemory {
  return new FactMemory(options);
}

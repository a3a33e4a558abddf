/** What a provider can cache: whether each request of a run begins with the bytes of the one before. */

import { canonicalJson, isPlainObject, type Json } from "./json.ts";
import type { Message } from "./message.ts";
import { HistoryBuilder } from "./rebuild-history.ts";
import type { AnyRunEvent, RunEvent } from "./run-event.ts";

/** One place where a request no longer begins as the one before it. */
export interface PrefixChange {
  /** The run and the `model.requested` of the later request. */
  readonly runId: string;
  readonly seq: number;
  readonly segment: "instructions" | "tools" | "history";
  /** The section, the tool, or the number of the message, from 0. */
  readonly name: string;
  /** The first other byte of that part in UTF-8. Absent where the record keeps only digests. */
  readonly byte?: number;
  /** A few characters from there on, before and after. */
  readonly before?: string;
  readonly after?: string;
  /** Why it had to change, such as a compacted history; absent where nothing says so. */
  readonly reason?: string;
}

/** What was looked at. */
export interface PrefixReport {
  /** Pairs of consecutive requests. */
  readonly compared: number;
  /** False where the record keeps no values, so that histories were not compared. */
  readonly withHistory: boolean;
  readonly changes: readonly PrefixChange[];
}

/** A part of a request: its name and its text, or its digest where the record has no text. */
interface Part {
  readonly name: string;
  readonly text?: string;
  readonly mark: string;
}

interface Prefix {
  readonly instructions: readonly Part[];
  readonly tools: readonly Part[];
  readonly history: readonly Part[] | undefined;
}

/**
 * Compares every request with the one before it: instructions, then tools, then history (spec adapters.md section 2).
 * `events` are the log of one run, or of several turns of one thread one after the other. What a request adds at
 * its end is no change.
 */
export function lintPrefix(events: Iterable<AnyRunEvent>): PrefixReport {
  const changes: PrefixChange[] = [];
  const reader = new PrefixReader();
  let before: Prefix | undefined;
  let compared = 0;
  let withHistory = true;
  for (const event of events) {
    reader.take(event);
    if (event.type !== "model.requested") continue;
    const after = reader.prefix();
    withHistory &&= after.history !== undefined;
    if (before !== undefined) {
      compared += 1;
      changes.push(...compare(before, after, { event, reasons: reader.reasons }));
    }
    reader.reasons.clear();
    before = after;
  }
  return { compared, withHistory, changes };
}

/** Follows a log, and knows at any time what a request would begin with. */
class PrefixReader {
  /** What changed on purpose since the last request, by segment. */
  readonly reasons = new Map<PrefixChange["segment"], string>();
  #instructions: readonly Part[] = [];
  #tools: readonly Part[] = [];
  #hidden = new Map<string, Part>();
  #history: HistoryBuilder | undefined = new HistoryBuilder();

  take(event: AnyRunEvent): void {
    if (event.type === "run.started") this.#start(event);
    if (event.type === "prompt.composed") this.#compose(event);
    if (event.type === "tools.revealed") this.#reveal(event.data.names);
    if (event.type === "history.compacted") this.reasons.set("history", "the history was compacted");
    if (event.type === "history.repaired") this.reasons.set("history", "the history was repaired");
    try {
      this.#history?.take(event);
    } catch {
      this.#history = undefined; // a leaf without its value: only digests can be compared
    }
  }

  prefix(): Prefix {
    const messages = this.#history?.end().messages;
    return { instructions: this.#instructions, tools: this.#tools, history: messages?.map(messagePart) };
  }

  #start({ data }: RunEvent<"run.started">): void {
    const { tools, definitions } = data.capabilities;
    const texts = new Map(
      listOf(definitions?.value).map((tool) => [String(tool["name"]), canonicalJson(tool)]),
    );
    const deferred = new Set(
      listOf(definitions?.value).flatMap((tool) => (tool["deferred"] === true ? [tool["name"]] : [])),
    );
    const parts = tools.map(({ name, digest }) => partOf(name, digest, texts.get(name)));
    this.#instructions = [];
    this.#tools = parts.filter(({ name }) => !deferred.has(name));
    this.#hidden = new Map(parts.map((part) => [part.name, part]));
    this.#history = new HistoryBuilder();
  }

  #compose({ data }: RunEvent<"prompt.composed">): void {
    const { value } = data.text;
    this.#instructions =
      value === undefined
        ? data.sections.map(({ name, digest }) => ({ name, mark: digest }))
        : [partOf(data.sections.map(({ name }) => name).join(", "), data.digest, value)];
  }

  #reveal(names: readonly string[]): void {
    this.#tools = [...this.#tools, ...names.flatMap((name) => this.#hidden.get(name) ?? [])];
  }
}

interface Change {
  readonly event: RunEvent<"model.requested">;
  readonly reasons: ReadonlyMap<PrefixChange["segment"], string>;
}

/** The first change; what follows it is not cached any more, whatever it is. */
function compare(before: Prefix, after: Prefix, { event, reasons }: Change): readonly PrefixChange[] {
  for (const segment of ["instructions", "tools", "history"] as const) {
    const now = after[segment] ?? [];
    const index = (before[segment] ?? []).findIndex((part, place) => part.mark !== now[place]?.mark);
    const part = before[segment]?.[index];
    if (part === undefined || (segment === "history" && after.history === undefined)) continue;
    const reason = reasons.get(segment);
    return [
      {
        runId: event.runId,
        seq: event.seq,
        segment,
        name: part.name,
        ...difference(part.text, now[index]?.text),
        ...(reason === undefined ? {} : { reason }),
      },
    ];
  }
  return [];
}

const SHOWN = 40;

function difference(
  before: string | undefined,
  after: string | undefined,
): Pick<PrefixChange, "byte" | "before" | "after"> {
  if (before === undefined) return {};
  const other = after ?? "";
  let at = 0;
  while (at < before.length && before[at] === other[at]) at += 1;
  const excerpt = (text: string): string => text.slice(at, at + SHOWN).toWellFormed();
  return {
    byte: Buffer.byteLength(before.slice(0, at)),
    before: excerpt(before),
    ...(after === undefined ? {} : { after: excerpt(after) }),
  };
}

function messagePart(message: Message, index: number): Part {
  const text = canonicalJson(message);
  return { name: String(index), text, mark: text };
}

function partOf(name: string, mark: string, text: string | undefined): Part {
  return text === undefined ? { name, mark } : { name, mark, text };
}

function listOf(value: Json | undefined): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isPlainObject) : [];
}

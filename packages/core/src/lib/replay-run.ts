/** Makes a recorded run again: the real loop, no network, no tool (spec runs.md section 9). */

import type { AIAdapter, ModelCapabilities } from "./adapter.ts";
import { checkLog } from "./check-log.ts";
import { defineAdapter } from "./define-adapter.ts";
import type { Digest } from "./digest.ts";
import { OpenFunctionsError, RecordError } from "./errors.ts";
import { isPlainObject } from "./json.ts";
import { rebuildHistory } from "./rebuild-history.ts";
import { RecordedRun } from "./recorded-run.ts";
import { ReplayClock, recordedOptions, recordedTickets } from "./recorded-options.ts";
import { describeDifference } from "./describe-difference.ts";
import { ToolRegistry } from "./registry.ts";
import { composeInstructions } from "./run-start.ts";
import { RunTools } from "./run-tools.ts";
import { type AnyRunEvent, type RunEvent, isTerminal } from "./run-event.ts";
import { foldRun } from "./run-fold.ts";
import { startLoop } from "./run-loop.ts";
import type { LoopRun } from "./run-options.ts";
import type { ComposedSection } from "./prompt.ts";
import type { ToolView } from "./tool-view.ts";

/** What of today takes the recorded one's place. Default: everything as recorded. */
export interface ReplayOptions {
  /** Tools to compare with: their definitions are sent, none of them runs. */
  readonly tools?: ToolView;
  readonly system?: string | readonly ComposedSection[];
}

/** A replay that came to the end of the record. */
export interface ReplayReport {
  /** The head that was reached; the record's own where `complete`. */
  readonly head: Digest;
  /** How many events were made again. */
  readonly events: number;
  /** False where the record ends by something no loop comes to by itself: an abort, a dead process, or not at all. */
  readonly complete: boolean;
}

/** Where a replay left the record. `nearest` says how a request differs from the recorded one. */
export interface ReplayMiss {
  readonly seq: number;
  readonly expected: string;
  readonly got: string;
  readonly nearest?: string;
}

/** A replay came out differently. */
export class ReplayError extends OpenFunctionsError implements ReplayMiss {
  readonly seq: number;
  readonly expected: string;
  readonly got: string;
  readonly nearest?: string;
  constructor(message: string, miss: ReplayMiss) {
    super(message, { code: "replay_failed", details: miss });
    this.seq = miss.seq;
    this.expected = miss.expected;
    this.got = miss.got;
    if (miss.nearest !== undefined) this.nearest = miss.nearest;
  }
}

/**
 * Runs the loop beside the record. Throws `RecordError` for a record that cannot be replayed (values missing, named by
 * leaf; a direct call), and `ReplayError` at the first event that comes out differently.
 */
export async function replayRun(
  events: readonly AnyRunEvent[],
  options: ReplayOptions = {},
): Promise<ReplayReport> {
  checkLog(events);
  const [first] = events;
  if (first?.type !== "run.started" || first.data.kind === "call")
    throw new RecordError("A direct call has no loop; there is nothing to replay.");
  if (first.data.history === undefined && !events.some((event) => event.type === "message.appended"))
    throw new RecordError("The record ends before the run was asked anything.");
  checkLeaves(events);
  const recorded = new RecordedRun(events);
  const replay = new Replay(first, recorded, options);
  await replay.run();
  const { matched } = recorded;
  const fellShort = recorded.divergence !== undefined || matched < events.length;
  if (fellShort && !endsFromOutside(events, matched)) throw replay.miss();
  const head = events[matched - 1]?.hash ?? first.prev;
  const last = events[matched - 1]?.type ?? "run.started";
  const complete = matched === events.length && (isTerminal(last) || last === "run.suspended");
  return { head, events: matched, complete };
}

/** The replayed model is asked what the recorded one was asked; what it can do decides nothing any more. */
const REPLAYED: ModelCapabilities = {
  parallelCalls: true,
  forcedChoice: true,
  jsonSchema: true,
  jsonSchemaWithTools: true,
  images: true,
  priced: true,
};

class Replay {
  readonly #first: RunEvent<"run.started">;
  readonly #recorded: RecordedRun;
  readonly #options: ReplayOptions;
  readonly #clock: ReplayClock;

  constructor(first: RunEvent<"run.started">, recorded: RecordedRun, options: ReplayOptions) {
    this.#first = first;
    this.#recorded = recorded;
    this.#options = options;
    this.#clock = new ReplayClock(Date.parse(first.at));
  }

  async run(): Promise<void> {
    const { tools, system } = this.#options;
    const recorded = this.#recorded;
    const loop = {
      ...recordedOptions(this.#first, recorded.events),
      adapter: this.#model(),
      ports: { clock: this.#clock },
      policy: recorded.policy(),
      compactor: { compact: () => Promise.resolve(recorded.compaction()) },
      ...(tools === undefined ? {} : { tools }),
      ...(system === undefined ? {} : { system }),
    };
    await this.#drive(startLoop(loop, { replay: recorded }));
    while (recorded.divergence === undefined && recorded.next?.type === "run.resumed") {
      const events = recorded.events.slice(0, recorded.matched);
      const [record, history] = [foldRun(events), rebuildHistory(events)];
      const tickets = recordedTickets(recorded.events, recorded.matched);
      const resumption = { events, record, history, tickets, drift: [] };
      const { messages } = history;
      await this.#drive(startLoop({ ...loop, messages }, { replay: recorded, resumption }));
    }
  }

  miss(): ReplayError {
    const { divergence } = this.#recorded;
    const { seq = this.#recorded.matched, expected = this.#recorded.next, got } = divergence ?? {};
    const isRequest = got?.type === "model.requested" && expected?.type === "model.requested";
    const nearest = isRequest ? this.#nearest(seq) : describeDifference(expected?.data, got?.data);
    const miss = { seq, expected: expected?.type ?? "the end of the record", got: got?.type ?? "nothing" };
    const where = nearest === "" ? "" : `\n${nearest}`;
    return new ReplayError(
      `The replay left the record at event ${seq}: it recorded ${miss.expected}, and now comes ${miss.got}.${where}`,
      nearest === "" ? miss : { ...miss, nearest },
    );
  }

  async #drive(run: LoopRun): Promise<void> {
    const { wallMs } = this.#first.data.limits;
    this.#recorded.control = {
      stop: (reason) => run.abort(reason),
      steer: (text) => run.steer(text),
      expire: () => this.#clock.expire(wallMs),
    };
    try {
      await Promise.race([run.result, this.#untilStuck()]);
    } catch (cause) {
      // The loop cannot end where the record does not: its last event was refused.
      if (this.#recorded.divergence === undefined) throw cause;
    } finally {
      run.abort("the replay is over");
    }
  }

  /** Nothing in a replay waits for the world, so a loop that makes no event any more waits for one that never comes. */
  async #untilStuck(): Promise<void> {
    const recorded = this.#recorded;
    for (let matched = -1, turns = 0; turns < STUCK_TURNS; turns += 1) {
      if (recorded.matched !== matched) [matched, turns] = [recorded.matched, 0];
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #model(): AIAdapter {
    const { provider = "none", requested = "none" } = this.#first.data.model ?? {};
    const recorded = this.#recorded;
    return defineAdapter({
      provider,
      model: requested,
      capabilities: REPLAYED,
      stream: (request) => recorded.reply(request.signal ?? new AbortController().signal),
    });
  }

  /** How the request that is made now differs from the one the record holds at this place. */
  #nearest(seq: number): string {
    const { events, asked } = this.#recorded;
    const { tools, system } = recordedOptions(this.#first, events);
    const listed = new RunTools(tools ?? new ToolRegistry()).listed();
    const { messages } = rebuildHistory(events.slice(0, seq));
    const { text } = composeInstructions(system === undefined ? {} : { system });
    const recorded = {
      system: text === "" ? undefined : text,
      tools: listed.length === 0 ? undefined : listed,
      messages,
    };
    return describeDifference(recorded, {
      system: asked?.system,
      tools: asked?.tools,
      messages: asked?.messages,
    });
  }
}

/** How often the event loop turns without an event before a replay is taken to be stuck. */
const STUCK_TURNS = 2_000;

/** True where the replay stands before an end that somebody outside the loop made, or where the record just stops. */
function endsFromOutside(events: readonly AnyRunEvent[], matched: number): boolean {
  const next = events[matched];
  if (next === undefined) return true;
  if (next?.type === "run.cancelled") return true;
  return next?.type === "run.failed" && next.data.stopReason === "internal_error";
}

/** Names every leaf whose value the record lacks. */
function checkLeaves(events: readonly AnyRunEvent[]): void {
  const missing = events.flatMap((event) => emptyLeaves(event.data, `event ${event.seq} /data`));
  if (missing.length === 0) return;
  const shown = missing.slice(0, MAX_SHOWN).join(", ");
  const more = missing.length > MAX_SHOWN ? ` and ${missing.length - MAX_SHOWN} more` : "";
  throw new RecordError(`The record lacks ${missing.length} values: ${shown}${more}.`, {
    hint: 'Only runs recorded with capture "full", and not redacted, can be replayed.',
  });
}

const MAX_SHOWN = 10;

function emptyLeaves(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => emptyLeaves(item, `${path}/${index}`));
  if (!isPlainObject(value)) return [];
  if (typeof value["$sealed"] === "string") return value["value"] === undefined ? [path] : [];
  return Object.entries(value).flatMap(([key, item]) => emptyLeaves(item, `${path}/${key}`));
}

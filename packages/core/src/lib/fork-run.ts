/** Goes on from a point of a recorded run as a new run (spec runs.md section 9). */

import type { AIAdapter } from "./adapter.ts";
import { coversTool } from "./authority.ts";
import type { ScopeAnswer } from "./call-context.ts";
import { checkLog } from "./check-log.ts";
import { isReadOnly } from "./contract.ts";
import { type Digest, digest } from "./digest.ts";
import { RecordError } from "./errors.ts";
import type { JsonObject } from "./json.ts";
import type { Message } from "./message.ts";
import { openLeaf, rebuildHistory } from "./rebuild-history.ts";
import { recordedOptions, recordedRequest } from "./recorded-options.ts";
import type { CallResult } from "./result.ts";
import type { AnyRunEvent } from "./run-event.ts";
import { startLoop } from "./run-loop.ts";
import type { LoopOptions, LoopRun } from "./run-options.ts";
import { type Clock, systemClock } from "./ports.ts";
import type { Grant } from "./principal.ts";
import type { Tool } from "./tool.ts";
import type { ToolView } from "./tool-view.ts";

/** Where and how a run is forked. What is left out is as in the record. */
export interface ForkOptions extends Omit<
  Partial<LoopOptions>,
  "adapter" | "tools" | "messages" | "known" | "runId" | "lineage" | "parent" | "policy"
> {
  /** The first event that does not happen any more, or the round to ask again. */
  readonly at: number | { readonly round: number };
  readonly adapter: AIAdapter;
  /** Said after the point of the fork. */
  readonly messages?: readonly Message[];
  /**
   * Where calls go that the record does not answer: nowhere (default), or to these tools. A write among them needs a
   * grant of this fork; the old run's grants and approvals are not taken over.
   */
  readonly tools?: "recorded" | ToolView;
}

/**
 * Starts the fork: the turns up to the point, then the adapter. Calls equal to recorded ones are answered from the
 * record. Run id, keys and tickets are its own. Throws `RecordError` for a point the record does not have and for a
 * record without values.
 */
export function forkRun(events: readonly AnyRunEvent[], options: ForkOptions): LoopRun {
  const [first] = events;
  if (first?.type !== "run.started") throw new RecordError('A record begins with "run.started".');
  checkLog(events);
  const { at, adapter, messages = [], tools = "recorded", grants = [], ...rest } = options;
  const seq = pointOf(events, at);
  const { messages: turns, open } = rebuildHistory(events.slice(0, seq));
  // A turn whose calls are not all answered by then is asked again.
  const history = [...(open.length === 0 ? turns : turns.slice(0, -1)), ...messages];
  const { taskId, threadId } = first.data.lineage;
  const { tools: recorded, system, kind, actor, principal, owner, limits } = recordedOptions(first, events);
  const live = tools === "recorded" ? undefined : tools;
  const clock = rest.ports?.clock ?? systemClock;
  const answers = new RecordedAnswers(events, { isLive: live !== undefined, grants, clock });
  const loop: LoopOptions = {
    ...(system === undefined ? {} : { system }),
    kind,
    actor,
    principal,
    owner,
    limits,
    capture: first.data.capture,
    ...recordedRequest(first.data),
    ...rest,
    adapter,
    grants,
    messages: history,
    known: history.length - messages.length,
    tools: live ?? recorded,
    lineage: {
      ...(taskId === undefined ? {} : { taskId }),
      ...(threadId === undefined ? {} : { threadId }),
      forkOf: { runId: first.runId, seq },
    },
  } as LoopOptions; // Proof: kind, actor, principal, owner and limits of a recorded run are always there
  return startLoop(loop, { answer: (tool, args) => answers.answer(tool, args) });
}

function pointOf(events: readonly AnyRunEvent[], at: ForkOptions["at"]): number {
  const seq =
    typeof at === "number"
      ? at
      : events.findIndex((event) => event.type === "model.requested" && event.data.round === at.round);
  if (Number.isInteger(seq) && seq > 0 && seq <= events.length) return seq;
  throw new RecordError(
    `The record has no ${typeof at === "number" ? `event ${at}` : `round ${at.round}`} to fork at.`,
    { hint: `Use an event from 1 to ${events.length}, or a round from 0.` },
  );
}

/** What a fork may do beyond its record. */
interface LiveRights {
  readonly isLive: boolean;
  readonly grants: readonly Grant[];
  readonly clock: Clock;
}

/** Recorded results by what was asked. */
class RecordedAnswers {
  readonly #answers = new Map<Digest, ScopeAnswer>();
  readonly #live: LiveRights;

  constructor(events: readonly AnyRunEvent[], live: LiveRights) {
    this.#live = live;
    const asked = new Map<string, Digest>();
    for (const event of events) {
      if (event.type === "tool.requested") {
        const args = openLeaf(event.data.args, { seq: event.seq, leaf: "/data/args" });
        asked.set(event.data.callId, callKey(event.data.toolName, args));
      } else if (event.type === "tool.finished" || event.type === "tool.replayed") {
        const key = asked.get(event.data.callId);
        const result = openLeaf(event.data.result, { seq: event.seq, leaf: "/data/result" });
        const { callId } = event.data;
        const plain = result as unknown as CallResult; // Proof: sealed by the pipeline as a result without its call id
        if (key !== undefined) this.#answers.set(key, { type: "replay", result: plain, replayOf: callId });
      }
    }
  }

  /** The recorded result, a refusal, or undefined where the call may run. */
  answer(tool: Tool, args: JsonObject): ScopeAnswer | undefined {
    const known = this.#answers.get(callKey(tool.name, args));
    if (known !== undefined) return known;
    if (!this.#live.isLive) return { type: "refuse", ...NO_ANSWER };
    const { grants, clock } = this.#live;
    const mayRun = isReadOnly(tool.contract) || coversTool(tool, grants, clock.now());
    return mayRun ? undefined : { type: "refuse", ...NO_GRANT };
  }
}

const NO_ANSWER = {
  code: "not_permitted",
  message: "The record holds no answer to this call, and the fork has no tools of its own.",
};
const NO_GRANT = {
  code: "approval_required",
  message: "A fork may write only with a grant of its own. The call did not run.",
};

function callKey(name: string, args: unknown): Digest {
  return digest("call-key/1", { name, args });
}

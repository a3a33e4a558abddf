/** The guard of a run against too many calls and against the same call over and over. */

import type { RunLimits } from "./run-limits.ts";
import type { ToolCallRecord } from "./run-record.ts";
import type { Tool } from "./tool.ts";

/** Why a call is not let through, with the sentence the model reads. */
export interface GuardRefusal {
  readonly code: "quota_exceeded" | "repeated_call";
  readonly message: string;
}

/**
 * Counts the calls of one run. After `maxRepeats` calls in a row with equal tool, arguments and result, the next
 * equal one is refused; after as many refusals `exhausted` is true and the run ends.
 */
export class CallGuard {
  readonly #limits: RunLimits;
  readonly #perTool = new Map<string, number>();
  #total = 0;
  #streak = { key: "", result: "", count: 0 };
  #refusals = 0;
  #overQuota = false;

  constructor(limits: RunLimits) {
    this.#limits = limits;
  }

  /** Calls let through so far. */
  get total(): number {
    return this.#total;
  }

  /** True once a call was refused because the run had made all it may make. */
  get overQuota(): boolean {
    return this.#overQuota;
  }

  /** True once the model insisted on a refused call as often as it was allowed to repeat it. */
  get exhausted(): boolean {
    return this.#refusals > 0 && this.#refusals >= this.#limits.maxRepeats;
  }

  /** Counts in what the run called before it was suspended. */
  restore(calls: readonly ToolCallRecord[]): void {
    for (const { toolName } of calls.filter((call) => call.startedAt !== undefined)) {
      this.#total += 1;
      this.#perTool.set(toolName, (this.#perTool.get(toolName) ?? 0) + 1);
    }
  }

  /** Counts the call in, or says why not. `argsText` is the JSON text of its arguments. */
  admit(tool: Tool, argsText: string): GuardRefusal | undefined {
    const count = this.#perTool.get(tool.name) ?? 0;
    const allowed = tool.contract.limits?.maxCallsPerRun ?? Number.POSITIVE_INFINITY;
    if (count >= allowed) {
      return quota(`"${tool.name}" may be called ${allowed} times in one run and was. Go on without it.`);
    }
    if (this.#total >= this.#limits.maxToolCalls) {
      this.#overQuota = true;
      return quota(
        `This run may make ${this.#limits.maxToolCalls} tool calls and has made them. Answer with what is known.`,
      );
    }
    const repeated = this.#checkRepeat(tool, argsText);
    if (repeated !== undefined) return repeated;
    this.#total += 1;
    this.#perTool.set(tool.name, count + 1);
    return undefined;
  }

  /** Notes how a call that was let through ended. `resultText` is the JSON text of its result. */
  finished(tool: Tool, argsText: string, resultText: string): void {
    const key = `${tool.name} ${argsText}`;
    const same = this.#streak.key === key && this.#streak.result === resultText;
    this.#streak = { key, result: resultText, count: same ? this.#streak.count + 1 : 1 };
  }

  #checkRepeat(tool: Tool, argsText: string): GuardRefusal | undefined {
    const same = this.#streak.key === `${tool.name} ${argsText}`;
    if (!same || this.#streak.count < this.#limits.maxRepeats) {
      this.#refusals = 0;
      return undefined;
    }
    this.#refusals += 1;
    const message =
      `"${tool.name}" gave the same result to the same arguments ${this.#streak.count} times in a row; it was not ` +
      "run again. Use that result, change the arguments, or answer.";
    return { code: "repeated_call", message };
  }
}

function quota(message: string): GuardRefusal {
  return { code: "quota_exceeded", message };
}

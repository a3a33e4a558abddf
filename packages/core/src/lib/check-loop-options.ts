/** Options that cannot work are refused before a run begins. */

import { ConfigError, InputError } from "./errors.ts";
import { DEFAULT_LIMITS } from "./run-limits.ts";
import type { LoopOptions } from "./run-options.ts";

const LIMIT_NAMES = [...Object.keys(DEFAULT_LIMITS), "maxInputTokens", "maxOutputTokens", "maxCostUsd"];

/** Throws `InputError` without messages, `ConfigError` for a limit that is none or cannot be kept. */
export function checkLoopOptions({ adapter, limits, messages }: LoopOptions): void {
  if (!Array.isArray(messages) || messages.length === 0)
    throw new InputError("A run needs at least one message.");
  for (const [key, value] of Object.entries(limits ?? {})) {
    if (!LIMIT_NAMES.includes(key)) {
      throw new ConfigError(`There is no limit "${key}". Limits: ${LIMIT_NAMES.join(", ")}.`, {
        code: "invalid_config",
      });
    }
    if (typeof value === "number" && value >= 0) continue;
    throw new ConfigError(`Limit "${key}" is ${String(value)}; use a number that is not negative.`, {
      code: "invalid_config",
    });
  }
  if (limits?.maxCostUsd !== undefined && !adapter.capabilities.priced) {
    throw new ConfigError(`maxCostUsd cannot be kept: no price is known for "${adapter.model}".`, {
      code: "invalid_config",
    });
  }
}

/** Runs a handler once, and stops waiting when its call is stopped. */

import type { CallControl } from "./call-control.ts";
import type { Tool, ToolContext } from "./tool.ts";

/** How the wait for a handler ended. `late` resolves when a handler that outlived its call comes to its end. */
export type HandlerEnd =
  | { readonly type: "returned"; readonly value: unknown }
  | { readonly type: "threw"; readonly error: unknown }
  | { readonly type: "stopped"; readonly late?: Promise<void> };

/** Starts the handler and waits for it or for the stop. Late values and errors are ignored. */
export function runHandler(
  tool: Tool,
  input: { readonly params: unknown; readonly context: ToolContext },
  control: CallControl,
): HandlerEnd | Promise<HandlerEnd> {
  let value: unknown;
  try {
    value = tool.handler(input.params as never, input.context); // Proof: params passed the tool's own inputSchema
    if (!isThenable(value)) return { type: "returned", value };
  } catch (error) {
    return { type: "threw", error };
  }
  return race(Promise.resolve(value), control);
}

function race(value: Promise<unknown>, control: CallControl): Promise<HandlerEnd> {
  return new Promise((resolve) => {
    const late = value.then(
      (result) => resolve({ type: "returned", value: result }),
      (error: unknown) => resolve({ type: "threw", error }),
    );
    control.onStop(() => resolve({ type: "stopped", late }));
  });
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

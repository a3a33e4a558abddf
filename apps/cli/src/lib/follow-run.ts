/** Shows a run as it happens: text as it comes, each call with its arguments, result and time. */

import {
  type AnyRunEvent,
  type LiveEvent,
  type LoopResult,
  type LoopRun,
  isChainEvent,
} from "@openfunctions/core";
import { note, oneLine, paint } from "./output.ts";

const MAX_SHOWN = 300;

/** Reads the run to its end; `write` gets the answer's text as it comes. `known` names calls that were asked for before. */
export async function followRun(
  run: LoopRun,
  write: (text: string) => void,
  known: Iterable<readonly [string, string]> = [],
): Promise<LoopResult> {
  const said: Said = { names: new Map(known), warned: new Set() };
  for await (const event of run) {
    if (isChainEvent(event)) showEvent(event, said);
    else if (event.type === "text.delta") write(textOfDelta(event));
  }
  return run.result;
}

function textOfDelta({ data }: LiveEvent): string {
  return typeof data === "object" && data !== null && "text" in data && typeof data.text === "string"
    ? data.text
    : "";
}

/** What was said of a run before; a warning comes with every model call. */
interface Said {
  readonly names: Map<string, string>;
  readonly warned: Set<string>;
}

function showEvent(event: AnyRunEvent, { names, warned }: Said): void {
  if (event.type === "tool.requested") {
    names.set(event.data.callId, event.data.toolName);
    note(paint("dim", `→ ${oneLine(event.data.toolName)} ${shorten(event.data.args.value)}`));
  } else if (event.type === "tool.finished") {
    const { outcome, durationMs, callId, result } = event.data;
    const colour = outcome === "succeeded" ? "dim" : outcome === "unknown" ? "yellow" : "red";
    note(paint(colour, `← ${nameOf(names, callId)} ${outcome} in ${durationMs} ms ${shorten(result.value)}`));
  } else if (event.type === "tool.refused") {
    note(paint("yellow", `← ${nameOf(names, event.data.callId)} not started: ${event.data.code}`));
  } else if (event.type === "tool.replayed") {
    const { callId, outcome, result } = event.data;
    note(paint("dim", `← ${nameOf(names, callId)} ${outcome}, as before ${shorten(result.value)}`));
  } else if (event.type === "model.retried") {
    note(paint("yellow", `asking again (${oneLine(event.data.reason)}, ${event.data.delayMs} ms)`));
  } else if (event.type === "model.reset") {
    note(paint("yellow", `the answer broke off and is asked for again`));
  } else if (event.type === "model.fallback") {
    note(paint("yellow", `${oneLine(event.data.to)} answers for ${oneLine(event.data.from)}`));
  } else if (event.type === "model.responded") {
    for (const { code, detail } of event.data.warnings ?? []) {
      if (warned.has(code)) continue;
      warned.add(code);
      note(paint("yellow", `note (${oneLine(code)}): ${oneLine(detail)}`));
    }
  }
}

function nameOf(names: ReadonlyMap<string, string>, callId: string): string {
  return oneLine(names.get(callId) ?? callId);
}

function shorten(value: unknown): string {
  const text = oneLine(JSON.stringify(value) ?? "");
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}

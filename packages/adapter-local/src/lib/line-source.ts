/** A reply of one JSON value per line, as batches of parsed events. */

import { ProtocolError } from "@openfunctions/core";
import type { BodyResponse, WireSource } from "@openfunctions/core/wire";

/** The longest line taken. */
const MAX_LINE_CHARS = 32 * 1024 * 1024;

/**
 * Reads lines as they arrive. A line that is not JSON throws `ProtocolError`, unless it is the last one, cut off with
 * the body: that one is left out, so that the decoder reports the cut.
 */
export function lineSource(response: BodyResponse): WireSource {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let ended = reader === undefined;
  const close = (): void => void reader?.cancel().catch(() => {});
  return {
    read: async () => {
      while (!ended) {
        const next = await reader?.read();
        ended = next === undefined || next.done;
        rest += ended ? decoder.decode() : decoder.decode(next?.value, { stream: true });
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        if (rest.length > MAX_LINE_CHARS) throw new ProtocolError("A line of the reply is too long.");
        const events = lines.flatMap((line) => parse(line));
        if (ended) events.push(...parse(rest, true));
        if (events.length > 0) return events;
      }
      return undefined;
    },
    finish: close,
    close,
  };
}

function parse(line: string, mayBeCut: boolean = false): unknown[] {
  if (line.trim() === "") return [];
  try {
    return [JSON.parse(line)];
  } catch (cause) {
    if (mayBeCut) return [];
    throw new ProtocolError("A line of the reply is not JSON.", { cause });
  }
}

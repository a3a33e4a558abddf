/** Calls that a small model writes as text instead of making them. */

import { isPlainObject, type ModelEvent } from "@openfunctions/core";
import {
  callIdOf,
  type DecoderOptions,
  parseToolArguments,
  type StreamDecoder,
} from "@openfunctions/core/wire";

/** How text is watched. */
export interface TextCallOptions {
  /** The names of the tools that were offered. */
  readonly tools: readonly string[];
  /** True where text that is a call becomes one. */
  readonly parse: boolean;
  readonly restore?: DecoderOptions["restore"];
}

/** The most text that is looked at: a call written as text is the whole reply, and short. */
const MAX_WATCHED_CHARS = 4_000;

/**
 * Text that is a JSON call of an offered tool, alone or in a list or a fence, raises the warning `call_as_text`. It
 * stays text, since text is no permission to run anything, unless `parse` is set: then text that may be a call is held
 * back until it ends, and is a call or is said after all. Spec adapters.md section 12.
 */
export function watchForTextCalls(decoder: StreamDecoder, options: TextCallOptions): StreamDecoder {
  const watch = new TextWatch(options);
  const through = (read: (out: ModelEvent[]) => void, out: ModelEvent[]): void => {
    const events: ModelEvent[] = [];
    read(events);
    for (const event of events) watch.take(event, out);
  };
  return {
    get finished() {
      return decoder.finished;
    },
    push: (event, out) => through((events) => decoder.push(event, events), out),
    end: (out) => through((events) => decoder.end(events), out),
  };
}

class TextWatch {
  readonly #options: TextCallOptions;
  #text = "";
  #held: ModelEvent[] = [];
  #calls = 0;

  constructor(options: TextCallOptions) {
    this.#options = options;
  }

  take(event: ModelEvent, out: ModelEvent[]): void {
    if (event.type === "finish") return this.#finish(event, out);
    if (event.type === "tool_call_delta" || event.type === "tool_call") {
      this.#calls += 1;
      // Beside a real call text is no call, and it stands where it was said.
      out.push(...this.#held.splice(0));
    }
    if (event.type !== "text_delta") return void out.push(event);
    if (this.#text.length < MAX_WATCHED_CHARS) this.#text += event.text;
    if (this.#mayBeCall()) return void this.#held.push(event);
    out.push(...this.#held.splice(0), event);
  }

  #mayBeCall(): boolean {
    const { parse, tools } = this.#options;
    if (!parse || tools.length === 0 || this.#calls > 0 || this.#text.length >= MAX_WATCHED_CHARS)
      return false;
    const begin = this.#text.trimStart();
    return begin === "" || /^[{[]/.test(begin) || "```json".startsWith(begin) || begin.startsWith("```");
  }

  #finish(finish: ModelEvent & { readonly type: "finish" }, out: ModelEvent[]): void {
    const { tools, parse, restore } = this.#options;
    const calls = this.#calls === 0 && finish.reason === "stop" ? callsIn(this.#text, tools) : [];
    const names = calls.map(({ name }) => `"${name}"`).join(", ");
    const detail = `The model wrote a call of ${names} as text${parse ? ", which was taken for one" : ""}.`;
    if (calls.length > 0) out.push({ type: "warning", code: "call_as_text", detail });
    if (calls.length === 0 || !parse) return void out.push(...this.#held.splice(0), finish);
    for (const [index, { name, given }] of calls.entries()) {
      const { args, argsText } = parseToolArguments(given);
      const callId = callIdOf("");
      out.push({ type: "tool_call_delta", index, callId, name, argsText });
      out.push({ type: "tool_call", index, callId, name, args: restore?.(name, args) ?? args, argsText });
    }
    out.push({ type: "finish", reason: "tool_calls" });
  }
}

interface TextCall {
  readonly name: string;
  /** An object, or the text of one. */
  readonly given: unknown;
}

/** Every call, or none where the text is anything besides. */
function callsIn(text: string, tools: readonly string[]): readonly TextCall[] {
  const bare = text.trim().replace(/^```(?:json)?\s*|\s*```$/g, "");
  if (!/^[{[]/.test(bare) || tools.length === 0 || text.length >= MAX_WATCHED_CHARS) return [];
  try {
    const said: unknown = JSON.parse(bare);
    const calls = (Array.isArray(said) ? said : [said]).map((one) => callOf(one, tools));
    return calls.every((call) => call !== undefined) ? calls : [];
  } catch {
    // Text that is not JSON is just text.
    return [];
  }
}

function callOf(said: unknown, tools: readonly string[]): TextCall | undefined {
  if (!isPlainObject(said)) return undefined;
  const call = isPlainObject(said["function"]) ? said["function"] : said;
  // A tool that is described, not called: its parameters are a schema.
  if (Object.hasOwn(call, "description")) return undefined;
  const name = call["name"] ?? call["tool"] ?? call["function"];
  const given = call["arguments"] ?? call["parameters"] ?? call["args"] ?? call["input"] ?? {};
  const known = tools.find((tool) => tool === name);
  if (known === undefined || parseToolArguments(given).argsError !== undefined) return undefined;
  return { name: known, given };
}

/** Gathers the tool calls of a chat-completions reply, whatever a server does to ids, names and indexes. */

import type { ModelEvent } from "./adapter.ts";
import { defined } from "./defined.ts";
import type { JsonObject } from "./json.ts";
import { parseToolArguments } from "./tool-arguments.ts";
import { callIdOf, isRecord, recordAt, stringAt, type WireRecord } from "./wire-fields.ts";

interface Slot {
  readonly index: number;
  id: string;
  name: string;
  text: string;
  /** Arguments that came as an object instead of text. */
  whole: unknown;
  said: boolean;
}

/**
 * One assembler for streamed and whole replies. Names are assigned, arguments appended (case field A5). Deltas
 * belong together by `index` (A8), also when the server changes the id in every one of them (A7); without an
 * index they belong to the call with their id, else to the last call. A new call starts where index and id are
 * new, or where one index brings another name or follows complete arguments with another id (some servers
 * number every call 0).
 */
export class ChatCalls {
  readonly #slots: Slot[] = [];
  readonly #byIndex = new Map<number, Slot>();

  get count(): number {
    return this.#slots.length;
  }

  /** Takes one entry of `tool_calls` (or a legacy `function_call` in the same shape). */
  add(entry: unknown, out: ModelEvent[]): void {
    if (!isRecord(entry)) return;
    const call = recordAt(entry, "function") ?? entry;
    const id = stringAt(entry, "id");
    const name = stringAt(call, "name");
    const slot = this.#slotOf(entry, { id, name });
    if (slot.id === "") slot.id = id;
    if (name !== "") slot.name = name;
    const argsText = this.#append(slot, call);
    if (argsText !== "" || !slot.said) out.push(deltaOf(slot, argsText));
    slot.said ||= slot.name !== "";
  }

  /** Ends every call, in the order they began. True where the arguments of one were cut off. */
  finish(out: ModelEvent[], restore?: (name: string, args: JsonObject) => JsonObject): boolean {
    let truncated = false;
    for (const slot of this.#slots) {
      const parsed = parseToolArguments(slot.whole ?? slot.text);
      truncated ||= parsed.truncated === true;
      const { argsText, argsError } = parsed;
      const args = argsError === undefined ? (restore?.(slot.name, parsed.args) ?? parsed.args) : parsed.args;
      const { index, id, name } = slot;
      const callId = callIdOf(id);
      out.push(defined({ type: "tool_call" as const, index, callId, name, args, argsText, argsError }));
    }
    return truncated;
  }

  #append(slot: Slot, call: WireRecord): string {
    const raw = call["arguments"];
    if (typeof raw === "string") {
      slot.text += raw;
      return raw;
    }
    if (!isRecord(raw)) return "";
    slot.whole = raw;
    return JSON.stringify(raw);
  }

  #slotOf(entry: WireRecord, said: { readonly id: string; readonly name: string }): Slot {
    const index = entry["index"];
    if (typeof index !== "number") return this.#withoutIndex(said);
    const known = this.#byIndex.get(index);
    if (known !== undefined && !startsAnother(known, said)) return known;
    const slot = this.#open();
    this.#byIndex.set(index, slot);
    return slot;
  }

  #withoutIndex(said: { readonly id: string; readonly name: string }): Slot {
    const last = this.#slots.at(-1);
    if (said.id !== "") {
      const same = this.#slots.find((slot) => slot.id === said.id);
      if (same !== undefined) return same;
      // A late id completes a call that had none; any other new id with a name is a new call.
      return last !== undefined && (last.id === "" || said.name === "") ? last : this.#open();
    }
    if (last === undefined || (said.name !== "" && startsAnother(last, said))) return this.#open();
    return last;
  }

  #open(): Slot {
    const slot: Slot = {
      index: this.#slots.length,
      id: "",
      name: "",
      text: "",
      whole: undefined,
      said: false,
    };
    this.#slots.push(slot);
    return slot;
  }
}

function startsAnother(slot: Slot, said: { readonly id: string; readonly name: string }): boolean {
  if (said.name === "" || slot.name === "") return false;
  if (slot.id !== "" && said.id === slot.id) return false;
  if (said.name !== slot.name) return true;
  return (
    slot.whole !== undefined || (slot.text !== "" && parseToolArguments(slot.text).argsError === undefined)
  );
}

/** Id and name are said until there is a name. */
function deltaOf({ index, id, name, said }: Slot, argsText: string): ModelEvent {
  if (said) return { type: "tool_call_delta", index, argsText };
  const news = { callId: id || undefined, name: name || undefined };
  return defined({ type: "tool_call_delta" as const, index, ...news, argsText });
}

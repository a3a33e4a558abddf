/** Takes the value out of one sealed leaf of an event; the chain holds, since it covers only what is left. */

import { RecordError } from "./errors.ts";
import { isPlainObject } from "./json.ts";
import type { RedactionLine } from "./record-line.ts";
import type { AnyRunEvent } from "./run-event.ts";

/** The event without value and salt of the leaf a redaction names. Throws `RecordError` where there is none. */
export function redactEvent(event: AnyRunEvent | undefined, redaction: RedactionLine): AnyRunEvent {
  if (event === undefined) throw new RecordError(`The run has no event ${redaction.seq}.`);
  const [, ...path] = redaction.leaf
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  return without(event, path, redaction.leaf) as AnyRunEvent; // Proof: only a sealed leaf lost two optional fields
}

function without(value: unknown, path: readonly string[], leaf: string): unknown {
  const [key, ...rest] = path;
  if (key === undefined) {
    if (!isPlainObject(value) || typeof value["$sealed"] !== "string")
      throw new RecordError(`There is no sealed leaf at "${leaf}".`);
    return { $sealed: value["$sealed"] };
  }
  if (Array.isArray(value)) {
    const index = Number(key);
    if (!(index in value)) throw new RecordError(`There is no sealed leaf at "${leaf}".`);
    return value.map((item, at) => (at === index ? without(item, rest, leaf) : item));
  }
  if (!isPlainObject(value) || !Object.hasOwn(value, key))
    throw new RecordError(`There is no sealed leaf at "${leaf}".`);
  return { ...value, [key]: without(value[key], rest, leaf) };
}

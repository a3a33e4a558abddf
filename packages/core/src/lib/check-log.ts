/** Refuses a log that is not what was written, before anything is made of it. */

import { RecordError } from "./errors.ts";
import { isPlainObject } from "./json.ts";
import { type AnyRunEvent, chainStart, hashEvent } from "./run-event.ts";
import { type Sealed, resealed } from "./sealed.ts";

/** Throws `RecordError` at the first event that does not continue the chain, or whose values are not those sealed. */
export function checkLog(events: readonly AnyRunEvent[]): void {
  const [first] = events;
  if (!isPlainObject(first) || first["type"] !== "run.started" || typeof first["runId"] !== "string")
    throw new RecordError('A record begins with "run.started".');
  let prev = chainStart(first["runId"]);
  for (const [index, event] of events.entries()) {
    const fault = faultOf(event, index);
    if (fault !== undefined || event.prev !== prev || event.hash !== hashEvent(event)) {
      throw new RecordError(`Event ${index} of the record ${fault ?? "does not continue its chain"}.`, {
        hint: "`openfunctions runs verify` lists all that is wrong with it.",
      });
    }
    prev = event.hash;
  }
}

function faultOf(event: AnyRunEvent, index: number): string | undefined {
  if (!isPlainObject(event) || !isPlainObject(event["data"]) || event["seq"] !== index)
    return "is out of order";
  const leaf = wrongLeaf(event["data"], "/data");
  return leaf === undefined ? undefined : `holds a value at "${leaf}" that does not match its digest`;
}

/** The path of the first sealed leaf whose value is another than was sealed. */
function wrongLeaf(value: unknown, path: string): string | undefined {
  if (Array.isArray(value)) return firstOf(value.entries(), path);
  if (!isPlainObject(value)) return undefined;
  if (typeof value["$sealed"] !== "string") return firstOf(Object.entries(value), path);
  const { $sealed, salt, value: held } = value as unknown as Sealed<unknown>; // Proof: its digest is there
  if (held === undefined) return undefined;
  return typeof salt === "string" && resealed(held, salt).$sealed === $sealed ? undefined : path;
}

function firstOf(items: Iterable<readonly [string | number, unknown]>, path: string): string | undefined {
  for (const [key, item] of items) {
    const leaf = wrongLeaf(item, `${path}/${key}`);
    if (leaf !== undefined) return leaf;
  }
  return undefined;
}

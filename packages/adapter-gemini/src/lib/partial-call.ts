/** The arguments of a function call that arrives in pieces, each naming a place in them. */

import type { Json } from "@openfunctions/core";
import { isRecord, stringAt } from "@openfunctions/core/wire";

const STEPS = /\.([^.[\]]+)|\[(\d+)\]|\[['"]([^'"]*)['"]\]/g;

/**
 * Gathers `partialArgs` (@google/genai 3.3.0, PartialArg; fixture google/google-vertex-stream-tool-call-*). Text for the
 * place that was written last goes on, everything else is assigned. Only Vertex sends these, and only when asked.
 */
export class PartialArguments {
  readonly args: Record<string, Json> = {};
  #open: string | undefined;

  add(piece: unknown): void {
    if (!isRecord(piece)) return;
    const path = stringAt(piece, "jsonPath");
    const steps = [...path.matchAll(STEPS)].map(([, name, index, quoted]) =>
      index === undefined ? (name ?? quoted ?? "") : Number(index),
    );
    const last = steps.pop();
    if (last === undefined) return;
    let holder: object = this.args;
    for (const [at, step] of steps.entries()) {
      const known = ownValue(holder, step);
      const inner: object = isRecord(known) ? known : typeof (steps[at + 1] ?? last) === "number" ? [] : {};
      assign(holder, step, inner);
      holder = inner;
    }
    const before = ownValue(holder, last);
    const value = piece["stringValue"] ?? piece["numberValue"] ?? piece["boolValue"] ?? null;
    const goesOn = this.#open === path && typeof before === "string" && typeof value === "string";
    assign(holder, last, goesOn ? before + value : value);
    this.#open = piece["willContinue"] === true ? path : undefined;
  }
}

function ownValue(holder: object, key: string | number): unknown {
  return Object.hasOwn(holder, key) ? Reflect.get(holder, key) : undefined;
}

/** Never through a setter, since a path may name "__proto__", and never far behind the end of a list. */
function assign(holder: object, key: string | number, value: unknown): void {
  if (Array.isArray(holder) && (typeof key !== "number" || key > holder.length)) return;
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

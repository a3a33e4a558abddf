/** A function call that arrives in pieces, each naming a place in the arguments. */

import type { Json, JsonObject } from "@openfunctions/core";
import { isRecord, listAt, stringAt, type WireRecord } from "@openfunctions/core/wire";

/**
 * Gathers `partialArgs` (@google/genai 3.3.0, PartialArg; recorded in google/google-vertex-stream-tool-call-*). Text for
 * the place that was written last goes on, everything else is assigned. Only Vertex sends these, and only when asked.
 */
export class PartialCall {
  readonly name: string;
  readonly signature: string;
  readonly id: string;
  readonly #args: Record<string, Json> = {};
  #open: string | undefined;

  constructor(call: WireRecord, signature: string) {
    this.name = stringAt(call, "name");
    this.id = stringAt(call, "id");
    this.signature = signature;
  }

  get args(): JsonObject {
    return this.#args;
  }

  add(call: WireRecord): void {
    for (const piece of listAt(call, "partialArgs")) if (isRecord(piece)) this.#assign(piece);
  }

  #assign(piece: WireRecord): void {
    const path = stringAt(piece, "jsonPath");
    const steps = [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\[['"]([^'"]*)['"]\]/g)].map(
      ([, name, index, quoted]) => (index === undefined ? (name ?? quoted ?? "") : Number(index)),
    );
    const last = steps.pop();
    if (last === undefined) return;
    let holder: object = this.#args;
    for (const [at, step] of steps.entries()) {
      const next = steps[at + 1] ?? last;
      const known: unknown = Object.hasOwn(holder, step) ? Reflect.get(holder, step) : undefined;
      const inner: object = isRecord(known) ? known : typeof next === "number" ? [] : {};
      if (known !== inner) setOwn(holder, step, inner);
      holder = inner;
    }
    const before: unknown = Object.hasOwn(holder, last) ? Reflect.get(holder, last) : undefined;
    const value = valueOf(piece);
    const goesOn = this.#open === path && typeof before === "string" && typeof value === "string";
    setOwn(holder, last, goesOn ? before + value : value);
    this.#open = piece["willContinue"] === true ? path : undefined;
  }
}

function valueOf(piece: WireRecord): unknown {
  return piece["stringValue"] ?? piece["numberValue"] ?? piece["boolValue"] ?? null;
}

/** Never through a setter: a path may name "__proto__". */
function setOwn(holder: object, key: string | number, value: unknown): void {
  if (Array.isArray(holder) && (typeof key !== "number" || key > holder.length)) return;
  Object.defineProperty(holder, key, { value, writable: true, enumerable: true, configurable: true });
}

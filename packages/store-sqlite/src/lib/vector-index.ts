/** Vectors in memory, all in one array: which are nearest to another, exactly. */

import type { VectorHit } from "@openfunctions/core/search";

/** Whose vector it is. Chunks and documents go by their number in the file. */
export interface VectorPlace {
  readonly chunk: number;
  readonly id: string;
  readonly document: number;
  readonly owner: string;
}

/** Vectors of one length, each scaled to the length 1, so that a product is a cosine. */
export class VectorIndex {
  readonly #dimensions: number;
  #numbers: Float32Array;
  /** What lies where in the array; gaps are filled first. */
  readonly #places: (VectorPlace | undefined)[] = [];
  readonly #gaps: number[] = [];
  readonly #slots = new Map<number, number>();

  /** `capacity` is how many vectors are expected. */
  constructor(dimensions: number, capacity: number) {
    this.#dimensions = dimensions;
    this.#numbers = new Float32Array(dimensions * capacity);
  }

  /** Adds a vector, or puts it in place of the one of this chunk. */
  put(place: VectorPlace, vector: Float32Array): void {
    const slot = this.#slots.get(place.chunk) ?? this.#gaps.pop() ?? this.#places.length;
    const start = slot * this.#dimensions;
    if (start + this.#dimensions > this.#numbers.length) {
      const grown = new Float32Array((slot + 1) * 2 * this.#dimensions);
      grown.set(this.#numbers);
      this.#numbers = grown;
    }
    this.#numbers.set(toUnit(vector), start);
    this.#places[slot] = place;
    this.#slots.set(place.chunk, slot);
  }

  /** Takes the vector of a chunk away, if there is one. */
  remove(chunk: number): void {
    const slot = this.#slots.get(chunk);
    if (slot === undefined) return;
    this.#slots.delete(chunk);
    this.#places[slot] = undefined;
    this.#gaps.push(slot);
  }

  /** The nearest of the places that are accepted, best first; equal ones in the order of their ids. */
  nearest(
    vector: readonly number[],
    limit: number,
    accepts: (place: VectorPlace) => boolean,
  ): readonly VectorHit[] {
    const query = Float64Array.from(toUnit(Float32Array.from(vector)));
    const best: VectorHit[] = [];
    let least = -2;
    const cosines = this.#cosines(query);
    for (let slot = 0; slot < cosines.length; slot += 1) {
      const cosine = cosines[slot] ?? 0;
      if (cosine < least) continue;
      const place = this.#places[slot];
      if (place === undefined || !accepts(place)) continue;
      let at = best.length;
      while (at > 0 && isBefore({ id: place.id, cosine }, best[at - 1])) at -= 1;
      best.splice(at, 0, { id: place.id, cosine });
      if (best.length > limit) best.pop();
      if (best.length === limit) least = best.at(-1)?.cosine ?? least;
    }
    return best;
  }

  /** Of every place, filled or not. Four at a time, so that a number of the query is read once for all of them. */
  #cosines(query: Float64Array): Float64Array {
    const numbers = this.#numbers;
    const length = query.length;
    const cosines = new Float64Array(this.#places.length);
    for (let slot = 0; slot < cosines.length; slot += 4) {
      let at = slot * length;
      let one = 0;
      let two = 0;
      let three = 0;
      let four = 0;
      for (let index = 0; index < length; index += 1, at += 1) {
        const number = query[index] ?? 0;
        one += number * (numbers[at] ?? 0);
        two += number * (numbers[at + length] ?? 0);
        three += number * (numbers[at + 2 * length] ?? 0);
        four += number * (numbers[at + 3 * length] ?? 0);
      }
      // What lies beyond the last place is not taken.
      cosines.set([one, two, three, four].slice(0, cosines.length - slot), slot);
    }
    return cosines;
  }
}

function toUnit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, number) => sum + number * number, 0));
  return length > 0 ? vector.map((number) => number / length) : vector;
}

function isBefore(hit: VectorHit, other: VectorHit | undefined): boolean {
  return (
    other === undefined || hit.cosine > other.cosine || (hit.cosine === other.cosine && hit.id < other.id)
  );
}

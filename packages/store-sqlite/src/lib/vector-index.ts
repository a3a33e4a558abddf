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
    const query = toUnit(Float32Array.from(vector));
    const best: VectorHit[] = [];
    for (const [slot, place] of this.#places.entries()) {
      if (place === undefined || !accepts(place)) continue;
      const cosine = this.#product(query, slot);
      if (best.length === limit && cosine < (best.at(-1)?.cosine ?? 0)) continue;
      let at = best.length;
      while (at > 0 && isBefore({ id: place.id, cosine }, best[at - 1])) at -= 1;
      best.splice(at, 0, { id: place.id, cosine });
      if (best.length > limit) best.pop();
    }
    return best;
  }

  /** Four sums side by side: the next product need not wait for the last sum. */
  #product(query: Float32Array, slot: number): number {
    const [numbers, length, start] = [this.#numbers, this.#dimensions, slot * this.#dimensions];
    let [one, two, three, four] = [0, 0, 0, 0];
    let at = 0;
    for (; at + 3 < length; at += 4) {
      one += (query[at] ?? 0) * (numbers[start + at] ?? 0);
      two += (query[at + 1] ?? 0) * (numbers[start + at + 1] ?? 0);
      three += (query[at + 2] ?? 0) * (numbers[start + at + 2] ?? 0);
      four += (query[at + 3] ?? 0) * (numbers[start + at + 3] ?? 0);
    }
    for (; at < length; at += 1) one += (query[at] ?? 0) * (numbers[start + at] ?? 0);
    return one + two + three + four;
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

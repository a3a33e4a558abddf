/** Vectors in memory, all in one array: which are nearest to another, exactly. */

import type { VectorHit } from "@openfunctions/core/search";

/** Whose vector it is. */
export interface VectorPlace {
  /** Number of the chunk in its file. */
  readonly chunk: number;
  readonly id: string;
  /** Number of the document in its file. */
  readonly document: number;
  readonly owner: string;
}

/** What a search may find. */
export interface VectorScope {
  readonly owners: ReadonlySet<string>;
  /** Left out: every document of these owners. */
  readonly documents?: ReadonlySet<number> | undefined;
}

const GROWTH = 1.5;

/** Unit vectors of one length. */
export class VectorIndex {
  readonly #dimensions: number;
  #numbers: Float32Array;
  /** What lies where in the array. */
  readonly #places: VectorPlace[] = [];
  readonly #slots = new Map<number, number>();

  /** `capacity` is how many vectors are expected. */
  constructor(dimensions: number, capacity: number) {
    this.#dimensions = dimensions;
    this.#numbers = new Float32Array(dimensions * capacity);
  }

  /** How many vectors are held. */
  get size(): number {
    return this.#places.length;
  }

  /** Adds a vector, or puts it in place of the one of this chunk. */
  put(place: VectorPlace, vector: Float32Array): void {
    const slot = this.#slots.get(place.chunk) ?? this.#places.length;
    this.#grow(slot + 1);
    this.#places[slot] = place;
    this.#slots.set(place.chunk, slot);
    this.#numbers.set(toUnit(vector), slot * this.#dimensions);
  }

  /** Does nothing for a chunk that has none. */
  remove(chunk: number): void {
    const slot = this.#slots.get(chunk);
    if (slot === undefined) return;
    this.#slots.delete(chunk);
    const last = this.#places.pop();
    if (last === undefined || last.chunk === chunk) return;
    // The last one fills the gap.
    const from = this.#places.length * this.#dimensions;
    this.#numbers.copyWithin(slot * this.#dimensions, from, from + this.#dimensions);
    this.#places[slot] = last;
    this.#slots.set(last.chunk, slot);
  }

  /** The nearest by cosine, best first; equal ones in the order of their ids. */
  nearest(
    vector: readonly number[],
    limit: number,
    { owners, documents }: VectorScope,
  ): readonly VectorHit[] {
    const query = toUnit(Float32Array.from(vector));
    const best: VectorHit[] = [];
    let least = -Infinity;
    for (const [slot, { id, owner, document }] of this.#places.entries()) {
      if (!owners.has(owner) || documents?.has(document) === false) continue;
      const cosine = this.#dot(query, slot);
      if (best.length === limit && cosine < least) continue;
      insert(best, { id, cosine });
      if (best.length > limit) best.pop();
      least = best.at(-1)?.cosine ?? least;
    }
    return best;
  }

  /** Four sums at once: a processor need not wait for one to add to it. */
  #dot(query: Float32Array, slot: number): number {
    const [numbers, length, start] = [this.#numbers, this.#dimensions, slot * this.#dimensions];
    const whole = length - (length % 4);
    let [one, two, three, four] = [0, 0, 0, 0];
    for (let at = 0; at < whole; at += 4) {
      one += (query[at] ?? 0) * (numbers[start + at] ?? 0);
      two += (query[at + 1] ?? 0) * (numbers[start + at + 1] ?? 0);
      three += (query[at + 2] ?? 0) * (numbers[start + at + 2] ?? 0);
      four += (query[at + 3] ?? 0) * (numbers[start + at + 3] ?? 0);
    }
    for (let at = whole; at < length; at += 1) one += (query[at] ?? 0) * (numbers[start + at] ?? 0);
    return one + two + (three + four);
  }

  #grow(size: number): void {
    if (size * this.#dimensions <= this.#numbers.length) return;
    const numbers = new Float32Array(Math.ceil(size * GROWTH) * this.#dimensions);
    numbers.set(this.#numbers);
    this.#numbers = numbers;
  }
}

function toUnit(vector: Float32Array): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, number) => sum + number * number, 0));
  return length > 0 ? vector.map((number) => number / length) : vector;
}

/** Keeps the hits in order. */
function insert(hits: VectorHit[], hit: VectorHit): void {
  let [low, high] = [0, hits.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(hit, hits[middle])) high = middle;
    else low = middle + 1;
  }
  hits.splice(low, 0, hit);
}

function isBefore(hit: VectorHit, other: VectorHit | undefined): boolean {
  return (
    other === undefined || hit.cosine > other.cosine || (hit.cosine === other.cosine && hit.id < other.id)
  );
}

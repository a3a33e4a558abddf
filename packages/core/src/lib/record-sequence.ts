/** Follows the numbers of the lines of a log: what is missing, what came too late, what is there twice. */

/** A place in a record file: its line (from 1) and the offset of the line's first byte. */
export interface RecordPlace {
  readonly line: number;
  readonly offset: number;
}

/** How a number stands to those before it. `order` is where the order first broke, if this number shows it. */
export type SequenceVerdict =
  | { readonly kind: "next" | "ahead" | "extra" }
  | { readonly kind: "late"; readonly order?: RecordPlace };

/** Numbers that did not come: from `from` to `to`, noticed at the place of the number after them. */
export interface MissingRange extends RecordPlace {
  readonly from: number;
  readonly to: number;
  /** Some of them came later, so the lines are out of order and this was said. */
  readonly known: boolean;
}

// More holes than this are reported at once instead of being kept open: memory stays bounded whatever the file holds.
const MAX_RANGES = 256;

/** Takes number after number. */
export class RecordSequence {
  /** The number that comes next. */
  next = 0;
  #last = -1;
  #unread = 0;
  #missing: MissingRange[] = [];
  readonly #lost: (range: MissingRange) => void;

  /** `lost` hears of numbers that will not come. */
  constructor(lost: (range: MissingRange) => void) {
    this.#lost = lost;
  }

  /** A line that cannot be read stands for one number at most. */
  unreadable(): void {
    this.#unread += 1;
  }

  take(number: number, place: RecordPlace): SequenceVerdict {
    const unread = this.#unread;
    this.#unread = 0;
    const last = this.#last;
    this.#last = number;
    if (number < this.next) return this.#takeLate(number, last, place);
    const first = this.next;
    this.next = number + 1;
    if (number - first <= unread) return { kind: "next" };
    this.#missing.push({ from: first, to: number - 1, ...place, known: false });
    this.#keepFew();
    return { kind: "ahead" };
  }

  /** Reports what did not come until `count` numbers were there. */
  end(count: number, place: RecordPlace): void {
    for (const range of this.#missing) this.#lost(range);
    if (count - this.next > this.#unread)
      this.#lost({ from: this.next, to: count - 1, ...place, known: false });
  }

  #keepFew(): void {
    const oldest = this.#missing.length > MAX_RANGES ? this.#missing.shift() : undefined;
    if (oldest !== undefined) this.#lost(oldest);
  }

  #takeLate(number: number, last: number, place: RecordPlace): SequenceVerdict {
    const index = this.#missing.findIndex((range) => range.from <= number && number <= range.to);
    const range = this.#missing[index];
    if (range === undefined) return { kind: "extra" };
    const rest = { line: range.line, offset: range.offset, known: true };
    this.#missing.splice(
      index,
      1,
      ...(range.from < number ? [{ ...rest, from: range.from, to: number - 1 }] : []),
      ...(number < range.to ? [{ ...rest, from: number + 1, to: range.to }] : []),
    );
    this.#keepFew();
    // The first late number shows that an earlier line came too soon; later ones only where they go back again.
    if (!range.known) return { kind: "late", order: range };
    return number < last ? { kind: "late", order: place } : { kind: "late" };
  }
}

/** Leaves out what is `undefined`, since an optional field here is absent and never `undefined`. */

/** `T` with the fields that may be `undefined` optional instead. */
export type Defined<T> = {
  readonly [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & { readonly [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> };

/** A copy of an object literal without the fields that are `undefined`. */
export function defined<T extends object>(fields: T): Defined<T> {
  const kept: Record<string, unknown> = {};
  for (const key in fields) if (fields[key] !== undefined) kept[key] = fields[key];
  return kept as Defined<T>; // Proof: only undefined values are gone
}

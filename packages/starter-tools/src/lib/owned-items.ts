/** Items of one owner in a shared store: the owner stands in the key, so no query can reach another's. */

import type { Json, Store } from "@openfunctions/core";

/** What every key of an owner's items of one kind begins with. */
export function ownerPrefix(owner: string, kind: string): string {
  return `${encodeURIComponent(owner)}/${kind}/`;
}

/** Counts up, per owner and kind; no number is given twice. */
export async function nextNumber(store: Store, owner: string, kind: string): Promise<number> {
  const value = await store.update(`${encodeURIComponent(owner)}/count/${kind}`, (last) => ({
    set: (typeof last === "number" ? last : 0) + 1,
  }));
  return typeof value === "number" ? value : 1;
}

/** All items of an owner of one kind, oldest first. */
export async function readAll(
  store: Store,
  owner: string,
  kind: string,
): Promise<readonly { readonly key: string; readonly value: Json }[]> {
  const items: { readonly key: string; readonly value: Json }[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({
      prefix: ownerPrefix(owner, kind),
      limit: 500,
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const [key, value] of page.entries) items.push({ key, value });
    cursor = page.cursor;
  } while (cursor !== undefined);
  return items;
}

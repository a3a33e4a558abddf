/** What every call of a `Rag` works with, and whose documents it reaches. */

import { type Clock, ConfigError, InputError, type JsonObject } from "@openfunctions/core";
import type { ChunkScope, ChunkStore, Embedder, MetadataFilter } from "@openfunctions/core/search";
import { readFilter } from "@openfunctions/core/search";
import { copyStoreValue } from "@openfunctions/core/stores";
import type { ChunkOptions } from "./chunk-text.ts";
import type { Loader } from "./loaded-document.ts";

/** The parts of a `Rag`. `index` is shared by the views of all owners. */
export interface RagParts {
  readonly store: ChunkStore;
  readonly index: { embedder: Embedder | undefined };
  readonly chunker: Required<ChunkOptions>;
  readonly loaders: Readonly<Record<string, Loader>>;
  readonly owner: string;
  readonly readOwners: readonly string[];
  readonly clock: Clock;
}

const MAX_ID_CHARS = 512;
const MAX_OWNER_CHARS = 128;
const MAX_METADATA_CHARS = 64 * 1024;
// oxlint-disable-next-line no-control-regex -- control characters are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/;
/** A NUL as `JSON.stringify` writes it: not every database takes one. */
const NUL = /(?:^|[^\\])(?:\\\\)*\\u0000/;

/** Where an owner reads. */
export function scopeOf({ owner, readOwners }: RagParts, filter?: MetadataFilter): ChunkScope {
  const owners = [...new Set([owner, ...readOwners])];
  return filter === undefined ? { owners } : { owners, filter: readFilter(filter) };
}

/** Throws `ConfigError` `owner_required` for no owner, `InputError` `bad_id` for one that cannot be kept. */
export function checkOwner(owner: string): string {
  if (typeof owner !== "string" || owner.trim() === "")
    throw new ConfigError("Documents have an owner, and none was named.", {
      code: "owner_required",
      hint: "Pass the owner of the run, such as context.owner.",
    });
  return checkId(owner, { what: "An owner", most: MAX_OWNER_CHARS });
}

/** Throws `InputError` `bad_id` for a source that cannot be kept. */
export function checkSourceId(sourceId: string): string {
  return checkId(sourceId, { what: "A source", most: MAX_ID_CHARS });
}

function checkId(id: string, { what, most }: { readonly what: string; readonly most: number }): string {
  if (typeof id === "string" && id !== "" && id.length <= most && id.isWellFormed() && !CONTROL.test(id))
    return id;
  throw new InputError(`${what} is named by 1 to ${most} characters without control characters.`, {
    code: "bad_id",
  });
}

/** A well-formed copy of metadata, or of a text beside it. Throws `InputError` for what no store can keep. */
export function checkMetadata<T extends JsonObject | string>(metadata: T, what: string): T {
  const copy = copyStoreValue<T>(metadata);
  const json = JSON.stringify(copy);
  if (json.length > MAX_METADATA_CHARS)
    throw new InputError(
      `${what} may have ${MAX_METADATA_CHARS} characters as JSON; it has ${json.length}.`,
      {
        code: "too_large",
      },
    );
  if (NUL.test(json)) throw new InputError(`${what} may hold no NUL.`);
  return copy;
}

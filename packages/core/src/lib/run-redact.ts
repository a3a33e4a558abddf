/** Redaction: takes the value out of a leaf of a stored run, and says so in a chain of its own. */

import { type Digest, digest } from "./digest.ts";
import { RecordError } from "./errors.ts";
import { isPlainObject } from "./json.ts";
import type { RecordSigner, RedactionLine, RunAnnex, SealLine } from "./record-line.ts";
import type { AnyRunEvent } from "./run-event.ts";
import type { RunStore } from "./run-store.ts";

/** Which leaf goes, and on whose word. */
export interface RedactionRequest {
  /** The event that holds the leaf. */
  readonly seq: number;
  /** JSON pointer from the event to the leaf, such as `/data/args`. */
  readonly leaf: string;
  readonly by: string;
  /** ISO-8601. */
  readonly at: string;
  readonly reason: string;
}

/** What a redaction follows. */
export interface RedactionBase {
  readonly annex: RunAnnex;
  /** The hash of the last event. */
  readonly head: Digest;
  /** Needed where the run is sealed. */
  readonly signer?: RecordSigner;
}

/** The `prev` of the first redaction. */
export function redactionStart(seal: SealLine | undefined, head: Digest): Digest {
  return seal === undefined ? head : digest("seal/1", seal);
}

/** The hash of a redaction: covers every field but itself and the signature over it. */
export function hashRedaction(line: Omit<RedactionLine, "hash">): Digest {
  const { hash: _hash, keyId: _keyId, signature: _signature, ...open }: Partial<RedactionLine> = line;
  return digest("redaction/1", open);
}

/** The next redaction of a run. Throws `RecordError` for a sealed run without a signer. */
export function makeRedaction(base: RedactionBase, request: RedactionRequest): RedactionLine {
  const { annex, head, signer } = base;
  if (annex.seal !== undefined && signer === undefined) {
    throw new RecordError("The run is sealed, so its redactions are signed.", {
      hint: "Pass the `signer` of a key that those who verify the record know.",
    });
  }
  const { seq, leaf, by, at, reason } = request;
  const prev = annex.redactions.at(-1)?.hash ?? redactionStart(annex.seal, head);
  const open = { type: "redaction", n: annex.redactions.length, seq, leaf, by, at, reason, prev } as const;
  const hash = hashRedaction(open);
  if (annex.seal === undefined || signer === undefined) return { ...open, hash };
  return { ...open, hash, keyId: signer.keyId, signature: signer.sign(hash) };
}

/**
 * Removes the value of one leaf of a stored run and keeps the redaction. Throws `RecordError` for an unknown run, where
 * there is no such leaf, or where its value is gone already; `store_conflict` where another redaction came first.
 */
export async function redactLeaf(
  store: RunStore,
  target: RedactionRequest & { readonly runId: string },
  signer?: RecordSigner,
): Promise<RedactionLine> {
  const { runId, seq, leaf } = target;
  const record = await store.get(runId);
  if (record === undefined) throw new RecordError(`There is no run "${runId}".`, { code: "run_not_found" });
  requireValue(await eventAt(store, runId, seq), leaf);
  const annex = await store.annex(runId);
  const redaction = makeRedaction(
    { annex, head: record.head, ...(signer === undefined ? {} : { signer }) },
    target,
  );
  await store.redact(runId, redaction);
  return redaction;
}

async function eventAt(store: RunStore, runId: string, seq: number): Promise<AnyRunEvent | undefined> {
  for await (const event of store.read(runId, seq)) return event;
  return undefined;
}

/** A leaf is the first sealed object on its path: what a sealed value holds is content, however it looks. */
function requireValue(event: AnyRunEvent | undefined, leaf: string): void {
  let at: unknown = event;
  const [, ...path] = leaf.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  for (const key of path) {
    if (typeof at !== "object" || at === null || "$sealed" in at) at = undefined;
    else at = Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined;
  }
  if (!isPlainObject(at) || !("$sealed" in at))
    throw new RecordError(`There is no sealed leaf at "${leaf}".`);
  if (!("value" in at) && !("salt" in at))
    throw new RecordError(`The leaf at "${leaf}" holds no value any more.`);
}

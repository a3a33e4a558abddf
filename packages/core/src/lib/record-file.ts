/** Record files: JSON lines, each exactly its canonical bytes; events, then the seal, then the redactions. */

import { RecordError } from "./errors.ts";
import { canonicalJson, isPlainObject } from "./json.ts";
import type { RecordLine, RedactionLine, RunAnnex, SealLine } from "./record-line.ts";
import { type RecordBytes, eachLine } from "./record-lines.ts";
import type { AnyRunEvent } from "./run-event.ts";
import type { RunStore } from "./run-store.ts";

/** What a record file holds. */
export interface RecordContent extends RunAnnex {
  readonly events: readonly AnyRunEvent[];
}

/** The line of an event, a seal or a redaction: its canonical JSON and a newline. */
export function encodeRecordLine(line: RecordLine): string {
  return `${canonicalJson(line)}\n`;
}

/** The lines of a stored run, as they stand in a file. */
export async function* exportRun(store: RunStore, runId: string): AsyncGenerator<string> {
  for await (const event of store.read(runId)) yield encodeRecordLine(event);
  const { seal, redactions } = await store.annex(runId);
  if (seal !== undefined) yield encodeRecordLine(seal);
  for (const redaction of redactions) yield encodeRecordLine(redaction);
}

/**
 * One line of a record file, without its newline; fields it does not know are kept. Throws `RecordError` for what is no
 * such line, and for an event of a newer version. Proves nothing: that is what `verifyRun` is for.
 */
export function decodeRecordLine(text: string): RecordLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RecordError("The line is not JSON.", { cause });
  }
  if (isPlainObject(value) && isSealLine(value)) return value;
  if (isPlainObject(value) && isRedactionLine(value)) return value;
  return requireEvent(value);
}

/** Everything in a record file. Throws `RecordError` that names the line. Holds the whole record in memory. */
export async function readRecord(source: RecordBytes): Promise<RecordContent> {
  const events: AnyRunEvent[] = [];
  const redactions: RedactionLine[] = [];
  let seal: SealLine | undefined;
  let number = 0;
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  await eachLine(source, ({ bytes, start, end, huge }) => {
    number += 1;
    try {
      if (huge) throw new RecordError("The line is too long.");
      const line = decodeRecordLine(decoder.decode(bytes.subarray(start, end)));
      if (line.type === "redaction") redactions.push(line);
      else if (line.type === "seal") seal = line;
      else events.push(line);
    } catch (cause) {
      const why = cause instanceof RecordError ? cause.message : "The line is not UTF-8.";
      throw new RecordError(`Line ${number} of the record: ${why}`, {
        cause,
        hint:
          (cause instanceof RecordError ? cause.hint : undefined) ??
          "`openfunctions runs verify <file>` lists all that is wrong with it.",
      });
    }
  });
  return { events, redactions, ...(seal === undefined ? {} : { seal }) };
}

/** True for the shape of a seal. */
export function isSealLine(value: object): value is SealLine {
  return hasFields(value, {
    type: "seal",
    runId: "string",
    events: "number",
    head: "string",
    alg: "string",
    keyId: "string",
    signedAt: "string",
    signature: "string",
  });
}

/** True for the shape of a redaction. */
export function isRedactionLine(value: object): value is RedactionLine {
  const signed = "keyId" in value || "signature" in value;
  return hasFields(value, {
    type: "redaction",
    n: "number",
    seq: "number",
    leaf: "string",
    by: "string",
    at: "string",
    reason: "string",
    prev: "string",
    hash: "string",
    ...(signed ? { keyId: "string", signature: "string" } : {}),
  });
}

/** Every field has its type, and `type` its value. */
function hasFields(
  value: object,
  { type, ...fields }: { readonly type: string } & Readonly<Record<string, string>>,
): boolean {
  return (
    Reflect.get(value, "type") === type &&
    Object.entries(fields).every(
      ([name, kind]) => Object.hasOwn(value, name) && typeof Reflect.get(value, name) === kind,
    )
  );
}

const EVENT_FIELDS = { runId: "string", seq: "number", at: "string", prev: "string", hash: "string" };

function requireEvent(value: unknown): AnyRunEvent {
  if (!isPlainObject(value) || typeof value["type"] !== "string" || typeof value["v"] !== "number")
    throw new RecordError("The line is no event, seal or redaction.");
  if (value["v"] !== 1) {
    throw new RecordError(`The event has version ${value["v"]}; this program reads version 1.`, {
      hint: "Read the record with the newer version of openFunctions that wrote it.",
    });
  }
  if (!hasFields(value, { type: value["type"], ...EVENT_FIELDS }) || !isPlainObject(value["data"]))
    throw new RecordError(`The event "${value["type"]}" lacks a field, or one has the wrong type.`);
  return value as unknown as AnyRunEvent; // Proof: its own fields were just checked; what a type holds is checked by whoever reads it
}

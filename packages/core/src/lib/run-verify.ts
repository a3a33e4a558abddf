/** Verifies a record file: the bytes, the chain, the sealed values, the seal and the redactions, line by line. */

import type { KeyLike } from "node:crypto";
import type { Digest } from "./digest.ts";
import { isPlainObject } from "./json.ts";
import { EventReader, type EventReading } from "./record-reader.ts";
import type { FindingKind, Finding, VerifyResult, VerifyStatus } from "./record-finding.ts";
import type { RedactionLine, SealLine } from "./record-line.ts";
import { type LinePlace, MAX_LINE_BYTES, type RecordBytes, eachLine } from "./record-lines.ts";
import { type RecordPlace, RecordSequence } from "./record-sequence.ts";
import { chainStart, isTerminal } from "./run-event.ts";
import { hashRedaction, redactionStart } from "./run-redact.ts";
import { keyIdOf, verifySeal, verifySignature } from "./run-seal.ts";

/** What verification may trust. */
export interface VerifyOptions {
  /** Ed25519 public keys whose seals count: PEM texts or key objects. */
  readonly publicKeys?: readonly KeyLike[];
}

/**
 * Verifies the bytes of a record file in constant memory and reports everything that is wrong. Hostile bytes give
 * findings, never an error; rejects only where the source cannot be read, and throws `InputError` for a bad key.
 */
export async function verifyRun(source: RecordBytes, options: VerifyOptions = {}): Promise<VerifyResult> {
  const check = new RecordCheck(options.publicKeys ?? []);
  await eachLine(source, (line) => check.take(line));
  return check.finish();
}

const MAX_FINDINGS = 10_000;

/** What a finding says besides its place. */
type About = Omit<Finding, "line" | "offset" | "kind">;

/** An event, where it counts as standing and where it stands. */
interface PlacedEvent {
  readonly event: EventReading;
  readonly seq: number;
  readonly place: RecordPlace;
}

class RecordCheck {
  readonly #keys: ReadonlyMap<string, KeyLike>;
  readonly #reader = new EventReader();
  readonly #findings: Finding[] = [];
  #failures = 0;
  #place: RecordPlace = { line: 0, offset: 0 };
  readonly #sequence = new RecordSequence(({ from, to, line, offset }) => {
    const message = `${to - from + 1} event(s) are missing between ${from - 1} and ${to + 1}.`;
    this.#find("gap", { message, after: from - 1, before: to + 1 }, { line, offset });
  });
  #events = 0;
  #runId: string | undefined;
  /** The last event in order, and whether the line after it must name its hash. */
  #last: PlacedEvent | undefined;
  #linked = true;
  #start: Pick<VerifyResult, "sealed" | "capture"> = {};
  #ended = false;
  #torn = false;
  /** The last line could not be read, so it may have been what is missing. */
  #unreadTail = false;
  #withoutValue = 0;
  #seal: { readonly line: SealLine; readonly place: RecordPlace } | undefined;
  readonly #redactions: { count: number; prev?: string; first?: RedactionLine; place?: RecordPlace } = {
    count: 0,
  };

  constructor(publicKeys: readonly KeyLike[]) {
    this.#keys = new Map(publicKeys.map((key) => [keyIdOf(key), key]));
  }

  take(line: LinePlace): void {
    this.#place = { line: this.#place.line + 1, offset: line.offset };
    this.#torn = line.torn;
    this.#unreadTail = false;
    if (line.huge) return this.#unreadable(line.offset, `The line is longer than ${MAX_LINE_BYTES} bytes.`);
    const event = this.#reader.read(line);
    if (event.kind === "event") this.#takeEvent(event);
    else if (event.kind !== "other")
      return this.#unreadable(line.offset + event.at, event.message, event.kind);
    else if (event.value.type === "seal") this.#takeSeal(event.value);
    else this.#takeRedaction(event.value);
    if (this.#torn) this.#find(this.#tornKind(), { message: "The last line has no newline." });
  }

  finish(): VerifyResult {
    const signedBy = this.#finishSeal();
    this.#checkFirstRedaction();
    const { sealed } = this.#start;
    if (this.#seal === undefined && typeof sealed === "string" && (this.#torn || !this.#unreadTail))
      this.#find("truncated", {
        message: `The log says that ${sealed} seals it; the seal is missing. A run that waits for a person has none yet.`,
      });
    const open = this.#seal === undefined && typeof sealed !== "string" && !this.#ended;
    const status = this.#status(signedBy, open);
    if (status === "open") this.#find("open", { message: "The log has no end, which proves nothing." });
    const head = this.#last?.event.stored;
    return {
      status,
      ...(this.#runId === undefined ? {} : { runId: this.#runId }),
      events: this.#events,
      ...(head === undefined ? {} : { head }),
      ...this.#start,
      ...(signedBy === undefined ? {} : { signedBy }),
      redacted: this.#redactions.count,
      withoutValue: this.#withoutValue,
      failures: this.#failures,
      findings: this.#findings.sort((one, two) => one.line - two.line),
    };
  }

  #status(signedBy: Digest | undefined, open: boolean): VerifyStatus {
    if (this.#failures > 0) return "failed";
    if (signedBy !== undefined) return "verified";
    return open ? "open" : "unsigned";
  }

  #find(kind: FindingKind, about: About, place: RecordPlace = this.#place): void {
    this.#failures += 1;
    const { line, offset } = place;
    if (this.#findings.length < MAX_FINDINGS) this.#findings.push({ kind, line, offset, ...about });
  }

  #tornKind(): FindingKind {
    return this.#start.sealed === false ? "torn_tail" : "malformed";
  }

  #unreadable(offset: number, message: string, kind: FindingKind = "malformed"): void {
    this.#find(this.#torn ? this.#tornKind() : kind, { message }, { ...this.#place, offset });
    this.#sequence.unreadable();
    this.#linked = false;
    this.#unreadTail = true;
  }

  #takeEvent(event: EventReading): void {
    const { stored, computed, type } = event;
    const altered = stored !== computed;
    if (!altered) {
      this.#runId ??= event.runId;
      if (event.runId !== this.#runId)
        return this.#find("extra", {
          message: `The event belongs to run "${event.runId}".`,
          seq: event.seq,
          type,
        });
    }
    this.#events += 1;
    // A changed event cannot be asked for its number; the hash before it says where it stands.
    const seq = altered && this.#follows(event) ? this.#sequence.next : event.seq;
    if (altered)
      this.#find("altered", {
        message: "The event does not have its hash.",
        seq,
        type,
        expected: stored,
        found: computed,
      });
    for (const leaf of event.wrongLeaves)
      this.#find("altered", { message: `The value at "${leaf}" does not fit its digest.`, seq, type, leaf });
    this.#withoutValue += event.withoutValue;
    if (this.#seal !== undefined || this.#redactions.count > 0)
      this.#find("order", { message: "The event stands after the end of the log.", seq, type });
    this.#follow(event, seq, altered);
  }

  #follows(event: EventReading): boolean {
    const last = this.#last?.event;
    return last === undefined || event.prev === last.stored || event.prev === last.computed;
  }

  /** Places the event in the chain. */
  #follow(event: EventReading, seq: number, altered: boolean): void {
    const { type } = event;
    const place = this.#place;
    const verdict = this.#sequence.take(seq, place);
    if (verdict.kind === "extra") {
      const message = `There is another event ${seq}, between ${seq - 1} and ${seq + 1}.`;
      return this.#find("extra", { message, seq, type, after: seq - 1, before: seq + 1 });
    }
    if (verdict.kind === "late") {
      if (verdict.order !== undefined)
        this.#find(
          "order",
          { message: "The line stands in another place than it was written." },
          verdict.order,
        );
      return;
    }
    if (verdict.kind === "next" && this.#linked && !altered) this.#checkLink(event);
    if (seq === 0) this.#begin(event);
    if (isTerminal(type)) this.#ended = true;
    this.#last = { event, seq, place };
    this.#linked = true;
  }

  /** The event names the hash of the one before it, else that one was changed together with its hash. */
  #checkLink(event: EventReading): void {
    const last = this.#last;
    if (last !== undefined && !this.#follows(event)) {
      const { seq, place } = last;
      const { type, stored } = last.event;
      const message = `Event ${event.seq} names another hash, so event ${seq} is not the one that was written.`;
      this.#find("altered", { message, seq, type, expected: event.prev, found: stored }, place);
    } else if (last === undefined && event.prev !== chainStart(event.runId)) {
      const about = {
        seq: event.seq,
        type: event.type,
        expected: chainStart(event.runId),
        found: event.prev,
      };
      this.#find("altered", { message: "The first event does not begin the chain of its run.", ...about });
    }
  }

  #begin(event: EventReading): void {
    const data = event.parse();
    const { sealed, capture } = data;
    const keyId = isPlainObject(sealed) ? sealed["keyId"] : sealed;
    if (event.type !== "run.started" || (keyId !== false && typeof keyId !== "string"))
      return this.#find("malformed", {
        message: 'A log begins with a "run.started" that says who seals it.',
        seq: 0,
        type: event.type,
      });
    this.#start = {
      sealed: keyId as Digest | false, // Proof: a text or false; only compared with other digests
      ...(capture === "full" || capture === "digest" || capture === "off" ? { capture } : {}),
    };
  }

  #takeSeal(line: SealLine): void {
    if (this.#seal !== undefined)
      return this.#find("extra", { message: "There is a second seal.", type: "seal" });
    if (this.#redactions.count > 0)
      this.#find("order", { message: "The seal stands after a redaction.", type: "seal" });
    this.#seal = { line, place: this.#place };
  }

  /** The key whose seal fits the log, if there is one; also says which events are missing at the end. */
  #finishSeal(): Digest | undefined {
    const last = this.#last;
    if (this.#seal === undefined) {
      this.#sequence.end(0, this.#place);
      return undefined;
    }
    const { line, place } = this.#seal;
    const signature = this.#checkSignature(line.keyId, (key) => verifySeal(line, key));
    if (signature !== undefined)
      this.#find(signature.kind, { message: `The seal: ${signature.message}`, type: "seal" }, place);
    const fits = signature?.kind !== "bad_signature";
    this.#sequence.end(fits ? line.events : 0, place);
    if (!fits) return undefined;
    if (line.events < this.#sequence.next) {
      const message = `The seal covers ${line.events} events; the log has ${this.#sequence.next}.`;
      this.#find("extra", { message, after: line.events - 1 }, last?.place ?? place);
    } else if (
      line.events === this.#sequence.next &&
      this.#linked &&
      last !== undefined &&
      line.head !== last.event.stored &&
      line.head !== last.event.computed
    ) {
      const about = { seq: last.seq, type: last.event.type, expected: line.head, found: last.event.stored };
      this.#find("altered", { message: "The seal covers another last event.", ...about }, last.place);
    }
    return signature === undefined ? line.keyId : undefined;
  }

  #checkSignature(
    keyId: string | undefined,
    verify: (key: KeyLike) => boolean,
  ): { readonly kind: "bad_signature" | "unknown_key"; readonly message: string } | undefined {
    const { sealed } = this.#start;
    if (typeof sealed === "string" && this.#seal?.line.keyId === keyId && keyId !== sealed)
      return { kind: "bad_signature", message: `made with ${keyId}, but the log names ${sealed}.` };
    const key = this.#keys.get(keyId ?? "");
    if (key === undefined)
      return { kind: "unknown_key", message: `its key ${keyId} is not among those given.` };
    return verify(key)
      ? undefined
      : { kind: "bad_signature", message: `its signature is not one of ${keyId}.` };
  }

  #takeRedaction(line: RedactionLine): void {
    const chain = this.#redactions;
    const about = { seq: line.n, type: "redaction" };
    const hash = hashRedaction(line);
    if (hash !== line.hash)
      this.#find("altered", {
        message: "The redaction does not have its hash.",
        ...about,
        expected: line.hash,
        found: hash,
      });
    else if (line.n > chain.count)
      this.#find("gap", {
        message: "Redactions are missing.",
        ...about,
        after: chain.count - 1,
        before: line.n,
      });
    else if (line.n < chain.count)
      this.#find("order", { message: "The redaction stands too late.", ...about });
    else if (chain.prev !== undefined && line.prev !== chain.prev)
      this.#find("altered", {
        message: "The redaction before this one was changed.",
        ...about,
        expected: line.prev,
        found: chain.prev,
      });
    this.#checkRedactionSignature(line);
    if (chain.count === 0) {
      chain.first = line;
      chain.place = this.#place;
    }
    chain.count += 1;
    chain.prev = line.hash;
  }

  #checkRedactionSignature(line: RedactionLine): void {
    const { keyId, signature } = line;
    const sealed = this.#seal !== undefined || typeof this.#start.sealed === "string";
    if (!sealed && signature === undefined) return;
    const wrong =
      sealed && signature !== undefined
        ? this.#checkSignature(keyId, (key) => verifySignature(line.hash, signature, key))
        : ({ kind: "bad_signature", message: "it is signed exactly when the record is sealed." } as const);
    if (wrong !== undefined)
      this.#find(wrong.kind, { message: `The redaction: ${wrong.message}`, seq: line.n, type: "redaction" });
  }

  /** The redactions hang on the seal, or on the last event; known only once all lines were read. */
  #checkFirstRedaction(): void {
    const { first, place } = this.#redactions;
    const last = this.#last?.event;
    if (first === undefined || first.n !== 0 || last === undefined) return;
    const expected = redactionStart(this.#seal?.line, last.stored);
    if (first.prev === expected || (this.#seal === undefined && first.prev === last.computed)) return;
    const about = { seq: 0, type: "redaction", expected, found: first.prev };
    this.#find("altered", { message: "The first redaction does not follow this log.", ...about }, place);
  }
}

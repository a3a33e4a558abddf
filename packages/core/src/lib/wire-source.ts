/** One HTTP reply as batches of parsed wire events, and its failures with everything a classifier needs. */

import { ProtocolError } from "./errors.ts";
import { type SseEvent, SseReader } from "./sse-reader.ts";

/** A reply being read. `finish` and `close` may be called at any time, more than once, and never throw. */
export interface WireSource {
  /** The events that have arrived, as parsed JSON (never an empty list), or undefined at the end. */
  read(): Promise<readonly unknown[] | undefined>;
  /** The reply is whole: lets the body run out for a moment, so that the connection can be used again. */
  finish(): void;
  /** The rest is not wanted: ends the connection. */
  close(): void;
}

/** What chat-completions servers send as their last event. It reaches a decoder as this string. */
export const DONE = "[DONE]";

/** The part of a fetch `Response` that is read here. */
export interface BodyResponse {
  readonly headers: { get(name: string): string | null };
  readonly body: ReadableStream<Uint8Array> | null;
}

/** Cuts a body into events, wherever its bytes were cut. `end` gives what is left, whole or not. */
export interface EventReader {
  push(bytes: Uint8Array, out: SseEvent[]): void;
  end(out: SseEvent[]): void;
}

/** The largest JSON body taken where a server answers without streaming. */
const MAX_JSON_CHARS = 32 * 1024 * 1024;
const DRAIN_MS = 1000;

/** Throws `ProtocolError` where an answer that claims success is a page for people, such as a proxy's. */
function refusePage({ headers, body }: BodyResponse): void {
  const type = headers.get("content-type") ?? "";
  if (!/^text\/html\b/i.test(type)) return;
  void body?.cancel().catch(() => {});
  throw new ProtocolError(`The answer is a page (${type.slice(0, 60)}) and not a reply.`, {
    hint: "Check the base URL, and what stands between here and the provider.",
  });
}

/**
 * Reads a streamed reply; a server that answers with one JSON body instead gives one event. Data that is not
 * JSON throws `ProtocolError`, unless it is a last event cut off at the end of the body: that one is left out,
 * so that the decoder reports a cut. Throws `ProtocolError` for a page.
 * `events` cuts another kind of body, such as one of lines.
 */
export function wireSource(response: BodyResponse, events?: EventReader): WireSource {
  refusePage(response);
  if (response.body === null)
    return { read: () => Promise.resolve(undefined), finish: () => {}, close: () => {} };
  const reader = response.body.getReader();
  const isJson = /\bjson\b/i.test(response.headers.get("content-type") ?? "");
  const read =
    isJson && events === undefined ? jsonReader(reader) : eventReader(reader, events ?? new SseReader());
  const close = (): void => void reader.cancel().catch(() => {});
  return { read, finish: () => void drain(reader).then(close, close), close };
}

/** Reads what little follows the end event. Gives up after a second. */
async function drain(reader: Reader): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), DRAIN_MS);
  timer.unref();
  try {
    while (!(await reader.read()).done);
  } finally {
    clearTimeout(timer);
  }
}

/** Reads events that some client has already parsed, such as a vendor SDK's stream or a fake's generator. */
export function iterableSource(events: AsyncIterable<unknown>): WireSource {
  const iterator = events[Symbol.asyncIterator]();
  const close = (): void => void iterator.return?.().catch(() => {});
  return {
    read: async () => {
      const next = await iterator.next();
      return next.done === true ? undefined : [next.value];
    },
    finish: close,
    close,
  };
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

function eventReader(reader: Reader, cutter: EventReader): WireSource["read"] {
  const events: SseEvent[] = [];
  let ended = false;
  return async () => {
    for (;;) {
      const parsed = takeParsed(events, ended);
      if (parsed.length > 0) return parsed;
      if (ended) return undefined;
      const { done, value } = await reader.read();
      if (done) cutter.end(events);
      else cutter.push(value, events);
      ended = done;
    }
  };
}

/** Takes events up to one that is not JSON; that one throws on the next read, after its elders were delivered. */
function takeParsed(events: SseEvent[], ended: boolean): unknown[] {
  const parsed: unknown[] = [];
  let taken = 0;
  try {
    for (const event of events) {
      const value = parseEvent(event, ended && taken === events.length - 1);
      if (value !== undefined) parsed.push(value);
      taken += 1;
    }
  } catch (cause) {
    if (parsed.length === 0) throw cause;
  }
  events.splice(0, taken);
  return parsed;
}

/**
 * Events of the Responses API that repeat what their deltas said and the items' ends say again (ResponseStreamEvent of
 * openai 7.59.0). No decoder reads them, and some hold the whole response, so they are not even parsed.
 */
const REPEATING: ReadonlySet<string> = new Set([
  "response.in_progress",
  "response.content_part.added",
  "response.content_part.done",
  "response.output_text.done",
  "response.function_call_arguments.done",
]);

function parseEvent(event: SseEvent, mayBeCut: boolean): unknown {
  if (event.data === DONE) return DONE;
  if (REPEATING.has(event.event)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(event.data);
  } catch (cause) {
    if (mayBeCut) return undefined;
    throw new ProtocolError(`An event of the reply ("${event.event.slice(0, 40)}") is not JSON.`, { cause });
  }
  // Some servers name a failure only in the event field (seen: `event: error` with a bare error object).
  if (event.event !== "error" || typeof value !== "object" || value === null || "type" in value) return value;
  return { type: "error", ...value };
}

function jsonReader(reader: Reader): WireSource["read"] {
  let ended = false;
  return async () => {
    if (ended) return undefined;
    ended = true;
    const decoder = new TextDecoder();
    let text = "";
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      text += decoder.decode(next.value, { stream: true });
      if (text.length > MAX_JSON_CHARS)
        throw new ProtocolError(`The reply is larger than ${MAX_JSON_CHARS} characters.`);
    }
    try {
      return [JSON.parse(text + decoder.decode())];
    } catch {
      return undefined; // A body that ends early: the decoder reports the cut.
    }
  };
}

/** One real run becomes a test without a key: what a model answered, kept and given again. */

import type { AIAdapter, ModelEvent, ModelRequest } from "../adapter.ts";
import { defineAdapter } from "../define-adapter.ts";
import { describeDifference } from "../describe-difference.ts";
import type { Digest } from "../digest.ts";
import { OpenFunctionsError } from "../errors.ts";
import { rebuildHistory } from "../rebuild-history.ts";
import { modelEvents } from "../recorded-run.ts";
import { ReplayError } from "../replay-run.ts";
import { RequestDigester } from "../request-digest.ts";
import type { AnyRunEvent } from "../run-event.ts";

/** One model call: what was asked, and everything that came. JSON, so that a test can keep it in a file. */
export interface RecordedModelCall {
  readonly requestDigest: Digest;
  readonly request: Omit<ModelRequest, "signal">;
  readonly events: readonly ModelEvent[];
}

/** An adapter that keeps what it was asked and what it answered. */
export interface RecordedAdapter extends AIAdapter {
  /** The calls that came to their end, in order. */
  readonly calls: readonly RecordedModelCall[];
}

/** Passes everything on to a real adapter, and keeps it for `replayAdapter`. */
export function recordedAdapter(adapter: AIAdapter): RecordedAdapter {
  const calls: RecordedModelCall[] = [];
  const recorded = defineAdapter({
    provider: adapter.provider,
    model: adapter.model,
    capabilities: adapter.capabilities,
    stream: async function* (request) {
      const { signal: _signal, ...asked } = request;
      const events: ModelEvent[] = [];
      for await (const event of adapter.stream(request)) {
        events.push(event);
        yield event;
      }
      calls.push({ requestDigest: new RequestDigester().digest(request), request: asked, events });
    },
  });
  return { ...recorded, calls };
}

/** What `replayAdapter` answers from: the calls of a `recordedAdapter`, or the events of a run captured in full. */
export type Recording = readonly RecordedModelCall[] | readonly AnyRunEvent[];

/**
 * Answers the model calls of a recording in their order, without a network. A request that is not the recorded one
 * throws `ReplayError` that shows how it differs; so does one more call than was recorded.
 */
export function replayAdapter(recording: Recording): AIAdapter {
  const [first] = recording;
  const calls: readonly Answer[] = isRunLog(recording) ? callsOf(recording) : recording;
  const model =
    first !== undefined && "type" in first && first.type === "run.started" ? first.data.model : undefined;
  let next = 0;
  return defineAdapter({
    provider: model?.provider ?? "replay",
    model: model?.requested ?? "replay",
    capabilities: {
      parallelCalls: true,
      forcedChoice: true,
      jsonSchema: true,
      jsonSchemaWithTools: true,
      images: true,
      priced: true,
    },
    stream: async function* (request) {
      const call = calls[next];
      const got = new RequestDigester().digest(request);
      if (call?.requestDigest !== got) throw missed(next, call, request);
      next += 1;
      yield* call.events;
    },
  });
}

function isRunLog(recording: Recording): recording is readonly AnyRunEvent[] {
  const [first] = recording;
  return first !== undefined && "type" in first;
}

function missed(seq: number, call: Answer | undefined, got: ModelRequest): ReplayError {
  const { signal: _signal, ...request } = got;
  const nearest =
    call === undefined
      ? ""
      : describeDifference(call.request, "tools" in call.request ? request : { messages: request.messages });
  const what =
    call === undefined
      ? "the recording has no further call"
      : `the request is not the recorded one:\n${nearest}`;
  return new ReplayError(`Model call ${seq}: ${what}`, {
    seq,
    expected: call?.requestDigest ?? "the end of the recording",
    got: new RequestDigester().digest(got),
    ...(nearest === "" ? {} : { nearest }),
  });
}

interface Answer {
  readonly requestDigest: Digest;
  readonly request: RecordedModelCall["request"];
  readonly events: Iterable<ModelEvent>;
}

/** One answer per attempt: a call whose stream broke was asked again. */
function callsOf(events: readonly AnyRunEvent[]): readonly Answer[] {
  return events.flatMap((event, at) => {
    if (event.type !== "model.requested") return [];
    const { messages } = rebuildHistory(events.slice(0, at));
    const rest = events.slice(at + 1);
    const end = rest.findIndex((one) => one.type === "model.requested");
    const segment = end === -1 ? rest : rest.slice(0, end);
    const starts = [0, ...segment.flatMap((one, index) => (one.type === "model.reset" ? [index + 1] : []))];
    return starts.map((start) => ({
      requestDigest: event.data.requestDigest,
      request: { messages },
      events: { [Symbol.iterator]: () => answersTo(segment.slice(start)) },
    }));
  });
}

/** What came, up to the end of the answer; a recorded failure is thrown where it happened. */
function* answersTo(events: readonly AnyRunEvent[]): Generator<ModelEvent, void> {
  for (const event of events) {
    if ((yield* modelEvents(event)) !== undefined) return;
  }
  throw new OpenFunctionsError("The recorded run ends before its model answered.", {
    code: "record_invalid",
  });
}

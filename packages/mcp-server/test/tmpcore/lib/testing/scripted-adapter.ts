/** The fake model: replays scripted replies, delays, errors and stalls, and remembers what it was asked. */

import {
  type AIAdapter,
  type FinishReason,
  type ModelCapabilities,
  type ModelEvent,
  type ModelRequest,
  NO_USAGE,
  type Usage,
} from "../adapter.ts";
import { defineAdapter } from "../define-adapter.ts";
import { InputError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { ProviderPart } from "../message.ts";
import { type Clock, systemClock } from "../ports.ts";
import { parseToolArguments } from "../tool-arguments.ts";

/** One scripted call. `args` may be raw text, also text that is not JSON. Default id: `call_<step>_<index>`. */
export interface ScriptedCall {
  readonly name: string;
  readonly args?: JsonObject | string;
  readonly callId?: string;
}

/**
 * One scripted reply. Its fields happen in this order: wait `delayMs`, give `reasoning`, `parts`, `text` and
 * `toolCalls` (or exactly `events`), then `error` is thrown, or `stall` waits for the abort, or the reply ends.
 */
export interface ScriptedReply {
  readonly delayMs?: number;
  readonly reasoning?: string;
  readonly parts?: readonly ProviderPart[];
  /** A list is one delta per entry. */
  readonly text?: string | readonly string[];
  readonly toolCalls?: readonly ScriptedCall[];
  /** Given as they are, in place of everything above but `delayMs`; no `finish` is added. */
  readonly events?: readonly ModelEvent[];
  readonly error?: unknown;
  /** Nothing more comes until the request's signal aborts. */
  readonly stall?: true;
  /** Default: all zero. */
  readonly usage?: Usage;
  /** Default: `tool_calls` where there are calls, else `stop`. */
  readonly finishReason?: FinishReason;
}

/** A reply, or a function of the request (0 is the first call) that makes one. */
export type ScriptStep =
  | ScriptedReply
  | ((request: ModelRequest, index: number) => ScriptedReply | Promise<ScriptedReply>);

/** How the fake presents itself. Defaults: provider `scripted`, model `scripted-model`, able to do everything. */
export interface ScriptedAdapterOptions {
  readonly provider?: string;
  readonly model?: string;
  readonly capabilities?: Partial<ModelCapabilities>;
  /** Default: the real clock. */
  readonly clock?: Clock;
}

/** An adapter that follows a script. */
export interface ScriptedAdapter extends AIAdapter {
  /** Every request so far, in order, as it was received. */
  readonly requests: readonly ModelRequest[];
}

/**
 * Makes a fake model. Each `stream` or `chat` call takes the next step, at the moment its first event is
 * asked for; a call after the last step throws `InputError`. An abort rejects with the signal's reason.
 */
export function scriptedAdapter(
  steps: readonly ScriptStep[],
  options: ScriptedAdapterOptions = {},
): ScriptedAdapter {
  const requests: ModelRequest[] = [];
  const clock = options.clock ?? systemClock;
  const model = options.model ?? "scripted-model";
  const adapter = defineAdapter({
    provider: options.provider ?? "scripted",
    model,
    capabilities: { ...ABLE, ...options.capabilities },
    stream: async function* (request) {
      const index = requests.push(request) - 1;
      const step = steps[index];
      request.signal?.throwIfAborted();
      if (step === undefined) throw noStep(index, steps.length);
      const reply = typeof step === "function" ? await step(request, index) : step;
      yield* play(reply, { request, index, clock, model });
    },
  });
  return Object.freeze({ ...adapter, requests });
}

const ABLE: ModelCapabilities = {
  parallelCalls: true,
  forcedChoice: true,
  jsonSchema: true,
  jsonSchemaWithTools: true,
  images: true,
  priced: false,
};

interface Stage {
  readonly request: ModelRequest;
  readonly index: number;
  readonly clock: Clock;
  readonly model: string;
}

async function* play(reply: ScriptedReply, stage: Stage): AsyncGenerator<ModelEvent> {
  const { signal } = stage.request;
  if (reply.delayMs !== undefined) await stage.clock.sleep(reply.delayMs, signal);
  for (const event of reply.events ?? toEvents(reply, stage)) {
    signal?.throwIfAborted();
    yield event;
  }
  signal?.throwIfAborted();
  if (reply.error !== undefined) throw reply.error;
  if (reply.stall === true) await untilAborted(signal);
  if (reply.events !== undefined) return;
  yield { type: "usage", usage: reply.usage ?? NO_USAGE };
  yield {
    type: "finish",
    reason: reply.finishReason ?? ((reply.toolCalls ?? []).length > 0 ? "tool_calls" : "stop"),
  };
}

function* toEvents(reply: ScriptedReply, stage: Stage): Generator<ModelEvent> {
  yield { type: "start", responseId: `scripted_${stage.index}`, model: stage.model };
  if (reply.reasoning !== undefined) yield { type: "reasoning_delta", text: reply.reasoning };
  for (const part of reply.parts ?? []) yield { type: "part", part };
  const texts = typeof reply.text === "string" ? [reply.text] : (reply.text ?? []);
  for (const text of texts) yield { type: "text_delta", text };
  for (const [index, call] of (reply.toolCalls ?? []).entries()) {
    const { args, argsText, argsError } = parseToolArguments(call.args ?? "");
    const callId = call.callId ?? `call_${stage.index}_${index}`;
    yield { type: "tool_call_delta", index, callId, name: call.name, argsText };
    const error = argsError === undefined ? {} : { argsError };
    yield { type: "tool_call", index, callId, name: call.name, args, argsText, ...error };
  }
}

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function noStep(index: number, count: number): InputError {
  return new InputError(
    `The script has ${count} step${count === 1 ? "" : "s"}, but the model was asked ${index + 1} times.`,
    {
      hint: "Add a step for this request, or find out why the code under test asks once more.",
    },
  );
}

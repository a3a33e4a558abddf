/** One question put to an adapter under test: a script, the adapter, and what both were seen to do. */

import assert from "node:assert/strict";
import { inspect } from "node:util";
import type { AIAdapter, ModelEvent, ModelReply, ModelRequest, ModelTool } from "../adapter.ts";
import { collect } from "../collect.ts";
import { ProviderError } from "../errors.ts";
import type { RequestLimits } from "../model-call.ts";
import { type Clock, type Ports, systemClock } from "../ports.ts";
import {
  type FakeModelServer,
  type FakeReply,
  type FakeStep,
  startFakeModelServer,
} from "./fake-model-server.ts";
import type { NeutralReply, WireFixtures } from "./wire-fixtures.ts";

/** What an adapter is made from, in a suite. */
export interface AdapterMakeOptions {
  /** `http://127.0.0.1:<port>`; the adapter adds its own path. Empty where no wire fixtures were given. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly limits: Partial<RequestLimits>;
  readonly ports: Partial<Ports>;
  readonly fetch?: typeof fetch;
  /** The script, for adapters that speak no wire and play replies themselves. */
  readonly replies: readonly NeutralReply[];
}

/** What an adapter can be asked to show. What is false is left out of the suite by declaration. */
export interface AdapterSuiteCapabilities {
  /** Finishes `refusal`. */
  readonly refusal: boolean;
  /** Finishes `content_filter`. */
  readonly contentFilter: boolean;
  /** Carries opaque items and sends them back. */
  readonly opaque: boolean;
  /** Makes ids for calls that come without one. */
  readonly missingIds: boolean;
  /** Reads cached and reasoning tokens. */
  readonly usage: boolean;
}

/** An adapter under test. */
export interface AdapterSuite {
  make(options: AdapterMakeOptions): AIAdapter;
  /** Left out for adapters without HTTP; then only the neutral cases run. */
  readonly fixtures?: WireFixtures;
  readonly capabilities: AdapterSuiteCapabilities;
}

/** The key every suite uses; it must never be seen again. */
export const SUITE_KEY = "sk-conformance-0123456789abcdef";

/** A clock whose sleeps take no time but are remembered, and whose timers are real. */
export interface HurriedClock extends Clock {
  readonly sleeps: readonly number[];
}

/** Makes a hurried clock. */
export function hurriedClock(): HurriedClock {
  const sleeps: number[] = [];
  return {
    now: systemClock.now,
    after: systemClock.after,
    sleep: (ms, signal) => {
      sleeps.push(ms);
      return systemClock.sleep(0, signal);
    },
    sleeps,
  };
}

/** What a case gets to work with. */
export interface Situation {
  readonly adapter: AIAdapter;
  readonly server: FakeModelServer;
  readonly clock: HurriedClock;
}

/** How a situation is set up. */
export interface SituationOptions {
  readonly replies?: readonly NeutralReply[];
  /** Raw HTTP steps in place of `replies`; needs fixtures. */
  readonly steps?: readonly FakeStep[];
  /** Put on every reply's HTTP answer. */
  readonly how?: FakeReply;
  readonly limits?: Partial<RequestLimits>;
  readonly fetch?: typeof fetch;
}

/** Sets up server and adapter, runs the case, and takes everything down again. */
export async function inSituation(
  suite: AdapterSuite,
  options: SituationOptions,
  run: (situation: Situation) => Promise<void>,
): Promise<void> {
  const { replies = [] } = options;
  const steps =
    options.steps ??
    replies.map((reply): FakeStep => ({ ...options.how, blocks: suite.fixtures?.stream(reply) ?? [] }));
  const server = await startFakeModelServer(steps);
  const clock = hurriedClock();
  try {
    const adapter = suite.make({
      baseUrl: server.url,
      apiKey: SUITE_KEY,
      limits: options.limits ?? {},
      ports: { clock, random: () => 0.5 },
      ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
      replies,
    });
    await run({ adapter, server, clock });
  } finally {
    await server.close();
  }
}

/** A request with one user message. */
export function ask(text: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [{ role: "user", content: text }], ...more };
}

/** The tools of every suite. */
export const SUITE_TOOLS: readonly ModelTool[] = [
  {
    name: "get_weather",
    description: "The weather of a city.",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
  { name: "get_time", description: "The time now.", inputSchema: { type: "object", properties: {} } },
];

/** What one stream gave: its events, and the reply or the failure it ended with. */
export interface Outcome {
  readonly events: readonly ModelEvent[];
  readonly reply?: ModelReply;
  readonly failure?: unknown;
}

/** Runs a stream to its end, whatever that is. */
export async function outcomeOf(adapter: AIAdapter, request: ModelRequest): Promise<Outcome> {
  const events: ModelEvent[] = [];
  try {
    const reply = await collect(adapter.stream(request), (event) => events.push(event));
    return { events, reply };
  } catch (failure) {
    return { events, failure };
  }
}

/** The failure of an outcome as a `ProviderError`, or a failed assertion. */
export function providerFailure(outcome: Outcome): ProviderError {
  const { failure } = outcome;
  assert.ok(
    failure instanceof ProviderError,
    `expected a ProviderError, got ${failure === undefined ? `the reply "${outcome.reply?.text}"` : inspect(failure)}`,
  );
  return failure;
}

/** The parts of a reply that must not depend on how its bytes travelled. */
export function essence(reply: ModelReply | undefined): unknown {
  return (
    reply && {
      text: reply.text,
      calls: reply.toolCalls,
      parts: reply.parts,
      finish: reply.finishReason,
      usage: reply.usage,
    }
  );
}

/** What the fake model does, read from the model's name, so that a client needs no other channel to ask for it. */

/** A model without rounds answers at once. */
export interface FakeScript {
  /** Replies that ask for tools before the answer. */
  readonly rounds: number;
  /** Tool calls in each of those replies. */
  readonly callsPerRound: number;
  /** Pieces the answer is streamed in; 0 for the short answer in one piece. */
  readonly deltas: number;
}

/** The answer of every model that is not asked for a long text. */
export const FAKE_ANSWER = "The final answer is 42.";

/** `k10`: ten rounds of one call. `k3p2`: three rounds of two calls. `s2000`: a text of 2,000 deltas. */
export function scriptOf(model: string): FakeScript {
  const tools = /^k(\d+)(?:p(\d+))?$/.exec(model);
  const text = /^s(\d+)$/.exec(model);
  return {
    rounds: Number(tools?.[1] ?? 0),
    callsPerRound: Number(tools?.[2] ?? 1),
    deltas: Number(text?.[1] ?? 0),
  };
}

/** The pieces of the answer, all of about a word's length and not all equal. */
export function answerDeltas({ deltas }: FakeScript): readonly string[] {
  if (deltas === 0) return [FAKE_ANSWER];
  return Array.from({ length: deltas }, (_, index) => `tok${index % 97} `);
}

/** One call the fake model asks for. */
export interface FakeCall {
  readonly id: string;
  readonly name: string;
  readonly argsText: string;
}

/** The calls of one round. `replyId` is part of their ids: by it a later request tells how many rounds there were. */
export function callsOfRound(
  script: FakeScript,
  asked: { readonly round: number; readonly replyId: number; readonly toolName: string },
): readonly FakeCall[] {
  return Array.from({ length: script.callsPerRound }, (_, index) => ({
    id: `call_${asked.replyId}_${index}`,
    name: asked.toolName,
    argsText: JSON.stringify({ a: asked.round, b: index + 1 }),
  }));
}

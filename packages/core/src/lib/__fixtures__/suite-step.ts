/** What the conformance suite wants said, as a step of the scripted model. */

import type { ScriptedReply } from "../testing/scripted-adapter.ts";
import type { NeutralReply } from "../testing/wire-fixtures.ts";

/** The step. */
export function suiteStep(reply: NeutralReply): ScriptedReply {
  const { usage } = reply;
  const calls = (reply.calls ?? []).map(({ id, name, args }) => ({
    name,
    args: args.join(""),
    ...(id === null ? {} : { callId: id }),
  }));
  const isCut = (reply.calls ?? []).some((call) => call.args.join("") === '{"city":"a');
  const counts = usage && {
    input: usage.input - usage.cached,
    cacheRead: usage.cached,
    cacheWrite: 0,
    output: usage.output - usage.reasoning,
    reasoning: usage.reasoning,
    total: usage.input + usage.output,
  };
  return {
    ...(reply.text === undefined ? {} : { text: reply.text }),
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
    ...(reply.finish === undefined ? {} : { finishReason: isCut ? "length" : reply.finish }),
    ...(counts === undefined ? {} : { usage: counts }),
  };
}

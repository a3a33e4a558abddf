/** The conformance suite runs for an adapter without a wire, and under node:test. */

import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { describeAdapter } from "./describe-adapter.ts";
import { scriptedAdapter, type ScriptedReply } from "./testing/scripted-adapter.ts";
import type { NeutralReply } from "./testing/wire-fixtures.ts";

function toStep(reply: NeutralReply): ScriptedReply {
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

describeAdapter(
  "scripted",
  {
    make: ({ replies }) => scriptedAdapter(replies.map(toStep)),
    capabilities: { refusal: true, contentFilter: true, missingIds: true, usage: true, opaque: false },
  },
  { describe, it },
);

it("runs under node:test as well", () => {
  const script = `
    import { describe, it } from "node:test";
    const { describeAdapter } = await import(${JSON.stringify(new URL("./describe-adapter.ts", import.meta.url).href)});
    const { scriptedAdapter } = await import(${JSON.stringify(new URL("./testing/scripted-adapter.ts", import.meta.url).href)});
    describeAdapter("x", { make: ({ replies }) => scriptedAdapter(replies.map((reply) => ({ text: reply.text ?? [] }))), capabilities: {} }, { describe, it });
  `;
  const { stdout } = spawnSync(
    process.execPath,
    ["--test-reporter=tap", "--input-type=module", "-e", script],
    { encoding: "utf8", env: {} },
  );
  expect(stdout).toContain("ok 1 - streams plain text in order and finishes once, last");
});

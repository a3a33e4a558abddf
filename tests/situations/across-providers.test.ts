/** A history that one provider made is continued by every other. */

import { describe, expect, it } from "vitest";
import {
  type AnyRunEvent,
  createMemoryRunStore,
  type LoopResult,
  type Message,
  ok,
  partsOf,
  runLoop,
  ToolRegistry,
  userMessage,
} from "@openfunctions/core";
import { forkRun } from "@openfunctions/core/records";
import { ADAPTERS, answerOf, type Said, sentTo, wireOf, withAdapter, withSteps } from "./adapters.ts";
import { expectLegalHistory } from "./wire-shape.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SECRETS = ["r1", "r2"];
const RECORDED: readonly Said[] = [
  {
    opaque: "r1",
    thought: "Two places to look at.",
    text: ["I look ", "twice: 北."],
    calls: [1, 2].map((n) => ({ id: `call_${n}`, name: "look", args: [`{"n":${n},"note":"é \\"q\\""}`] })),
  },
  { opaque: "r2", text: ["Found “both”."] },
];

function toolsOf(): ToolRegistry {
  const tools = new ToolRegistry();
  tools.register({
    name: "look",
    description: "looks something up",
    inputSchema: {
      type: "object",
      properties: { n: { type: "integer" }, note: { type: "string" } },
      required: ["n"],
    },
    contract: "read",
    handler: (params) => ok({ n: Object(params).n, list: ["b", "a"] }),
    toModel: (data) => [
      { type: "text", text: JSON.stringify(data) },
      ...(Object(data).n === 2 ? [{ type: "image" as const, mediaType: "image/png", data: PIXEL }] : []),
    ],
  });
  return tools;
}

interface Kept {
  readonly result: LoopResult;
  readonly events: readonly AnyRunEvent[];
}

/** A whole run of one provider, with its record. */
async function recordedBy(name: string): Promise<Kept> {
  const store = createMemoryRunStore();
  let kept: Kept | undefined;
  await withAdapter(name, RECORDED, async ({ adapter }) => {
    const messages: Message[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "What is here?" },
          { type: "image", mediaType: "image/png", data: PIXEL },
        ],
      },
    ];
    const run = runLoop({ adapter, tools: toolsOf(), messages, capture: "full", store });
    const result = await run.result;
    expect(result).toMatchObject({ status: "completed", text: "Found “both”." });
    expect(result.record.toolCalls.map(({ outcome }) => outcome)).toEqual(["succeeded", "succeeded"]);
    const events: AnyRunEvent[] = [];
    for await (const event of store.read(run.runId)) events.push(event);
    kept = { result, events };
  });
  return kept!;
}

async function warningsOf(run: AsyncIterable<{ readonly type: string }>): Promise<readonly string[]> {
  const codes: string[] = [];
  for await (const event of run as AsyncIterable<AnyRunEvent>)
    if (event.type === "model.responded") codes.push(...(event.data.warnings ?? []).map(({ code }) => code));
  return codes;
}

/** What was said, asked and answered stands in the request as it was. */
function expectUnedited(sent: string): void {
  for (const text of ["What is here?", "I look twice: 北.", "Found “both”.", "And now?", PIXEL])
    expect(sent).toContain(text);
  for (const n of [1, 2]) {
    expect(sent.replaceAll("\\", "")).toContain(`{"n":${n},"note":"é "q""}`);
    expect(sent.replaceAll("\\", "")).toContain(`{"n":${n},"list":["b","a"]}`);
  }
}

describe.each(ADAPTERS)("a run recorded with %s", (from) => {
  it.each(ADAPTERS)(
    "goes on with %s: opaque parts of others leave whole with a warning, all else is as it was",
    async (to) => {
      const { result, events } = await recordedBy(from);
      await withAdapter(to, [{ text: ["Fine."] }, { text: ["Fine."] }], async ({ adapter, server }) => {
        const messages = [...result.messages, userMessage("And now?")];
        const live = runLoop({ adapter, tools: toolsOf(), messages });
        const forked = forkRun(events, {
          at: events.length,
          adapter,
          messages: [userMessage("And now?")],
        });
        // Chat completions have no room for what the same provider's Responses gave; that is left out as well.
        const isLeft =
          from !== to && result.messages.flatMap(partsOf).some(({ type }) => type === "provider");
        for (const run of [live, forked]) {
          const codes = await warningsOf(run);
          expect(await run.result).toMatchObject({ status: "completed", text: "Fine." });
          expect(codes.includes("provider_parts_left_out")).toBe(isLeft);
        }
        expect(server.requests).toHaveLength(2);
        for (const { body, text } of server.requests) {
          expectLegalHistory(to, body);
          expectUnedited(text);
          const isOwn = from === to && wireOf(to).fixtures.opaqueOf(body).length > 0;
          for (const secret of SECRETS) expect(text.includes(`secret é ${secret}`), secret).toBe(isOwn);
        }
        expect(server.requests[0]?.text).toBe(server.requests[1]?.text);
      });
    },
  );

  it("comes back from every other provider with its own opaque parts, and none of theirs", async () => {
    const { result } = await recordedBy(from);
    for (const other of ADAPTERS.filter((name) => name !== from)) {
      let messages: readonly Message[] = [...result.messages, userMessage("And now?")];
      const theirs: Said = {
        opaque: "theirs",
        thought: "Hm.",
        calls: [{ id: "call_3", name: "look", args: ['{"n":3}'] }],
      };
      await withAdapter(other, [theirs, { text: ["Seen."] }], async ({ adapter, server }) => {
        const run = await runLoop({ adapter, tools: toolsOf(), messages }).result;
        expect(run).toMatchObject({ status: "completed", text: "Seen." });
        expectLegalHistory(other, server.requests[1]?.body);
        messages = [...run.messages, userMessage("Back again.")];
      });
      const steps = [answerOf(from, { text: ["Home."] })];
      await withSteps(from, steps, {
        body: async (talking) => {
          const { adapter } = talking;
          expect((await runLoop({ adapter, tools: toolsOf(), messages }).result).text).toBe("Home.");
          const { body, text } = sentTo(talking, 0);
          expectLegalHistory(from, body);
          expect(text).not.toContain("secret é theirs");
          const { opaqueOf, stream } = wireOf(from).fixtures;
          const had = stream({ ...RECORDED[0], calls: [], text: [] })
            .join("")
            .includes("secret");
          for (const secret of SECRETS) expect(text.includes(`secret é ${secret}`)).toBe(had);
          expect(opaqueOf(body).length > 0).toBe(had);
        },
      });
    }
  });
});

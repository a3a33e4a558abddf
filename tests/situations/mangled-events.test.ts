/** Streams whose events hold anything but what is expected: an outcome with a name, whatever it is. */

import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  type AIAdapter,
  collect,
  createMemoryRunStore,
  type ModelEvent,
  type ModelReply,
  ok,
  OpenFunctionsError,
  runLoop,
  ToolRegistry,
  userMessage,
} from "@openfunctions/core";
import { exportRun, verifyRun } from "@openfunctions/core/records";
import { ADAPTERS, type Said, wireOf } from "./adapters.ts";

const SCALE = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");

const SAID: readonly Said[] = [
  {
    opaque: "r1",
    thought: "Hm.",
    text: ["one ", "two"],
    calls: [
      { id: "call_1", name: "look", args: ['{"n":', "1}"] },
      { id: "call_2", name: "look", args: ['{"n":2}'] },
    ],
  },
  { text: ["so fa"], finish: "length" },
  { text: ["no"], finish: "refusal" },
];
const DEEP = `${'{"a":['.repeat(2_000)}${"]}".repeat(2_000)}`;
/** Put in the place of every value of every event, as JSON text. */
const ODD = [
  "null",
  "0",
  "-1",
  "1e999",
  "-1e999",
  "1.5",
  "true",
  '""',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '"\\ud83d"',
  '"error"',
  "[]",
  "[null]",
  "[[]]",
  "{}",
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  '{"type":"error","error":null}',
  DEEP,
];

/** The stream as JSON values with what stands around them. */
interface Block {
  readonly before: string;
  readonly value: unknown;
  readonly after: string;
}

function parse(block: string): Block {
  const start = block.indexOf("{");
  const end = block.lastIndexOf("}") + 1;
  if (start === -1) return { before: block, value: undefined, after: "" };
  return {
    before: block.slice(0, start),
    value: JSON.parse(block.slice(start, end)),
    after: block.slice(end),
  };
}

function textOf({ before, value, after }: Block): string {
  return value === undefined ? before : `${before}${JSON.stringify(value)}${after}`;
}

/** Numbers from 0 to 1 that depend on the seed alone. */
function diceOf(seed: number): () => number {
  let count = 0;
  return () => Number.parseInt(hash("sha256", `${seed}/${count++}`).slice(0, 8), 16) / 0x1_0000_0000;
}

function blocksOf(name: string, { thought, ...said }: Said): readonly Block[] {
  const { fixtures, thought: write } = wireOf(name);
  const blocks = [...fixtures.stream(said)];
  if (thought !== undefined && write !== undefined) blocks.splice(1, 0, ...write(thought).split(/(?<=\n\n)/));
  return blocks.map(parse);
}

type Path = readonly (string | number)[];

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))];
}

const HOLE = "\u0000hole";

/** The text of a block with `odd` at `path`. */
function mangled({ before, value, after }: Block, path: Path, odd: string): string {
  const copy: unknown = structuredClone(value);
  const [last, ...rest] = path.toReversed();
  if (last === undefined) return `${before}${odd}${after}`;
  const holder = rest.toReversed().reduce<unknown>((at, key) => Reflect.get(Object(at), key), copy);
  Reflect.set(Object(holder), last, HOLE);
  return `${before}${JSON.stringify(copy).replace(JSON.stringify(HOLE), () => odd)}${after}`;
}

/** An adapter whose next answers are these texts. */
function answering(name: string, answers: string[]): AIAdapter {
  const fetch: typeof globalThis.fetch = async () =>
    new Response(answers.shift() ?? "", { headers: { "content-type": "text/event-stream" } });
  return wireOf(name).make({
    baseUrl: "http://127.0.0.1:9/v1",
    apiKey: "k",
    model: "m",
    limits: { retries: 0 },
    ports: { fetch },
  });
}

const FINISH = ["stop", "tool_calls", "length", "content_filter", "refusal", "error", "unknown"];

/** Everything the types promise of a reply, which nothing a server says may break. */
function expectSound({ usage, finishReason, toolCalls, parts, text, ...reply }: ModelReply): void {
  expect(FINISH).toContain(finishReason);
  const { input, cacheRead, cacheWrite, output, reasoning, total } = usage;
  for (const count of [input, cacheRead, cacheWrite, output, reasoning, total])
    expect(Number.isFinite(count) && count >= 0, JSON.stringify(usage)).toBe(true);
  expect(input + cacheRead + cacheWrite + output + reasoning).toBeCloseTo(total);
  for (const call of toolCalls) {
    for (const field of [call.callId, call.name, call.argsText]) expect(field).toBeTypeOf("string");
    expect(Object.prototype.toString.call(call.args)).toBe("[object Object]");
  }
  for (const part of parts) expect(part.type).toBeTypeOf("string");
  for (const field of [text, reply.responseId ?? "", reply.reportedModel ?? ""]) {
    expect(field).toBeTypeOf("string");
    expect(field.isWellFormed()).toBe(true);
  }
}

async function outcomeOf(adapter: AIAdapter): Promise<ModelReply | OpenFunctionsError> {
  const events: ModelEvent[] = [];
  try {
    const stream = adapter.stream({ messages: [userMessage("go")] });
    return await collect(stream, (event) => void events.push(event));
  } catch (error) {
    if (OpenFunctionsError.is(error)) return error;
    throw error;
  }
}

/** Every body with one value replaced, and where; each `step`th of them. */
function* mangledBodies(
  name: string,
  said: Said,
  step: number,
): Generator<{ readonly where: string; readonly body: string }> {
  const blocks = blocksOf(name, said);
  const texts = blocks.map(textOf);
  let count = 0;
  for (const [at, block] of blocks.entries()) {
    if (block.value === undefined) continue;
    for (const path of pathsOf(block.value)) {
      for (const odd of ODD) {
        count += 1;
        if (count % step !== 0) continue;
        const body = texts.with(at, mangled(block, path, odd)).join("");
        yield { where: `block ${at} at "${path.join(".")}": ${odd.slice(0, 40)}`, body };
      }
    }
  }
}

/** How a run ended, and whether its record holds. */
async function runOf(name: string, body: string): Promise<string> {
  const tools = new ToolRegistry();
  tools.register({
    name: "look",
    description: "looks",
    inputSchema: { type: "object", properties: { n: { type: "integer" } } },
    contract: "read",
    handler: (params) => ok(params),
  });
  const store = createMemoryRunStore();
  const done = wireOf(name)
    .fixtures.stream({ text: ["done"] })
    .join("");
  const adapter = answering(name, [body, done, done]);
  const run = runLoop({ adapter, tools, messages: [userMessage("go")], capture: "full", store });
  const { stopReason } = await run.result;
  let lines = "";
  for await (const line of exportRun(store, run.runId)) lines += line;
  const { status, findings } = await verifyRun(lines);
  return status === "unsigned" ? stopReason : JSON.stringify([status, findings]);
}

const ENDINGS =
  "model_response empty_response provider_error protocol_error context_overflow output_truncated refusal content_filter repeated_calls".split(
    " ",
  );

describe.each(ADAPTERS)("%s", (name) => {
  it("any value in the place of any other gives a sound reply or a typed error", async () => {
    const broken: string[] = [];
    let cases = 0;
    for (const said of SAID) {
      for (const { where, body } of mangledBodies(name, said, Math.max(1, Math.round(0.5 / SCALE)))) {
        cases += 1;
        try {
          const outcome = await outcomeOf(answering(name, [body]));
          if (!(outcome instanceof Error)) expectSound(outcome);
        } catch (error) {
          broken.push(`${where}: ${String(error)}`);
        }
      }
    }
    expect(broken).toEqual([]);
    expect(cases).toBeGreaterThan(100);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  }, 120_000);

  it("events in any order, twice or missing, give a sound reply or a typed error", async () => {
    const broken: string[] = [];
    for (let seed = 1; seed <= 600 * SCALE; seed += 1) {
      const dice = diceOf(seed);
      const blocks = blocksOf(name, SAID[0] ?? {}).map(textOf);
      const body = Array.from({ length: blocks.length }, (_, at) => {
        const other = blocks[Math.floor(dice() * blocks.length)] ?? "";
        const own = blocks[at] ?? "";
        const luck = dice();
        return luck < 0.7 ? own : luck < 0.8 ? other : luck < 0.9 ? own + own : "";
      }).join("");
      try {
        const outcome = await outcomeOf(answering(name, [body]));
        if (!(outcome instanceof Error)) expectSound(outcome);
      } catch (error) {
        broken.push(`seed ${seed}: ${String(error)}`);
      }
    }
    expect(broken).toEqual([]);
  }, 60_000);

  it("a run on such a reply ends as something, and its record verifies", async () => {
    const broken: string[] = [];
    for (const { where, body } of mangledBodies(name, SAID[0] ?? {}, Math.max(3, Math.round(2 / SCALE)))) {
      const ending = await runOf(name, body).catch(String);
      if (!ENDINGS.includes(ending)) broken.push(`${where}: ${ending}`);
    }
    expect(broken).toEqual([]);
  }, 120_000);
});

/** The span tree, as a collector receives it from the real SDK over OTLP HTTP. */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { context, trace } from "@opentelemetry/api";
import type { Logger as OtelLogger } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import * as conventions from "@opentelemetry/semantic-conventions/incubating";
import {
  type AnyRunEvent,
  type LoopOptions,
  ProviderError,
  type RunEvent,
  ToolRegistry,
  createMemoryRunStore,
  createPorts,
  err,
  ok,
  runCall,
  runLoop,
} from "@openfunctions/core";
import { type ScriptStep, fakeClock, recordingLogger, scriptedAdapter } from "@openfunctions/core/testing";
import { claimOutcome, recordVerification } from "@openfunctions/core/records";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EventLogger, emitEvaluation } from "./evaluation-event.ts";
import { type OtelObserverOptions, createOtelObserver } from "./otel-observer.ts";
import {
  CONTENT,
  ERROR_TYPE,
  EVALUATION_EVENT,
  GEN_AI,
  OPERATION,
  SEMANTIC_CONVENTIONS_REVISION,
} from "./semantic-names.ts";

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
  readonly events?: readonly { readonly name: string }[];
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

const received: WireSpan[] = [];
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    for (const { scopeSpans } of resourceSpans) for (const { spans } of scopeSpans) received.push(...spans);
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
});
let provider: TracerProvider;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` });
  provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
});
afterAll(async () => {
  await provider.shutdown();
  await new Promise((resolve) => server.close(resolve));
});

const observer = (options: Partial<OtelObserverOptions> = {}) =>
  createOtelObserver({ tracer: provider.getTracer("test"), ...options });

async function exported(): Promise<readonly WireSpan[]> {
  await provider.forceFlush();
  return received.splice(0);
}

/** What the tests look at: names by parent, kind, status and attributes. */
function tree(spans: readonly WireSpan[], parent?: string): readonly object[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  return spans
    .filter(({ parentSpanId = "" }) =>
      parent === undefined ? !known.has(parentSpanId) : parentSpanId === parent,
    )
    .toSorted((left, right) => Number(BigInt(left.startTimeUnixNano) - BigInt(right.startTimeUnixNano)))
    .map((span) => ({
      span: span.name,
      kind: span.kind,
      ...(span.status.code === undefined || span.status.code === 0 ? {} : { status: span.status.code }),
      ...attributesOf(span),
      ...(span.events?.length ? { events: span.events.map(({ name }) => name) } : {}),
      ...(tree(spans, span.spanId).length > 0 ? { below: tree(spans, span.spanId) } : {}),
    }));
}

function attributesOf(span: WireSpan): Record<string, unknown> {
  return Object.fromEntries(span.attributes.map(({ key, value }) => [key, plain(value)]));
}

function plain(value: any): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(plain);
  return value.intValue === undefined ? Object.values(value)[0] : Number(value.intValue);
}

function tools(): ToolRegistry {
  const registry = new ToolRegistry();
  const inputSchema = {
    type: "object",
    properties: { text: { type: "string" }, key: { type: "string" } },
  } as const;
  registry.register({
    name: "look",
    description: "Looks up.",
    inputSchema,
    contract: "read",
    handler: () => ok("found"),
  });
  registry.register({
    name: "fail",
    description: "Fails always.",
    inputSchema,
    contract: "read",
    handler: () => err("no"),
  });
  registry.register({
    name: "pay",
    description: "Pays a bill.",
    inputSchema,
    contract: {
      version: "1",
      authority: { level: "session" },
      effects: { kind: "write" },
      idempotency: { mode: "keyed", keyParam: "key" },
    },
    handler: () => {
      throw new Error("the line went dead");
    },
  });
  return registry;
}

const usage = { input: 10, cacheRead: 4, cacheWrite: 0, output: 5, reasoning: 2, total: 21, costUsd: 0.5 };

function run(steps: readonly ScriptStep[], options: Partial<LoopOptions> = {}) {
  return runLoop({
    adapter: scriptedAdapter(steps, { provider: "gemini" }),
    tools: tools(),
    messages: [{ role: "user", content: "secret question" }],
    system: "secret instructions",
    actor: { name: "clerk" },
    capture: "full",
    ...options,
  }).result;
}

describe("createOtelObserver", () => {
  it("makes the span tree of the conventions, with no content in it", async () => {
    const clock = fakeClock();
    const observe = observer();
    const tick: ScriptStep = () => {
      clock.advance(10);
      return {
        usage,
        toolCalls: [
          { name: "look", args: { text: "secret words" }, callId: "c1" },
          { name: "fail", callId: "c2" },
          { name: "pay", args: { key: "key-123" }, callId: "c3" },
          { name: "nothing", callId: "c4" },
        ],
      };
    };
    await run([tick, { text: "secret answer", usage }], {
      ports: { observe, clock },
      lineage: { threadId: "thread_1" },
      runId: "run_1",
      sampling: { temperature: 0.25, stop: ["."] },
    });
    const spans = await exported();
    const text = JSON.stringify(spans);
    for (const word of ["secret", "key-123", "effect/1"]) expect(text).not.toContain(word);
    expect(JSON.stringify(tree(spans), null, 1).replace(/sha256:\w+/g, "DIGEST")).toMatchSnapshot();
  });

  it("writes content where it was asked for and recorded, but never an idempotency key", async () => {
    const steps = [
      { toolCalls: [{ name: "pay", args: { text: "bill", key: "key-123" } }] },
      { text: "the answer" },
    ];
    await run(steps, { ports: { observe: observer({ content: true }) } });
    const spans = await exported();
    const text = JSON.stringify(spans);
    for (const word of ["secret question", "secret instructions", "the answer", "bill", "the line went dead"])
      expect(text).toContain(word);
    expect(text).not.toContain("key-123");
    await run([{ text: "the answer" }], {
      capture: "digest",
      ports: { observe: observer({ content: true }) },
    });
    expect(JSON.stringify(await exported())).not.toContain("the answer");
  });

  it("has status ERROR for what failed only; limits, cancellation and unknown outcomes are attributes", async () => {
    const observe = observer();
    const status = async (steps: readonly ScriptStep[], options: Partial<LoopOptions> = {}) => {
      await run(steps, { streamRetries: 0, ports: { observe }, ...options });
      const [root] = tree(await exported()) as Record<string, unknown>[];
      return [root?.["status"], root?.["openfunctions.run.status"], root?.["openfunctions.run.stop_reason"]];
    };
    const broken = new ProviderError("it broke", { provider: "gemini", kind: "invalid_request" });
    expect(await status([{ error: broken }])).toEqual([2, "failed", "provider_error"]);
    expect(await status([{ text: "half", finishReason: "length" }])).toEqual([
      undefined,
      "limit_reached",
      "output_truncated",
    ]);
    const abort = new AbortController();
    const stalled: ScriptStep = () => {
      setImmediate(() => abort.abort());
      return { stall: true };
    };
    expect(await status([stalled], { signal: abort.signal })).toEqual([
      undefined,
      "cancelled",
      "caller_abort",
    ]);
  });

  it("nests a child run below its parent, and a run below the trace that asked for it", async () => {
    const observe = observer();
    const traceContext = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
    const store = createMemoryRunStore();
    await runCall(
      tools(),
      { name: "look", args: {} },
      { store, traceContext, ports: createPorts({ observe }) },
    );
    const [call, ...rest] = await exported();
    expect(rest).toEqual([]);
    expect(call).toMatchObject({
      name: "execute_tool look",
      traceId: traceContext.traceId,
      parentSpanId: traceContext.spanId,
    });

    const events = await recordedEvents();
    const child = events.map((event) => {
      const lineage = {
        rootRunId: "run_1",
        correlationId: "run_1",
        attempt: 1,
        depth: 1,
        parentRunId: "run_1",
      };
      const data = event.type === "run.started" ? { ...event.data, lineage } : event.data;
      return { ...event, runId: "child", data };
    });
    for (const event of events.slice(0, -1)) observe(event);
    for (const event of child) observe(event as never);
    for (const event of events.slice(-1)) observe(event);
    const [root] = tree(await exported()) as { span: string; below: { span: string }[] }[];
    expect(root?.below.map(({ span }) => span)).toContain("invoke_agent clerk");
  });

  it("shows a replayed result as an attribute of one span", async () => {
    const events = await recordedEvents();
    const replayed = events.flatMap((event): AnyRunEvent[] => {
      if (event.type === "tool.started") return [];
      if (event.type !== "tool.finished") return [event];
      const { callId, outcome, result } = event.data;
      const data = {
        callId,
        outcome,
        result,
        replayOf: "c0",
        authority: { level: "session", decision: "granted" },
        idempotency: { source: "derived", scope: "run" },
      } as const;
      return [{ ...event, type: "tool.replayed", data }];
    });
    const observe = observer();
    for (const event of replayed) observe(event);
    const spans = (await exported()).filter(({ name }) => name.startsWith("execute_tool"));
    expect(spans).toHaveLength(1);
    expect(attributesOf(spans[0]!)).toMatchObject({
      "openfunctions.tool.replayed": true,
      "openfunctions.tool.outcome": "succeeded",
    });
  });

  it("ends the span at a suspension and begins another when the run is resumed, here or in another process", async () => {
    const events = await recordedEvents();
    const [first, ...rest] = events;
    const pause = {
      ...first!,
      type: "run.suspended",
      data: { stopReason: "approval_required", pending: [] },
    };
    const resume = { ...first!, type: "run.resumed", data: {} };
    const here = observer();
    for (const event of [first!, pause, resume, ...rest]) here(event as RunEvent);
    const spans = (await exported()).filter(({ name }) => name.startsWith("invoke_agent"));
    expect(spans.map((span) => attributesOf(span)["openfunctions.run.status"])).toEqual([
      "suspended",
      "completed",
    ]);
    const there = observer();
    for (const event of [resume, ...rest]) there(event as RunEvent);
    expect((await exported()).map(({ name }) => name)).toContain("invoke_agent");
  });

  it("keeps a bounded number of runs open and says which it gave up", async () => {
    const logger = recordingLogger();
    const observe = observer({ maxOpenRuns: 2, logger });
    const [first] = await recordedEvents();
    for (const runId of ["a", "b", "c"]) observe({ ...first!, runId });
    expect(logger.lines).toMatchObject([{ level: "warn", fields: { runId: "a" } }]);
    const spans = await exported();
    expect(spans.map((span) => attributesOf(span)["openfunctions.telemetry.abandoned"])).toEqual([true]);
  });

  it("takes every name from the pinned revision of the conventions", () => {
    const known = new Set<unknown>(Object.values(conventions));
    for (const name of [
      ...Object.values({ ...GEN_AI, ...CONTENT, ...OPERATION }),
      ERROR_TYPE,
      EVALUATION_EVENT,
    ])
      expect(known, name).toContain(name);
    const manifest = new URL(
      "../../node_modules/@opentelemetry/semantic-conventions/package.json",
      import.meta.url,
    );
    expect(JSON.parse(readFileSync(manifest, "utf8")).version).toBe(SEMANTIC_CONVENTIONS_REVISION);
  });
});

describe("emitEvaluation", () => {
  it("reports method, label and a score only where the verification decided", async () => {
    const { record } = await run([{ text: "done" }]);
    const at = "2026-01-01T00:00:00.000Z";
    const claim = claimOutcome(record, { claimId: "claim_1", claimedAt: at });
    const lines: object[] = [];
    const logger: EventLogger = { emit: (line) => lines.push(line) };
    for (const status of ["passed", "failed", "inconclusive"] as const) {
      const input = {
        attemptId: status,
        method: { kind: "receipt" as const },
        verifier: { id: "v", kind: "program" as const },
        status,
        coverage: [],
        evidence: [{ summary: "secret" }],
        startedAt: at,
        performedAt: at,
      };
      emitEvaluation(logger, recordVerification(claim, input, [record]), record.runId);
    }
    expect(lines.map((line) => Reflect.get(Object(line), "attributes"))).toMatchObject([
      {
        "gen_ai.evaluation.name": "receipt",
        "gen_ai.evaluation.score.label": "passed",
        "gen_ai.evaluation.score.value": 1,
      },
      { "gen_ai.evaluation.score.label": "failed", "gen_ai.evaluation.score.value": 0 },
      { "gen_ai.evaluation.score.label": "inconclusive" },
    ]);
    expect(JSON.stringify(lines)).not.toContain("secret");
    expect(Object.keys(Reflect.get(Object(lines[2]), "attributes"))).not.toContain(
      "gen_ai.evaluation.score.value",
    );
  });

  it("fits the logger of OpenTelemetry", () => {
    const fits = (logger: OtelLogger): EventLogger => logger;
    expect(fits).toBeTypeOf("function");
    expect(trace.getSpan(context.active())).toBeUndefined();
  });
});

/** The events of a run with one read call. */
async function recordedEvents(): Promise<readonly AnyRunEvent[]> {
  const events: AnyRunEvent[] = [];
  const steps = [{ toolCalls: [{ name: "look", callId: "c1" }] }, { text: "done" }];
  await run(steps, { runId: "run_1", ports: { observe: (event) => events.push(event as AnyRunEvent) } });
  return events;
}

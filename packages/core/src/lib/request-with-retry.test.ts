/** One model call: timers, aborts and retries, with a source that does as it is told. */

import { describe, expect, it } from "vitest";
import type { ModelEvent } from "./adapter.ts";
import { ConfigError, ProviderError } from "./errors.ts";
import type { ModelCall } from "./model-call.ts";
import { requestWithRetry, type RequestOptions } from "./request-with-retry.ts";
import { fakeClock } from "./testing/fakes.ts";
import type { WireSource } from "./wire-source.ts";

interface Script {
  readonly batches: readonly (readonly string[])[];
  readonly ending?: "stall" | "end" | Error;
}

/** Text events: "t" is a delta, "." the end, "!" a failure; anything else a start. */
function callOf(scripts: readonly (Script | Error)[]): ModelCall & { readonly opened: string[] } {
  const opened: string[] = [];
  const queue = [...scripts];
  return {
    provider: "p",
    opened,
    warnings: [{ type: "warning", code: "w", detail: "once" }],
    open: async () => {
      const script = queue.shift();
      if (script === undefined || script instanceof Error) throw script ?? new Error("no script");
      return sourceOf(script, opened);
    },
    decoder: () => ({
      finished: false,
      push(event, out) {
        if (event === "!") throw new ProviderError("stated", { provider: "p", kind: "overloaded" });
        if (event === ".") Object.assign(this, { finished: true });
        out.push(
          event === "t"
            ? { type: "text_delta", text: "t" }
            : event === "."
              ? { type: "finish", reason: "stop" }
              : { type: "start" },
        );
      },
      end() {
        throw new ProviderError("cut", { provider: "p", kind: "network" });
      },
    }),
    toError: (cause) => new ProviderError(String(cause), { provider: "p", kind: "network" }),
  };
}

function sourceOf(script: Script, log: string[]): WireSource {
  const batches = [...script.batches];
  return {
    read: async () => {
      const batch = batches.shift();
      if (batch !== undefined) return batch;
      if (script.ending === "stall") return new Promise(() => {});
      if (script.ending instanceof Error) throw script.ending;
      return undefined;
    },
    finish: () => void log.push("finish"),
    close: () => void log.push("close"),
  };
}

async function run(
  call: ModelCall,
  options: RequestOptions = {},
): Promise<{ events: string[]; failure?: unknown }> {
  const events: string[] = [];
  try {
    for await (const event of requestWithRetry(() => call, options)) events.push(event.type);
    return { events };
  } catch (failure) {
    return { events, failure };
  }
}

const ports = { clock: { ...fakeClock(), sleep: async () => {} }, random: () => 0 };

describe("requestWithRetry", () => {
  it("gives warnings once, events in order, and frees the source", async () => {
    const call = callOf([
      { batches: [["s"], []], ending: new Error("dead") },
      { batches: [["s", "t"], ["."]] },
    ]);
    expect(await run(call, { ports })).toEqual({
      events: ["warning", "start", "retry", "start", "text_delta", "finish"],
    });
    expect(call.opened).toEqual(["close", "finish"]);
  });

  it("delivers what came before a failure in one batch, then throws it without a retry", async () => {
    const { events, failure } = await run(callOf([{ batches: [["s", "t", "!"]] }]), { ports });
    expect(events).toEqual(["warning", "start", "text_delta"]);
    expect(failure).toMatchObject({ message: "stated", attempts: 1, retryable: true });
  });

  it("throws a developer's error as it is", async () => {
    const error = new ConfigError("no package", { code: "package_missing" });
    expect(await run(callOf([error]), { ports })).toMatchObject({ failure: error });
    const stream = requestWithRetry(() => {
      throw error;
    });
    await expect(stream.next()).rejects.toBe(error);
  });

  it("reads no more after the end, and asks for nothing before the first event is wanted", async () => {
    let prepared = 0;
    const call = callOf([{ batches: [["s", ".", "t"]], ending: "stall" }]);
    const stream = requestWithRetry(() => ((prepared += 1), call), { ports });
    await Promise.resolve();
    expect(prepared).toBe(0);
    const events: ModelEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events.map((event) => event.type)).toEqual(["warning", "start", "finish"]);
  });

  for (const [stage, ms, script] of [
    ["first event", 120_000, { batches: [], ending: "stall" }],
    ["idle", 60_000, { batches: [["t"]], ending: "stall" }],
  ] as const) {
    it(`ends a ${stage} stall by the clock port, no sooner`, async () => {
      const clock = fakeClock();
      const running = run(callOf([script]), { ports: { clock }, limits: { retries: 0 } });
      await settle();
      clock.advance(ms - 1);
      expect(await Promise.race([running, settle()])).toBe("pending");
      clock.advance(1);
      expect(await running).toMatchObject({ failure: { kind: "timeout" } });
    });
  }

  it("takes a decoder that neither throws nor finishes at the end of the body for a cut, and never loops", async () => {
    for (const said of [[], ["t"]] as const) {
      const call = callOf([{ batches: [[...said]] }, { batches: [[...said]] }]);
      const silent = (): ReturnType<ModelCall["decoder"]> => ({ ...call.decoder(), end: () => {} });
      const { events, failure } = await run({ ...call, decoder: silent }, { limits: { retries: 1 }, ports });
      expect(failure).toMatchObject({
        kind: "network",
        retryable: true,
        attempts: said.length === 0 ? 2 : 1,
      });
      expect(events.filter((type) => type === "text_delta")).toHaveLength(said.length);
    }
  });

  it("bounds the call with its retries", async () => {
    const clock = fakeClock();
    const running = run(callOf([{ batches: [["t"]], ending: "stall" }]), {
      ports: { clock },
      limits: { totalMs: 1_000 },
    });
    await settle();
    clock.advance(1_000);
    expect(await running).toMatchObject({
      failure: { kind: "timeout", message: expect.stringContaining("1000 ms in all") },
    });
    const late = run(callOf([new Error("dead"), { batches: [["."]] }]), {
      ports: { clock: fakeClock(), random: () => 1 },
      limits: { totalMs: 400 },
    });
    expect(await late).toMatchObject({ failure: { kind: "network" } });
  });

  it("closes a source that opens after the call was given up", async () => {
    const log: string[] = [];
    let opened: (source: WireSource) => void = () => {};
    const call: ModelCall = { ...callOf([]), open: () => new Promise((resolve) => void (opened = resolve)) };
    const controller = new AbortController();
    const running = run(call, { signal: controller.signal });
    await settle();
    controller.abort("why");
    expect((await running).failure).toBe("why");
    opened(sourceOf({ batches: [] }, log));
    await settle();
    expect(log).toEqual(["close"]);
  });

  it("field A28: an abort during the wait between attempts ends it, and is no provider failure", async () => {
    const controller = new AbortController();
    const running = run(callOf([new Error("dead")]), {
      signal: controller.signal,
      ports: { random: () => 0.999 },
    });
    setTimeout(() => controller.abort("why"), 20);
    const { events, failure } = await running;
    expect([events, failure]).toEqual([["warning", "retry"], "why"]);
  });
});

async function settle(): Promise<"pending"> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  return "pending";
}

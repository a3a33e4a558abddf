import { describe, expect, it } from "vitest";
import { createPorts } from "./ports.ts";
import { ok } from "./result.ts";
import { ToolRegistry } from "./registry.ts";
import { recordLacks, runLoop } from "./__fixtures__/replayed-loop.ts";
import type { LoopOptions } from "./run-options.ts";
import { createMemoryRunStore } from "./run-store.ts";
import { fakeClock } from "./testing/fakes.ts";
import { type ScriptStep, scriptedAdapter } from "./testing/scripted-adapter.ts";
import { type ToolDefinition, defineTool } from "./tool.ts";

const NO_PROTOTYPE: unknown = Object.create(null);

function toolOf(handler: unknown, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    name: "act",
    description: "acts on n",
    inputSchema: { type: "object", properties: { n: { type: "integer" } } },
    handler: handler as ToolDefinition["handler"],
    ...more,
  };
}

function registryOf(handler: unknown, more: Partial<ToolDefinition> = {}): ToolRegistry {
  const registry = new ToolRegistry();
  registry.register(toolOf(handler, more));
  return registry;
}

function start(tools: ToolRegistry, steps: readonly ScriptStep[], options: Partial<LoopOptions> = {}) {
  return runLoop({
    adapter: scriptedAdapter(steps),
    tools,
    messages: [{ role: "user", content: "go" }],
    capture: "full",
    ...options,
  });
}

const CALL: readonly ScriptStep[] = [
  { toolCalls: [{ callId: "c1", name: "act", args: { n: 1 } }] },
  { text: "done" },
];

describe("what a tool throws or returns", () => {
  const throwers: Record<string, () => unknown> = {
    "a cause without a prototype": () => {
      throw new Error("c", { cause: NO_PROTOTYPE });
    },
    "an object without a prototype": () => {
      throw NO_PROTOTYPE;
    },
    "a revoked proxy": () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      throw proxy;
    },
    "an error whose message is read with a throw": () => {
      throw Object.defineProperty(new Error("x"), "message", {
        get: () => {
          throw new Error("hidden");
        },
      });
    },
    "a cause that refers to itself": () => {
      const error = new Error("round");
      error.cause = error;
      throw error;
    },
    "half a character": () => {
      throw new Error("\ud800");
    },
    "a thenable that throws when asked": () =>
      new Proxy(
        {},
        {
          has: () => true,
          get: () => {
            throw new Error("no");
          },
        },
      ),
  };
  for (const [what, handler] of Object.entries(throwers)) {
    it(`ends a call as tool_failed, and the run goes on: ${what}`, async () => {
      const run = start(registryOf(handler), CALL);
      const { status, record, text } = await run.result;
      expect({ status, text }).toEqual({ status: "completed", text: "done" });
      expect(record.toolCalls).toHaveLength(1);
      expect(record.toolCalls[0]).toMatchObject({ outcome: "unknown", code: "tool_failed" });
    });
  }

  it("keeps half a character out of record and request", async () => {
    const { status, messages } = await start(
      registryOf(() => ok("cut \ud83d")),
      CALL,
    ).result;
    expect(status).toBe("completed");
    expect(JSON.stringify(messages)).toContain("cut \ufffd");
  });

  it("takes a reply whose arguments or opaque parts no record can hold: refused, left out, and the run goes on", async () => {
    const deep = JSON.parse(`${"[".repeat(400)}${"]".repeat(400)}`);
    const opaque = (data: unknown) => ({ type: "provider", provider: "p", model: "m", data }) as never;
    const odd: readonly ScriptStep[] = [
      {
        parts: [opaque({ n: Number.POSITIVE_INFINITY }), opaque({ deep }), opaque({ half: "\ud83d" })],
        toolCalls: [
          { callId: "c1", name: "act", args: '{"n":1e999}' },
          { callId: "c2", name: "act", args: { deep } },
          { callId: "c3", name: "act", args: { n: 1 } },
        ],
      },
      { text: "done" },
    ];
    const { status, record, messages } = await start(
      registryOf(() => ok("ran")),
      odd,
    ).result;
    expect(status).toBe("completed");
    expect(record.toolCalls.map(({ code }) => code)).toEqual(["invalid_input", "invalid_input", undefined]);
    expect(JSON.stringify(messages).match(/"provider":"p"/g)).toHaveLength(1);
    expect(JSON.stringify(messages)).toContain('"half":"\\ud83d"');
  });

  it("refuses data deeper than a record can hold", async () => {
    let deep: unknown = 1;
    for (let level = 0; level < 1_000; level += 1) deep = [deep];
    const result = await registryOf(() => ok(deep)).execute("act", {});
    expect(result).toMatchObject({ success: false, code: "invalid_result" });
  });

  it("falls back to the plain result where toModel gives neither text nor parts", async () => {
    for (const toModel of [
      () => 5,
      () => 10n,
      () => [{ type: "video" }],
      () => Promise.reject(new Error("no")),
    ]) {
      const tools = registryOf(() => ok("plain"), { toModel: toModel as never });
      const { status, messages } = await start(tools, CALL).result;
      expect(status).toBe("completed");
      expect(JSON.stringify(messages)).toContain('"plain"');
    }
  });
});

describe("what a caller passes", () => {
  it("is refused as invalid_input where it throws when read", async () => {
    const args = Object.defineProperty({}, "n", {
      enumerable: true,
      get: () => {
        throw new Error("no");
      },
    });
    expect(await registryOf(() => ok(1)).execute("act", args)).toMatchObject({ code: "invalid_input" });
  });

  it("is no tool where the name is no string", async () => {
    for (const name of [null, 5, Symbol("act")])
      expect(await registryOf(() => ok(1)).execute(name as never, {})).toMatchObject({
        code: "unknown_tool",
      });
  });
});

describe("ports that fail or hang", () => {
  it("a policy without a decision, or with a hostile throw, denies", async () => {
    const decisions: readonly (() => unknown)[] = [
      () => undefined,
      () => {
        throw NO_PROTOTYPE;
      },
    ];
    for (const decide of decisions) {
      const tools = new ToolRegistry({ policy: { decide: decide as never } });
      tools.register(defineTool(toolOf(() => ok(1))));
      expect(await tools.execute("act", {})).toMatchObject({ code: "not_permitted", outcome: "not_started" });
    }
  });

  it("a policy that hangs is left when the call is aborted", async () => {
    const tools = new ToolRegistry({ policy: { decide: () => new Promise(() => {}) } });
    tools.register(defineTool(toolOf(() => ok(1))));
    const stop = new AbortController();
    const result = tools.execute("act", {}, { signal: stop.signal });
    stop.abort();
    expect(await result).toMatchObject({ code: "cancelled", outcome: "not_started" });
  });

  it("an observer and a logger that both throw change nothing", async () => {
    const fail = (): never => {
      throw NO_PROTOTYPE;
    };
    const { status } = await start(
      registryOf(() => ok(1)),
      CALL,
      {
        ports: createPorts({ observe: fail }),
        logger: { debug: fail, info: fail, warn: fail, error: fail },
      },
    ).result;
    expect(status).toBe("completed");
  });

  it("a store that hangs does not keep the result for ever", async () => {
    const clock = fakeClock();
    const store = { ...createMemoryRunStore(), append: () => new Promise<never>(() => {}) };
    const run = start(
      registryOf(() => ok(1), { contract: "read" }),
      CALL,
      { store, ports: createPorts({ clock }) },
    );
    const settled = run.result.then(({ status }) => status);
    for (let tick = 0; tick < 40; tick += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(1_000);
    }
    expect(await settled).toBe("completed");
  });

  it("a redaction that throws leaves the value out of the record and is reported", async () => {
    recordLacks("its values");
    const told: string[] = [];
    const redact = (): never => {
      throw new Error("no");
    };
    const quiet = (): void => {};
    const logger = {
      debug: quiet,
      info: quiet,
      warn: quiet,
      error: (message: string) => void told.push(message),
    };
    const { status, text, record } = await start(
      registryOf(() => ok("secret")),
      CALL,
      { redact, logger },
    ).result;
    expect([status, text]).toEqual(["completed", "done"]);
    expect(JSON.stringify(record)).not.toContain("secret");
    expect(told[0]).toContain("could not be sealed");
  });

  it("half a character in what the model says reaches the record whole", async () => {
    const steps: readonly ScriptStep[] = [
      { text: "a \ud800", toolCalls: [{ callId: "c1", name: "act", args: { n: 1, x: "\ud800" } }] },
      { text: "end \ud800" },
    ];
    const { status, record } = await start(
      registryOf(() => ok(1)),
      steps,
    ).result;
    expect(status).toBe("completed");
    expect(JSON.stringify(record)).toContain("end \ufffd");
  });

  it("an abort for a reason that cannot be read still aborts", async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const run = start(
      registryOf(() => ok(1)),
      CALL,
    );
    run.abort(proxy);
    expect((await run.result).status).toBe("cancelled");
  });
});

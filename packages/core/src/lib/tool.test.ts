import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ContractError, DefinitionError } from "./errors.ts";
import { ok } from "./result.ts";
import { type ToolDefinition, defineTool } from "./tool.ts";
import { ToolRegistry } from "./registry.ts";

const SCHEMA = { type: "object", properties: {} } as const;

function define(changes: Record<string, unknown>): () => unknown {
  const base = { name: "a_tool", description: "does a thing", inputSchema: SCHEMA, handler: () => ok(null) };
  return () => defineTool({ ...base, ...changes } as ToolDefinition);
}

function errorOf(run: () => unknown): DefinitionError {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(DefinitionError);
    return error as DefinitionError;
  }
  throw new Error("nothing was thrown");
}

describe("defineTool", () => {
  it("core T1: refuses a name that is not snake_case, naming value and rule", () => {
    const error = errorOf(define({ name: "Bad-Name" }));
    expect(error).toMatchObject({ code: "invalid_tool", field: "name", fault: "developer" });
    expect(error.message).toContain('"Bad-Name"');
    expect(error.message).toContain("snake_case");
  });

  it("core T2: counts a description's length after trimming", () => {
    expect(errorOf(define({ description: "abcd" })).field).toBe("description");
    expect(define({ description: "abcde" })).not.toThrow();
    expect(errorOf(define({ description: "     " })).field).toBe("description");
  });

  it("core T4: refuses a missing handler and one that is no function", () => {
    for (const handler of [undefined, "run"]) {
      const error = errorOf(define({ handler }));
      expect(error).toMatchObject({ field: "handler", tool: "a_tool" });
      expect(error.message).toContain('"a_tool"');
    }
  });

  it("core T5: refuses a schema whose root is not an object", () => {
    const error = errorOf(define({ inputSchema: { type: "array", properties: {} } }));
    expect(error.field).toBe("inputSchema");
    expect(error.message).toMatch(/object/);
  });

  it("core T7: refuses an unknown keyword and suggests the nearest", () => {
    const error = errorOf(
      define({ inputSchema: { type: "object", properties: { a: { type: "string", minLenght: 1 } } } }),
    );
    expect(error.message).toContain("minLenght");
    expect(error.message).toContain("minLength");
    expect(error.message).toContain("properties.a");
  });

  it("core T8: refuses a name of 65 characters", () => {
    expect(errorOf(define({ name: "a".repeat(65) })).message).toContain("64");
    expect(define({ name: "a".repeat(64) })).not.toThrow();
  });

  it("core T10: refuses a keyParam that the schema does not declare", () => {
    const contract = {
      version: "1",
      authority: { level: "session" },
      effects: { kind: "write" },
      idempotency: { mode: "keyed", keyParam: "ref" },
    };
    try {
      define({ contract })();
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ContractError);
      expect(error).toMatchObject({ code: "invalid_contract", path: "idempotency.keyParam" });
    }
  });

  it("core T11: later edits of the given object change nothing; the tool is frozen all the way down", async () => {
    const definition = {
      name: "echo",
      description: "echoes it",
      inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      tags: ["x"],
      handler: ({ text }: { text: string }) => ok(text),
    };
    const registry = new ToolRegistry();
    registry.register(definition as unknown as ToolDefinition);
    const before = registry.digest();
    definition.name = "other";
    definition.tags.push("y");
    definition.inputSchema.required.length = 0;
    Object.assign(definition.inputSchema.properties, { more: { type: "number" } });
    expect(registry.listNames()).toEqual(["echo"]);
    expect(registry.digest()).toBe(before);
    expect(registry.getByTag("y")).toEqual([]);
    expect((await registry.execute("echo", {})).code).toBe("invalid_input");
    const tool = registry.get("echo");
    expect(tool).toBeDefined();
    for (const part of [
      tool,
      tool?.parameters,
      tool?.parameters.properties,
      tool?.contract,
      tool?.contract.effects,
      tool?.tags,
    ]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it("keeps a zod schema by reference, sends its JSON Schema and gives the handler its output", async () => {
    const inputSchema = z.object({ count: z.string().transform(Number), note: z.string().default("none") });
    const tool = defineTool({
      name: "count_it",
      description: "counts it",
      inputSchema,
      contract: "read",
      handler: ({ count, note }) => ok({ doubled: count * 2, note }),
    });
    expect(tool.inputSchema).toBe(inputSchema);
    expect(tool.parameters.properties).toHaveProperty("count");
    const registry = new ToolRegistry();
    registry.register(tool);
    expect(await registry.execute("count_it", { count: "21" })).toMatchObject({
      success: true,
      data: { doubled: 42, note: "none" },
    });
    expect(await registry.execute("count_it", { count: 21 })).toMatchObject({
      success: false,
      code: "invalid_input",
    });
  });

  it("refuses empty and repeated tags, and unknown contract fields and values", () => {
    expect(errorOf(define({ tags: ["a", "a"] })).field).toBe("tags");
    expect(errorOf(define({ tags: [" "] })).field).toBe("tags");
    const whole = {
      version: "1",
      authority: { level: "none" },
      effects: { kind: "read" },
      idempotency: { mode: "natural" },
    };
    for (const [contract, path] of [
      [{ ...whole, effects: { kind: "raed" } }, "effects.kind"],
      [{ ...whole, extra: 1 }, "extra"],
      [{ ...whole, effects: { kind: "read", undo: "reversible" } }, "effects.undo"],
      [{ ...whole, idempotency: { mode: "none" } }, "idempotency.mode"],
      [{ ...whole, effects: { kind: "destructive" }, authority: { level: "session" } }, "authority.level"],
      [{ ...whole, authority: { level: "grant", scopes: ["Bad Scope"] } }, "authority.scopes"],
      [{ ...whole, concurrency: { conflictParam: "nope" } }, "concurrency.conflictParam"],
      [{ ...whole, limits: { timeoutMs: 0 } }, "limits.timeoutMs"],
      ["wrong", ""],
    ] as const) {
      expect(define({ contract })).toThrow(expect.objectContaining({ code: "invalid_contract", path }));
    }
  });

  it("expands the shorthands, and no contract at all is the pessimistic one", () => {
    const read = define({ contract: "read" })() as { contract: unknown };
    expect(read.contract).toMatchObject({
      version: "1",
      authority: { level: "none" },
      effects: { kind: "read", undo: "not_needed" },
      idempotency: { mode: "natural" },
    });
    const none = define({})() as { contract: unknown };
    expect(none.contract).toEqual((define({ contract: "write" })() as { contract: unknown }).contract);
    expect(none.contract).toMatchObject({
      authority: { level: "session" },
      effects: { kind: "write", openWorld: true, undo: "impossible" },
      idempotency: { mode: "none" },
      concurrency: { parallelSafe: false },
    });
  });
});

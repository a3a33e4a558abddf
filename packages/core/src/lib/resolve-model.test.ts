/** Which model is meant. */

import { describe, expect, it } from "vitest";
import { NO_USAGE } from "./adapter.ts";
import { MODEL_POLICY, POLICY_VERSION } from "./model-policy.ts";
import { capabilitiesOf, costOf, nearestLevel, resolveModel } from "./resolve-model.ts";

describe("resolveModel", () => {
  it("prefers the explicit model, then the environment, then the role, then the provider's default", () => {
    const env = { OPENAI_MODEL: "from-env" };
    expect(resolveModel({ provider: "openai", model: "mine", role: "frontier", env })).toMatchObject({
      model: "mine",
      resolvedBy: "explicit",
    });
    expect(resolveModel({ provider: "OpenAI", role: "frontier", env })).toMatchObject({
      provider: "openai",
      model: "from-env",
      resolvedBy: "environment",
    });
    expect(resolveModel({ provider: "openai", role: "frontier", env: {} })).toMatchObject({
      resolvedBy: "role",
      role: "frontier",
      row: { roles: ["frontier"] },
    });
    expect(resolveModel({ provider: "openai", env: {} })).toMatchObject({
      resolvedBy: "default",
      role: "expert",
      policyVersion: POLICY_VERSION,
    });
  });

  it("has a default role per provider", () => {
    expect(resolveModel({ provider: "gemini", env: {} })).toMatchObject({
      model: "gemini-3.8-flash",
      role: "instant",
      resolvedBy: "default",
      reasoning: "medium",
    });
  });

  it("never changes the provider, and says what to do where nothing is known", () => {
    expect(() => resolveModel({ provider: "Grok", env: {} })).toThrow(
      'No model is known for provider "grok" in the role "expert".',
    );
    try {
      resolveModel({ provider: "nobody", env: {} });
    } catch (error) {
      expect(error).toMatchObject({ code: "no_model", hint: "Pass `model`, or set NOBODY_MODEL." });
    }
  });

  it("knows nothing of a model outside the table", () => {
    const resolved = resolveModel({ provider: "openai", model: "made-up", env: {} });
    expect(resolved.row).toBeUndefined();
    expect(capabilitiesOf(resolved.row)).toMatchObject({
      priced: false,
      jsonSchema: false,
      parallelCalls: false,
    });
  });
});

describe("MODEL_POLICY", () => {
  it("has a source for every row, and a price only where it is confirmed", () => {
    for (const row of MODEL_POLICY) {
      expect(row.source).not.toBe("");
      if (!row.confirmed) expect(row.price).toBeUndefined();
    }
  });
});

describe("costOf", () => {
  const price = MODEL_POLICY.find(({ model }) => model === "gpt-6-luna")?.price;

  it("prices every field, and long contexts at their own rate", () => {
    const usage = {
      ...NO_USAGE,
      input: 1_000,
      cacheRead: 2_000,
      cacheWrite: 400,
      output: 10,
      reasoning: 90,
      total: 3_500,
    };
    expect(costOf(usage, price)).toBeCloseTo(
      (1_000 * 0.1 + 2_000 * 0.01 + 400 * 0.125 + 100 * 0.5) / 1e6,
      12,
    );
    expect(costOf({ ...NO_USAGE, input: 300_000, output: 100 }, price)).toBeCloseTo(
      (300_000 * 0.2 + 100 * 0.75) / 1e6,
      12,
    );
  });

  it("knows Claude's, cached tokens and Haiku's long requests included", () => {
    const [haiku, sonnet] = ["claude-haiku-5-5", "claude-sonnet-5-5"].map(
      (name) => MODEL_POLICY.find(({ model }) => model === name)?.price,
    );
    const usage = { ...NO_USAGE, input: 1_000, cacheRead: 2_000, cacheWrite: 400, output: 10, reasoning: 90 };
    expect(costOf(usage, sonnet)).toBeCloseTo((1_000 * 2 + 2_000 * 0.2 + 400 * 2.5 + 100 * 10) / 1e6, 12);
    expect(costOf({ ...NO_USAGE, input: 100_001, output: 100 }, haiku)).toBeCloseTo(
      (100_001 * 0.5 + 100 * 2.5) / 1e6,
      12,
    );
  });

  it("is absent where any needed price is unknown", () => {
    expect(costOf(NO_USAGE, undefined)).toBeUndefined();
    expect(
      costOf(
        { ...NO_USAGE, cacheRead: 1 },
        { input: 1, output: 1, currency: "USD", perTokens: 1_000_000, source: "x", asOf: "x" },
      ),
    ).toBeUndefined();
  });
});

describe("nearestLevel", () => {
  it("takes the nearest level, the weaker of two", () => {
    const levels = ["low", "medium", "high"];
    expect(
      ["none", "minimal", "low", "medium", "high", "max"].map((asked) =>
        nearestLevel(asked as "low", levels),
      ),
    ).toEqual(["low", "low", "low", "medium", "high", "high"]);
    expect(nearestLevel("max", ["high", "xhigh"])).toBe("xhigh");
    expect(nearestLevel("low", ["minimal", "medium"])).toBe("minimal");
    expect(nearestLevel("low", [])).toBeUndefined();
  });
});

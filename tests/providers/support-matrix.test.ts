/** The matrix says what happened: what passed, what is not declared, what failed. */

import { type AdapterSuite, scriptedAdapter } from "@openfunctions/core/testing";
import { describe, expect, it } from "vitest";
import { runConformance } from "./conformance.ts";
import { partsOf, withGeneratedParts } from "./generated-text.ts";
import { modelTable, providerTable } from "./policy-tables.ts";
import { supportMatrix } from "./support-matrix.ts";

const NOTHING = { refusal: false, contentFilter: false, opaque: false, missingIds: false, usage: false };

/** A model that says what it is told, as far as texts go: its calls are lost. */
const textOnly = (more: Partial<typeof NOTHING> = {}): AdapterSuite => ({
  make: ({ replies }) =>
    scriptedAdapter(
      replies.map(({ text, finish }) => ({ text: text ?? [], ...(finish && { finishReason: finish }) })),
    ),
  capabilities: { ...NOTHING, ...more },
});

const COLUMNS = [
  { suite: "refuses", heading: "A" },
  { suite: "text only", heading: "B" },
];

describe("the support matrix", () => {
  it("tells passed, failed and not declared apart", async () => {
    const suites = { "text only": textOnly(), refuses: textOnly({ refusal: true }) };
    const page = supportMatrix(await runConformance(suites), COLUMNS).split("\n");
    const rowOf = (start: string): string => page.find((line) => line.startsWith(`| ${start}`)) ?? "";
    expect(rowOf("streams plain text in order")).toMatch(/\| yes \| yes \|$/);
    expect(rowOf("gives one call with its arguments")).toMatch(/\| FAILED \| FAILED \|$/);
    expect(rowOf("finishes refusal")).toMatch(/\| yes \| – \|$/);
    expect(rowOf("takes empty arguments as {}")).toContain("FAILED");
    const order = page.findIndex((line) => line.startsWith("| finishes refusal"));
    expect(page[order - 1]).toContain("finishes length");
  });

  it("says why a case failed, and takes one that never ends for failed", async () => {
    const hangs: AdapterSuite = {
      make: () => scriptedAdapter([{ stall: true }, { stall: true }]),
      capabilities: NOTHING,
    };
    const results = await runConformance({ hangs }, { timeoutMs: 5 });
    const [first] = results;
    expect(first).toMatchObject({
      suite: "hangs",
      section: "replies",
      failure: "It did not end within 5 ms.",
    });
    expect(
      results.find(({ title }) => title.includes("aborted before the request"))?.failure,
    ).toBeUndefined();
  });

  it("has no place for a suite without a column", () => {
    const stray = [{ suite: "new", section: "replies", title: "works" }];
    expect(() => supportMatrix(stray, COLUMNS)).toThrow('no column for the suite "new"');
  });
});

describe("the generated parts of a page", () => {
  it("are written anew, and nothing around them", () => {
    const page = "before\n<!-- begin models xai -->\nold | $1\n<!-- end -->\nafter\n";
    expect(partsOf(page)).toEqual(["models xai"]);
    const written = withGeneratedParts(page, (name) => `new ${name} $&`);
    expect(written).toBe("before\n<!-- begin models xai -->\nnew models xai $&\n<!-- end -->\nafter\n");
  });

  it("hold every figure of the policy table with its source and date, and unknown prices as unknown", () => {
    const table = modelTable("openai");
    expect(table).toContain("| `gpt-6.1-terra` (default) | expert |");
    expect(table).toContain("| not known |");
    expect(table).toContain("not confirmed");
    expect(table).toMatch(
      /0\.1 in, 0\.01 cached, 0\.125 into the cache, 0\.5 out; over 272,000 in: × 2 in, × 1\.5 out/,
    );
    expect(table).toMatch(/^- `gpt-6-luna`: openai .*genai-prices.*\(\d{4}-\d\d-\d\d\)$/m);
    expect(() => modelTable("nobody")).toThrow("nobody");
  });

  it("list every provider in the order in which keys are looked for", () => {
    const ids = [...providerTable().matchAll(/\]\((\w+)\.md\)/g)].map(([, id]) => id);
    expect(ids).toEqual(["gemini", "openai", "anthropic", "openrouter", "xai", "local", "offline"]);
  });
});

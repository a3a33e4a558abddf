/** The conformance suite runs for an adapter without a wire, and under node:test. */

import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { describeAdapter } from "./describe-adapter.ts";
import { scriptedAdapter } from "./testing/scripted-adapter.ts";
import { suiteStep } from "./__fixtures__/suite-step.ts";

describeAdapter(
  "scripted",
  {
    make: ({ replies }) => scriptedAdapter(replies.map(suiteStep)),
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

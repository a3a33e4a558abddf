/** What a comparison rests on: the peer uses the SDK we use, and its versions are fixed without naming a registry. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const read = (...path: string[]): string => readFileSync(join(import.meta.dirname, ...path), "utf8");

describe("peers", () => {
  it("compares with the version of the openai SDK that the adapter uses", () => {
    const { dependencies } = JSON.parse(read("peers", "openai-sdk", "package.json"));
    const catalog = read("..", "pnpm-workspace.yaml");
    expect(/^ {2}openai: (.+)$/m.exec(catalog)?.[1]).toBe(dependencies.openai);
  });

  it.each(["openai-sdk", "ai-sdk"])(
    "asks for exact versions of %s, from whatever registry is configured",
    (peer) => {
      const { dependencies } = JSON.parse(read("peers", peer, "package.json"));
      for (const version of Object.values(dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
      expect(read("peers", peer, "package-lock.json")).not.toContain('"resolved"');
    },
  );
});

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

const script = join(dirname(fileURLToPath(import.meta.url)), "readme-fences.mjs");
let root;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "readme-fences-"));
  mkdirSync(join(root, "examples", "01-x"), { recursive: true });
  writeFileSync(
    join(root, "examples", "01-x", "main.ts"),
    "before;\n{\n  // #region shown\n  if ($1) {\n    go();\n  }\n  // #endregion\n}\n",
  );
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("readme-fences", () => {
  it("copies a region into the fence that names it, and then finds nothing to do", () => {
    writeReadme('```ts source="examples/01-x/main.ts#shown"\nold;\n```');
    expect(run().status).toBe(0);
    expect(readFileSync(join(root, "README.md"), "utf8")).toBe(
      '# X\n\n```ts source="examples/01-x/main.ts#shown"\nif ($1) {\n  go();\n}\n```\n',
    );
    expect(run("--check").status).toBe(0);
  });

  it("copies into every page below docs as well", () => {
    mkdirSync(join(root, "docs", "x"), { recursive: true });
    writeFileSync(
      join(root, "docs", "x", "page.md"),
      '```ts source="examples/01-x/main.ts#shown"\nold;\n```\n',
    );
    expect(run("--check").stdout).toContain("docs/x/page.md:1  differs from its source");
    expect(run().status).toBe(0);
    expect(readFileSync(join(root, "docs", "x", "page.md"), "utf8")).toContain("  go();");
  });

  it("copies a whole file", () => {
    writeReadme('```ts source="examples/01-x/main.ts"\n```');
    expect(run().status).toBe(0);
    expect(readFileSync(join(root, "README.md"), "utf8")).toContain('main.ts"\nbefore;\n{\n');
  });

  it.each([
    [
      "a fence that differs",
      '```ts source="examples/01-x/main.ts#shown"\nold;\n```',
      "README.md:3  differs from its source",
    ],
    ["a fence without a source", "```ts\nold;\n```", "README.md:3  shows code that nothing runs"],
    [
      "a file that is gone",
      '```ts source="examples/02/main.ts"\n```',
      "README.md:3  there is no file examples/02/main.ts",
    ],
    ["a region that is gone", '```ts source="examples/01-x/main.ts#x"\n```', 'has no region "x"'],
  ])("refuses %s", (_, fence, message) => {
    writeReadme(fence);
    const { status, stdout } = run("--check");
    expect(stdout).toContain(message);
    expect(status).toBe(1);
  });

  it("leaves other languages alone", () => {
    writeReadme("```sh\nnpm start\n```");
    expect(run("--check").status).toBe(0);
  });
});

function writeReadme(fence) {
  writeFileSync(join(root, "README.md"), `# X\n\n${fence}\n`);
}

function run(...args) {
  return spawnSync(process.execPath, [script, "--root", root, ...args], { encoding: "utf8" });
}

// Each rule of check-shape catches a planted violation and names file, line and rule; a clean tree passes.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { afterAll, describe, expect, it } from "vitest";
import { PACKAGE_LINES } from "./shape/budgets.mjs";

const run = promisify(execFile);
const script = join(dirname(fileURLToPath(import.meta.url)), "check-shape.mjs");
const folders = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe("check-shape", () => {
  it("passes a clean tree and prints the report", async () => {
    const { code, output } = await check({});
    expect(output).toContain("shape ok");
    expect(output).toMatch(new RegExp(`core +\\d+ +${PACKAGE_LINES.core}`));
    expect(code).toBe(0);
  });

  it("fails when it sees fewer source files than it should", async () => {
    const { code, output } = await check({}, ["--min-files", "30"]);
    expect(output).toMatch(/^packages:1 {2}files-seen {2}saw 8 source files, expected at least 30/m);
    expect(code).toBe(1);
  });

  it("fails on a folder without packages", async () => {
    const { code } = await check({}, ["--root", tmpdir()]);
    expect(code).toBe(1);
  });

  for (const [title, { files, expected }] of Object.entries(violations())) {
    it.concurrent(`catches ${title}`, async () => {
      const { code, output } = await check(files);
      for (const line of [expected].flat()) expect(output).toContain(line);
      expect(code).toBe(1);
    });
  }

  for (const [title, files] of Object.entries(allowed())) {
    it.concurrent(`allows ${title}`, async () => {
      const { code, output } = await check(files);
      expect(output).toContain("shape ok");
      expect(code).toBe(0);
    });
  }
});

/** Violations of source lines: each is planted as line 3 of one file of core. */
function violations() {
  const plant = (code, rule) => ({
    files: { [PLANTED]: `/** Planted. */\nexport const planted = 1;\n${code}\n` },
    expected: `${PLANTED}:3  ${rule}  `,
  });
  return {
    any: plant("const x: any = 1;", "any"),
    "any inside a type argument": plant("const x = new Map<string, any>();", "any"),
    "a non-null assertion": plant("const x = [1][0]!;", "non-null"),
    "a definite assignment": plant("class X { y!: string }", "non-null"),
    console: plant("console.log(1);", "console"),
    "writing to stdout": plant('process.stdout.write("x");', "console"),
    "a default export": plant("/** X. */ export default function x() {}", "default-export"),
    "a default export by value": plant("export default planted;", "default-export"),
    "a default export in a list": plant("export { planted as default };", "default-export"),
    "an enum": plant("enum X { A }", "enum"),
    "a namespace": plant("namespace X { const y = 1; }", "namespace"),
    "a parameter property": plant("class X { constructor(readonly y: string) {} }", "parameter-property"),
    "a decorator": plant("@planted class X {}", "decorator"),
    "reading the environment": plant("const x = process.env.HOME;", "environment"),
    "importing the environment": plant('import { env } from "node:process";', "environment"),
    "an assertion without a proof": plant('const x = "1" as unknown;', "assertion-proof"),
    "an assertion in angle brackets": plant('const x = <unknown>"1";', "assertion-proof"),
    "an exported function without a doc comment": plant("export function x() {}", "doc-comment"),
    "an exported type without a doc comment": plant("export type X = string;", "doc-comment"),
    "an exported interface with an empty doc comment": plant("/** */ export interface X {}", "doc-comment"),
    "a listed export without a doc comment": plant("const x = 1; export { x };", "doc-comment"),
    "too many parameters": plant("/** X. */ export function x(a: 1, b: 1, c: 1, d: 1) {}", "parameters"),
    "too many parameters of an arrow": plant(
      "/** X. */ export const x = (a: 1, b: 1, c: 1, d: 1) => a;",
      "parameters",
    ),
    "too many parameters of a method": plant(
      "/** X. */ export class X { y(a: 1, b: 1, c: 1, d: 1) {} }",
      "parameters",
    ),
    "a third-party import that is not listed": plant('import "left-pad";', "package-edge"),
    "a sibling import": plant('import type { A } from "@openfunctions/adapter-openai";', "package-edge"),
    "a lazy sibling import": plant('const x = import("@openfunctions/adapter-openai");', "package-edge"),
    "an import type of a sibling": plant(
      'type X = import("@openfunctions/adapter-openai").A;',
      "package-edge",
    ),
    "a relative import out of the package": plant(
      'import "../../../adapter-openai/src/index.ts";',
      "package-edge",
    ),
    "a builtin without its prefix": plant('import "fs";', "package-edge"),
    "a listed dependency that is not declared": plant('import "ajv-formats";', "package-edge"),
    "a star export": plant('export * from "./tool.ts";', "export-list"),
    "a re-export of another package": plant('export { Ajv } from "ajv";', "export-list"),
    "an import of itself": plant('import "./planted.ts";', "import-cycle"),
    "logic in an index": {
      files: { "packages/core/src/index.ts": 'export { tool } from "./lib/tool.ts";\nconst x = 1;\n' },
      expected: "packages/core/src/index.ts:2  export-list  ",
    },
    "a cycle of values": {
      files: {
        "packages/core/src/lib/a.ts": 'import { b } from "./b.ts";\n/** A. */\nexport const a = b;\n',
        "packages/core/src/lib/b.ts": 'import { a } from "./a.ts";\n/** B. */\nexport const b = a;\n',
      },
      expected:
        "packages/core/src/lib/a.ts:1  import-cycle  import cycle: packages/core/src/lib/a.ts -> packages/core/src/lib/b.ts -> packages/core/src/lib/a.ts",
    },
    "a cycle of types": {
      files: {
        "packages/core/src/lib/a.ts": '\nimport type { B } from "./b.ts";\n/** A. */\nexport type A = B;\n',
        "packages/core/src/lib/b.ts": 'import type { A } from "./a.ts";\n/** B. */\nexport type B = A;\n',
      },
      expected: "packages/core/src/lib/a.ts:2  import-cycle  ",
    },
    "a file that is too long": {
      files: { [PLANTED]: "// x\n".repeat(401) },
      expected: `${PLANTED}:401  file-length  401 lines, at most 400`,
    },
    "files that are too long as a whole": {
      files: Object.fromEntries(
        Array.from({ length: 12 }, (_, i) => [`packages/core/src/lib/long-${i}.ts`, "// x\n".repeat(260)]),
      ),
      expected: ["packages:1  file-length  median file has 260", "the 90th percentile of all files has 260"],
    },
    "a function that is too long": {
      files: { [PLANTED]: `/** X. */\nexport function long() {\n${"  // x\n".repeat(79)}}\n` },
      expected: `${PLANTED}:2  function-length  "long" has 81 lines, at most 80`,
    },
    "functions that are too long as a whole": {
      files: {
        [PLANTED]: Array.from({ length: 9 }, (_, i) => `function f${i}() {\n${"\n".repeat(39)}}\n`).join(""),
      },
      expected: "packages:1  function-length  the 90th percentile of all functions has 41",
    },
    "a package over its budget": {
      files: Object.fromEntries(
        Array.from({ length: 6 }, (_, i) => [
          `packages/adapter-openai/src/lib/part-${i}.ts`,
          "// x\n".repeat(110),
        ]),
      ),
      expected: "packages/adapter-openai/package.json:1  package-size  668 lines without tests, at most 600",
    },
    "too many assertions": {
      files: { [PLANTED]: "const x = 1 as unknown; // Proof: planted.\n".repeat(2) },
      expected: "packages/core/package.json:1  assertion-count  2 type assertions, at most 1",
    },
    "a dependency that is not listed": {
      files: { "packages/core/package.json": manifest("core", { dependencies: { ajv: "1", lodash: "1" } }) },
      expected: 'packages/core/package.json:1  package-edge  dependencies names "lodash"',
    },
    "a sibling as a peer dependency": {
      files: {
        "packages/adapter-openai/package.json": manifest("adapter-openai", {
          dependencies: { "@openfunctions/core": "1", openai: "1" },
          peerDependencies: { "@openfunctions/mcp-server": "1" },
        }),
      },
      expected:
        'packages/adapter-openai/package.json:1  package-edge  peerDependencies names "@openfunctions/mcp-server"',
    },
    "a public file that is not exported": {
      files: { "packages/core/src/extra.ts": 'export { tool } from "./lib/tool.ts";\n' },
      expected: 'packages/core/package.json:1  public-surface  exports["./extra"] is missing',
    },
    "an export without a file": {
      files: {
        "packages/core/package.json": manifest("core", {
          dependencies: { ajv: "1" },
          entries: ["index", "gone"],
        }),
      },
      expected:
        'packages/core/package.json:1  public-surface  exports["./gone"] has no file directly in src/',
    },
    "a published map that differs": {
      files: {
        "packages/core/package.json": manifest("core", {
          dependencies: { ajv: "1" },
          publishConfig: { exports: {} },
        }),
      },
      expected: 'packages/core/package.json:1  public-surface  publishConfig.exports["."] is missing',
    },
    "an adapter without its cast": {
      files: { "packages/adapter-openai/src/lib/quirks.ts": undefined },
      expected:
        "packages/adapter-openai/package.json:1  adapter-cast  an adapter has a file packages/adapter-openai/src/lib/quirks.ts",
    },
    "an adapter without its factory": {
      files: { "packages/adapter-openai/src/index.ts": 'export { toError } from "./lib/to-error.ts";\n' },
      expected:
        "packages/adapter-openai/package.json:1  adapter-cast  an adapter exports create<Name>Adapter",
    },
    "an AGENTS.md that is too long": {
      files: { "AGENTS.md": "x\n".repeat(151) },
      expected: "AGENTS.md:151  agents-length  151 lines, at most 150",
    },
  };
}

function allowed() {
  const documented = (code) => ({ [PLANTED]: `/** Planted. */\nexport const planted = 1;\n${code}\n` });
  return {
    "an assertion with its proof on the line": documented("const x = 1 as unknown; // Proof: planted."),
    "an assertion with its proof in the comment above": documented(
      "// Proof: planted,\n// over two lines.\nconst x =\n  1 as unknown;",
    ),
    "as const": documented("const x = [1] as const;"),
    "three parameters": documented("/** X. */ export function x(a: 1, b: 1, c: 1) {}"),
    builtins: documented('import "node:fs";'),
    "the word console in a string": documented('const x = "console.log";'),
    "overloads that share one comment": documented(
      "/** X. */\nexport function x(a: string): string;\nexport function x(a: number): number;\nexport function x(a: unknown): unknown { return a; }",
    ),
    "anything in tests": {
      "packages/core/src/lib/tool.test.ts":
        'import "left-pad";\nconst x: any = 1;\nconsole.log(x!);\n'.repeat(200),
    },
    "anything in fixtures": { "packages/core/src/lib/__fixtures__/x.ts": "export default 1 as any;\n" },
    "the environment in an adapter's adapter.ts": {
      "packages/adapter-openai/src/lib/adapter.ts": `${FACTORY}const key = process.env.OPENAI_API_KEY;\n`,
    },
    "what only the testing entry reaches, whatever its size": {
      "packages/core/package.json": manifest("core", {
        dependencies: { ajv: "1" },
        entries: ["index", "testing"],
      }),
      "packages/core/src/testing.ts": Array.from(
        { length: 70 },
        (_, i) => `export { x${i} } from "./lib/testing/x${i}.ts";\n`,
      ).join(""),
      ...Object.fromEntries(
        Array.from({ length: 70 }, (_, i) => [
          `packages/core/src/lib/testing/x${i}.ts`,
          `/** X. */\nexport const x${i} = 1;\n${"// x\n".repeat(90)}`,
        ]),
      ),
    },
  };
}

const PLANTED = "packages/core/src/lib/planted.ts";
const FACTORY = "/** Makes it. */\nexport function createOpenAIAdapter() {}\n";

function cleanTree() {
  return {
    "packages/core/package.json": manifest("core", { dependencies: { ajv: "1" } }),
    "packages/core/src/index.ts": 'export { tool } from "./lib/tool.ts";\n',
    "packages/core/src/lib/tool.ts": 'import { Ajv } from "ajv";\n/** A tool. */\nexport const tool = Ajv;\n',
    "packages/adapter-openai/package.json": manifest("adapter-openai", {
      dependencies: { "@openfunctions/core": "1", openai: "1" },
    }),
    "packages/adapter-openai/src/index.ts": 'export { createOpenAIAdapter } from "./lib/adapter.ts";\n',
    "packages/adapter-openai/src/lib/adapter.ts": `import type { A } from "@openfunctions/core";\n${FACTORY}`,
    "packages/adapter-openai/src/lib/to-error.ts": "/** E. */\nexport const toError = 1;\n",
    "packages/adapter-openai/src/lib/quirks.ts": "/** Q. */\nexport const QUIRKS = 1;\n",
    "packages/starter-tools/package.json": manifest("starter-tools", {
      dependencies: { "@openfunctions/core": "1" },
    }),
    "packages/starter-tools/src/index.ts": 'export { clock } from "./lib/clock.ts";\n',
    "packages/starter-tools/src/lib/clock.ts": "/** C. */\nexport const clock = 1;\n",
  };
}

function manifest(folder, { entries = ["index"], publishConfig, ...rest }) {
  const map = (target) =>
    Object.fromEntries(entries.map((entry) => [entry === "index" ? "." : `./${entry}`, target(entry)]));
  const published = map((entry) => ({ types: `./dist/${entry}.d.ts`, default: `./dist/${entry}.js` }));
  return JSON.stringify({
    name: `@openfunctions/${folder}`,
    exports: map((entry) => `./src/${entry}.ts`),
    publishConfig: publishConfig ?? { exports: published },
    ...rest,
  });
}

async function check(files, args = []) {
  const root = mkdtempSync(join(tmpdir(), "check-shape-"));
  folders.push(root);
  for (const [path, text] of Object.entries({ ...cleanTree(), ...files })) {
    if (text === undefined) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return await run(process.execPath, [script, "--root", root, "--min-files", "5", ...args]).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    (error) => ({ code: error.code, output: `${error.stdout}${error.stderr}` }),
  );
}

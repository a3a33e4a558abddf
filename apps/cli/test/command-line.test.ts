import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as FirstLineClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { SCHEMA_DIALECTS } from "@openfunctions/core";
import { beforeAll, describe, expect, it } from "vitest";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");

/** A ten-line file in an empty folder, without a project around it. */
const TOOLS = `import { defineTool, ok } from "@openfunctions/core";

export const addVat = defineTool({
  name: "add_vat",
  description: "Adds value added tax to a net price.",
  inputSchema: { type: "object", properties: { net: { type: "number" } }, required: ["net"] },
  contract: "read",
  examples: [{ description: "add vat to 80", input: { net: 80 } }],
  tests: [{ description: "adds a quarter", input: { net: 80 }, expect: { data: { gross: 100 } } }],
  handler: ({ net }) => ok({ gross: net * 1.25 }) });
`;

let folder: string;
let home: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openfunctions-cli-"));
  home = join(folder, "home");
  await mkdir(join(folder, "empty"));
  await writeFile(join(folder, "empty", "tools.ts"), TOOLS);
});

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function environment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) => !/(_API_KEY|_MODEL|_BASE_URL)$/.test(name));
  return { ...(Object.fromEntries(kept) as Record<string, string>), OPENFUNCTIONS_HOME: home };
}

function command(args: readonly string[], cwd = join(folder, "empty"), input = ""): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [MAIN, ...args],
      { cwd, env: environment(), timeout: 30_000 },
      (error, stdout, stderr) => {
        resolve({
          code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1,
          stdout,
          stderr,
        });
      },
    );
    child.stdin?.end(input);
  });
}

describe("openfunctions with --from", () => {
  it("tests, lists, shows, runs and documents the tools of a file in an empty folder", async () => {
    const from = ["--from", "tools.ts"];
    expect(await command(["tools", "test", ...from])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("ok    add_vat"),
      stderr: expect.stringContaining("1 passed, 0 failed"),
    });
    expect((await command(["tools", "list", ...from])).stdout).toMatch(/^add_vat +read/);
    expect(JSON.parse((await command(["tools", "show", "add_vat", "--json", ...from])).stdout)).toMatchObject(
      { name: "add_vat", contract: { effects: { kind: "read" } } },
    );
    expect(
      JSON.parse((await command(["tools", "run", "add_vat", "--args", '{"net":80}', ...from])).stdout),
    ).toEqual({ gross: 100 });
    const [one, two] = await Promise.all([
      command(["tools", "docs", ...from]),
      command(["tools", "docs", ...from]),
    ]);
    expect(one.stdout).toBe(two.stdout);
    await writeFile(join(folder, "empty", "TOOLS.md"), one.stdout);
    expect((await command(["tools", "docs", "--check", "TOOLS.md", ...from])).code).toBe(0);
    await writeFile(join(folder, "empty", "TOOLS.md"), "old");
    expect((await command(["tools", "docs", "--check", "TOOLS.md", ...from])).code).toBe(1);
  });

  it("gives the tools to an agent, by a path from another folder", async () => {
    const result = await command(
      ["run", "add vat to 200", "--provider", "offline", "--json", "--from", join("empty", "tools.ts")],
      folder,
    );
    expect(result.code).toBe(0);
    expect(JSON.parse(result.stdout)).toMatchObject({
      status: "completed",
      toolCalls: [{ name: "add_vat", args: { net: 200 }, outcome: "succeeded" }],
    });
  });

  it("chats on standard input and leaves at its end", async () => {
    const result = await command(
      ["chat", "--provider", "offline", "--from", "tools.ts"],
      undefined,
      "add vat to 80\n/tools\n/quit\n",
    );
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining("100") });
    expect(result.stdout).toContain("add_vat  Adds value");
    const unfinished = await command(
      ["chat", "--provider", "offline", "--from", "tools.ts"],
      undefined,
      "add vat to 80\n",
    );
    expect(unfinished).toMatchObject({ code: 0, stdout: expect.stringContaining("100") });
    expect(unfinished.stderr).not.toContain("> ");
  });

  it("uses an exported registry as it is, with its own policy, and each tool once", async () => {
    const text = `import { ToolRegistry } from "@openfunctions/core";
import { addVat } from "./tools.ts";
console.log("printed at import");
export const tools = new ToolRegistry({ policy: { decide: () => ({ decision: "deny", reason: "closed" }) } });
tools.register(addVat);
export const list: unknown[] = [addVat];
list.push(list);
export { addVat };`;
    await writeFile(join(folder, "empty", "closed.ts"), text);
    const listed = await command(["tools", "list", "--json", "--from", "closed.ts"]);
    expect(JSON.parse(listed.stdout)).toHaveLength(1);
    expect(listed.stderr).toContain("printed at import");
    const run = await command(["tools", "run", "add_vat", "--args", '{"net":80}', "--from", "closed.ts"]);
    expect(run).toMatchObject({ code: 1, stderr: expect.stringContaining("closed") });
    await writeFile(join(folder, "empty", "two.ts"), `${text}\nexport const other = new ToolRegistry();`);
    expect(await command(["tools", "list", "--from", "two.ts"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("more than one ToolRegistry"),
    });
  });

  it("serves the tools over stdio to a real client started from elsewhere by an mcpServers entry", async () => {
    const config = {
      mcpServers: {
        mine: { command: process.execPath, args: [MAIN, "mcp", "--from", join(folder, "empty", "tools.ts")] },
      },
    };
    const { command: program, args } = config.mcpServers.mine;
    const client = new FirstLineClient({ name: "test", version: "1.0.0" });
    await client.connect(
      new StdioClientTransport({ command: program, args, cwd: tmpdir(), env: environment() }),
    );
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["add_vat"]);
    const result = await client.callTool({ name: "add_vat", arguments: { net: 80 } });
    expect(JSON.stringify(result.content)).toContain("100");
    await client.close();
  });

  it("says what is wrong with a file, and what would work", async () => {
    await writeFile(join(folder, "empty", "broken.ts"), "export const x = ;");
    await writeFile(join(folder, "empty", "nothing.ts"), "export const x = 1;");
    expect(await command(["tools", "list", "--from", "missing.ts"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("missing.ts"),
    });
    expect(await command(["tools", "list", "--from", "broken.ts"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("could not be loaded"),
    });
    expect(await command(["tools", "list", "--from", "nothing.ts"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("defineTool"),
    });
  });
});

describe("openfunctions tools lint", () => {
  const TOOL_DIALECTS = SCHEMA_DIALECTS.filter((dialect) => !dialect.endsWith("-output"));
  const LINTED = `import { defineTool, ok } from "@openfunctions/core";
const tool = (name, properties, required = []) => defineTool({
  name, description: "Does \u001b[2J it.", contract: "read", handler: () => ok(null),
  inputSchema: { type: "object", properties, required, additionalProperties: false } });
export const tools = [
  tool("plain", { a: { type: "string" } }, ["a"]),
  tool("picky", { a: { type: "integer", exclusiveMinimum: 0, default: 5 }, $top: { type: "string", pattern: "^\\\\d+$", minLength: 1 } }),
];
`;

  it("prints the matrix: each tool, each dialect, its losses and its tokens", async () => {
    await writeFile(join(folder, "empty", "linted.ts"), LINTED);
    const { code, stdout, stderr } = await command(["tools", "lint", "--from", "linted.ts"]);
    expect(code).toBe(0);
    const [plain = "", picky = ""] = stdout.split(/^(?=picky)/m);
    expect(plain).toMatch(/^plain\n/);
    for (const dialect of TOOL_DIALECTS)
      expect(plain).toMatch(new RegExp(`^  ${dialect} +~\\d+ tokens  `, "m"));
    expect(plain).toMatch(/^ {2}anthropic +~\d+ tokens {2}lossless$/m);
    expect(plain).toMatch(/^ {2}openai-strict +~\d+ tokens {2}lossless, strict mode$/m);
    expect(plain).toContain("    (root)  additionalProperties  dropped: additionalProperties: false");
    expect(picky).toMatch(/^ {2}openai-strict +~\d+ tokens {2}sent without strict mode/m);
    expect(picky).toContain("    properties.$top  strict  dropped: minLength: 1");
    expect(picky).toContain('    properties.$top  properties  rewritten: sent as "_top"');
    expect(picky).toContain("    properties.a  exclusiveMinimum  rewritten: exclusiveMinimum: 0");
    expect(stderr).toContain("arguments are validated against the tool's own schema");
    expect(stderr).toContain("Tokens are estimated");
    expect(stdout).not.toContain("\u001b");
  });

  it("prints it as JSON, with every loss", async () => {
    const { code, stdout } = await command(["tools", "lint", "--json", "--from", "linted.ts"]);
    expect(code).toBe(0);
    const { protection, tools } = JSON.parse(stdout);
    expect(protection).toContain("validated");
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(["plain", "picky"]);
    for (const { dialects } of tools)
      expect(dialects.map(({ dialect }: { dialect: string }) => dialect)).toEqual(TOOL_DIALECTS);
    const gemini = tools[0].dialects.find(({ dialect }: { dialect: string }) => dialect === "gemini-openapi");
    expect(gemini).toEqual({
      dialect: "gemini-openapi",
      lossless: false,
      losses: [
        { path: "", keyword: "additionalProperties", action: "dropped", note: "additionalProperties: false" },
      ],
      strict: false,
      tokens: expect.any(Number),
      unsendable: [],
    });
    const longer = tools[1].dialects[0].tokens;
    expect(longer).toBeGreaterThan(tools[0].dialects[0].tokens);
  });

  it("fails for a tool with a required parameter that a provider cannot be asked for", async () => {
    const stuck = LINTED.replace(
      'tool("plain", { a: { type: "string" } }, ["a"])',
      'tool("stuck", { a: { type: "object", properties: { b: { type: "object" } }, required: ["b"] } }, ["a"])',
    );
    await writeFile(join(folder, "empty", "stuck.ts"), stuck);
    const result = await command(["tools", "lint", "--from", "stuck.ts"]);
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('"stuck"') });
    expect(result.stdout).toContain("    a  CANNOT BE SENT");
    expect(result.stderr).not.toContain('"picky"');
  });

  it("says which schema cannot be defined at all, and what would work", async () => {
    const wrong = LINTED.replace('{ a: { type: "string" } }', '{ a: { type: "float" } }');
    await writeFile(join(folder, "empty", "wrong.ts"), wrong);
    const result = await command(["tools", "lint", "--from", "wrong.ts"]);
    expect(result.code).toBe(2);
    expect(result.stderr).toContain('got "float"');
    expect(result.stderr).toContain("number");
  });
});

describe("openfunctions run", () => {
  it("answers with the starter tools and keeps a task for the next run", async () => {
    const sum = await command(["run", "what is 15% of 2,340"]);
    expect(sum).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("351"),
      stderr: expect.stringContaining("calculate"),
    });
    await command(["run", "add a task: call the bank tomorrow"]);
    expect((await command(["run", "what are my tasks"])).stdout).toContain("call the bank tomorrow");
  });

  it("writes the record, one canonical event per line, and never over an existing file", async () => {
    const args = ["run", "what is 2 + 2", "--record", "run.jsonl"];
    expect((await command(args)).code).toBe(0);
    const lines = (await readFile(join(folder, "empty", "run.jsonl"), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ type: "run.started", seq: 0, data: { capture: "full" } });
    expect(lines.at(-2)).toMatchObject({ type: "run.completed", seq: lines.length - 2 });
    expect(lines.at(-1)).toMatchObject({ type: "seal", events: lines.length - 1 });
    expect(await command(args)).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("exists already. Nothing was run."),
    });
  });

  it("an unknown provider, a missing key and a wrong option each have their own exit code", async () => {
    expect(await command(["run", "hi", "--provider", "zz"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("offline"),
    });
    expect(await command(["run", "hi", "--provider", "openai"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("OPENAI_API_KEY"),
    });
    expect((await command(["run", "hi", "--nope"])).code).toBe(2);
    expect((await command(["run", " "])).code).toBe(2);
    expect((await command(["mcp", "--port", "0"])).code).toBe(2);
    expect((await command(["run", "hi", "--provider", "offline", "--model", "x"])).code).toBe(3);
    expect((await command(["frobnicate"])).code).toBe(2);
  });
});

describe("openfunctions tools", () => {
  it("core Q4: no tests at all is no failure: all skipped, exit 0, one hint", async () => {
    await writeFile(join(folder, "empty", "untested.ts"), TOOLS.replace(/ {2}tests: .*\n/, ""));
    const result = await command(["tools", "test", "--from", "untested.ts"]);
    expect(result.code).toBe(0);
    expect(result.stderr).toContain("0 passed, 0 failed, 1 skipped");
    expect(result.stderr.match(/No tool has tests/g)).toHaveLength(1);
  });

  it("a failing test and a failing call exit 1", async () => {
    await writeFile(join(folder, "empty", "failing.ts"), TOOLS.replace("gross: 100", "gross: 1"));
    expect(await command(["tools", "test", "--from", "failing.ts"])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("FAIL"),
    });
    expect(
      await command(["tools", "run", "add_vat", "--args", '{"net":"x"}', "--from", "tools.ts"]),
    ).toMatchObject({ code: 1, stderr: expect.stringContaining("invalid_input") });
    expect((await command(["tools", "run", "add_vat", "--args", "{nope", "--from", "tools.ts"])).code).toBe(
      2,
    );
    expect((await command(["tools", "show", "nope", "--from", "tools.ts"])).code).toBe(2);
  });

  it("tests of the starter tools leave the data folder alone", async () => {
    const before = await readdir(home).catch(() => []);
    expect((await command(["tools", "test", "--filter", "task"])).code).toBe(0);
    const tasks = await readFile(join(home, "stores", "tasks.json"), "utf8").catch(() => "");
    expect(tasks).not.toContain("pay rent");
    expect(await readdir(home).catch(() => [])).toEqual(before);
  });
});

describe("openfunctions create and doctor", () => {
  it("chat-agent Q5: a name with a double underscore is exit 2 with the rule, and no file", async () => {
    const result = await command(["create", "tool", "a__b"], folder);
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining("underscore") });
    expect(await readdir(folder)).not.toContain("a__b.ts");
  });

  it("makes a file that passes its own test for each contract, and never touches one that exists", async () => {
    for (const contract of ["read", "write", "destructive"]) {
      const name = `made_${contract}`;
      expect((await command(["create", "tool", name, "--contract", contract], folder)).code).toBe(0);
      expect(await command(["tools", "test", "--from", `${name}.ts`], folder)).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("1 passed, 0 failed"),
      });
    }
    expect((await command(["create", "tool", "made_read"], folder)).code).toBe(3);
    expect((await command(["create", "tool", "dry", "--dry-run"], folder)).stdout).toContain("defineTool");
    expect(await readdir(folder)).not.toContain("dry.ts");
  });

  it("doctor names what is there without showing a key, and reports a broken store", async () => {
    const good = await command(["doctor", "--json"]);
    expect(good.code).toBe(0);
    expect(JSON.parse(good.stdout).findings.map(({ check }: { check: string }) => check)).toContain("Node");
    await mkdir(join(home, "stores"), { recursive: true });
    await writeFile(join(home, "stores", "broken.json"), "{");
    expect(await command(["doctor"])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("broken.json"),
    });
  });

  it("every command's help shows an example", async () => {
    for (const args of [
      ["run"],
      ["chat"],
      ["mcp"],
      ["tools", "list"],
      ["tools", "test"],
      ["create", "tool"],
      ["doctor"],
    ]) {
      expect((await command([...args, "--help"])).stdout).toContain("Example:");
    }
  });
});

import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");
const TASK = "what is 15% of 2,340";

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let folder: string;
let home: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "openfunctions-runs-"));
  home = join(folder, "home");
});

function command(...args: readonly string[]): Promise<Outcome> {
  const env = { ...process.env, OPENFUNCTIONS_HOME: home };
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [MAIN, ...args],
      { cwd: folder, env, timeout: 30_000 },
      (error, stdout, stderr) => {
        const code = typeof error?.code === "number" ? error.code : error === null ? 0 : -1;
        resolve({ code, stdout, stderr });
      },
    );
  });
}

const recordRun = (file: string): Promise<Outcome> =>
  command("run", TASK, "--provider", "offline", "--record", join(folder, file));

async function changed(
  file: string,
  change: (lines: readonly string[]) => readonly string[],
): Promise<string> {
  const lines = (await readFile(join(folder, "a.jsonl"), "utf8")).split("\n").slice(0, -1);
  const path = join(folder, file);
  await writeFile(
    path,
    change(lines)
      .map((line) => `${line}\n`)
      .join(""),
  );
  return path;
}

describe("openfunctions runs", () => {
  it("seals records of processes that start at once with one key, which nobody else can read", async () => {
    const runs = await Promise.all(["a", "b", "c", "d"].map((name) => recordRun(`${name}.jsonl`)));
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    for (const name of ["a", "b", "c", "d"]) {
      expect(await command("runs", "verify", join(folder, `${name}.jsonl`))).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^verified: run .* sealed by sha256:[0-9a-f]{64}\n$/),
      });
    }
    const keys = join(home, "keys");
    expect((await stat(keys)).mode & 0o777).toBe(0o700);
    const files = await readdir(keys);
    expect(files).toHaveLength(2);
    for (const file of files) expect((await stat(join(keys, file))).mode & 0o777).toBe(0o600);
  });

  it("names the place of a changed, dropped, swapped or cut line, with exit 1", async () => {
    const cases: readonly (readonly [string, (lines: readonly string[]) => readonly string[], string])[] = [
      [
        "changed",
        (lines) => lines.with(3, (lines[3] ?? "").replace('"at":"2', '"at":"3')),
        "altered at line 4",
      ],
      ["dropped", (lines) => lines.toSpliced(4, 1), "gap at line 5"],
      ["swapped", (lines) => lines.with(4, lines[5] ?? "").with(5, lines[4] ?? ""), "order at line 5"],
      ["cut", (lines) => lines.slice(0, -1), "truncated at line"],
      ["torn", (lines) => lines.with(-1, (lines.at(-1) ?? "").slice(0, -7)), "malformed at line"],
    ];
    for (const [name, change, place] of cases) {
      const outcome = await command("runs", "verify", await changed(`${name}.jsonl`, change));
      expect(outcome, name).toMatchObject({ code: 1, stdout: expect.stringContaining(place) });
    }
  });

  it("verifies with a key file alone, and says so when the key is not the one", async () => {
    const [publicKey = ""] = (await readdir(join(home, "keys"))).filter((name) => name.endsWith(".pub.pem"));
    const file = join(folder, "a.jsonl");
    const pem = join(home, "keys", publicKey);
    expect((await command("runs", "verify", file, "--key", pem)).code).toBe(0);
    const { stdout } = await command("runs", "keys", "rotate");
    const rotated = await command("runs", "verify", file, "--json");
    expect(rotated.code).toBe(0);
    expect(JSON.parse(rotated.stdout)).toMatchObject({ status: "verified", failures: 0 });
    const newer = join(home, "keys", `${stdout.trim().replace("sha256:", "")}.pub.pem`);
    expect(await command("runs", "verify", file, "--key", newer)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("unknown_key"),
    });
    const listed = await command("runs", "keys", "list");
    expect(listed.stdout).toMatch(new RegExp(`^\\* ${stdout.trim()}`));
    expect(listed.stdout.trim().split("\n")).toHaveLength(2);
    await recordRun("e.jsonl");
    expect((await command("runs", "verify", join(folder, "e.jsonl"))).code).toBe(0);
  });

  it("exits 2 for what cannot be read, and 4 for a record that says it is not sealed", async () => {
    expect(await command("runs", "verify", join(folder, "none.jsonl"))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no record file"),
    });
    expect((await command("runs", "verify")).code).toBe(2);
    expect((await command("runs", "verify", MAIN, "--key", MAIN)).code).toBe(2);
    const unsigned = join(folder, "unsigned.jsonl");
    await writeFile(unsigned, await unsealedRecord());
    expect(await command("runs", "verify", unsigned)).toMatchObject({
      code: 4,
      stdout: expect.stringContaining("unsigned: run"),
    });
  });

  it("stops before the run where the key cannot be used", async () => {
    const key = join(home, "keys", "signing.pem");
    await chmod(key, 0o600);
    await writeFile(key, "no key");
    const outcome = await recordRun("f.jsonl");
    expect(outcome).toMatchObject({ code: 3, stderr: expect.stringContaining("signing.pem") });
    expect((await readdir(folder)).includes("f.jsonl")).toBe(false);
  });
});

/** A record that a program made without a key. */
async function unsealedRecord(): Promise<string> {
  const { createMemoryRunStore, runLoop } = await import("@openfunctions/core");
  const { exportRun } = await import("@openfunctions/core/records");
  const { scriptedAdapter } = await import("@openfunctions/core/testing");
  const store = createMemoryRunStore();
  const adapter = scriptedAdapter([{ text: "hello" }]);
  const { runId } = await runLoop({ adapter, messages: [{ role: "user", content: "hi" }], store }).result;
  const lines: string[] = [];
  for await (const line of exportRun(store, runId)) lines.push(line);
  return lines.join("");
}

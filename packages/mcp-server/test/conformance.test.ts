/** The public conformance suite against our fixture server, in both eras, without a list of expected failures. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

const BOTH = [
  "tools-list",
  "tools-call-simple-text",
  "tools-call-image",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-mixed-content",
  "tools-call-error",
  "tools-call-with-progress",
  "json-schema-2020-12",
  "dns-rebinding-protection",
];

/** The scenarios of each revision. Not among them, since the server does not do it: logging, sampling, elicitation. */
const SCENARIOS = {
  "2025-11-25": ["server-initialize", "server-session-lifecycle", "ping", ...BOTH],
  "2026-07-28": ["server-stateless", "caching", "http-header-validation", ...BOTH],
};

const SUITE = join(
  import.meta.dirname,
  "../../../node_modules/@modelcontextprotocol/conformance/dist/index.js",
);
const SERVER = fileURLToPath(new URL("conformance/server.ts", import.meta.url));

const results = mkdtempSync(join(tmpdir(), "openfunctions-conformance-"));
const children: ChildProcess[] = [];
const urls = { steady: "", changing: "" };

async function open(): Promise<string> {
  const child = spawn(process.execPath, [SERVER, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [line] = (await Promise.race([once(child.stdout, "data"), once(child, "exit")])) as [unknown];
  return /http\S+/.exec(String(line))?.[0] ?? "";
}

beforeAll(async () => {
  // One scenario adds and removes a tool, which another one, that lists twice, must not see.
  [urls.steady, urls.changing] = await Promise.all([open(), open()]);
  expect(Object.values(urls)).not.toContain("");
});
afterAll(() => {
  for (const child of children) child.kill();
  rmSync(results, { recursive: true, force: true });
});

describe.each(Object.entries(SCENARIOS))("revision %s", (revision, scenarios) => {
  it.concurrent.each(scenarios)("%s", { timeout: 60_000 }, async (scenario) => {
    const folder = join(results, `${revision}-${scenario}`);
    const url = scenario === "server-stateless" ? urls.changing : urls.steady;
    const args = [
      SUITE,
      "server",
      "--url",
      url,
      "--scenario",
      scenario,
      "--spec-version",
      revision,
      "-o",
      folder,
    ];
    const { stdout } = await promisify(execFile)(process.execPath, args).catch(
      (cause: Error & { stdout?: string }) => ({ stdout: cause.stdout ?? cause.message }),
    );
    const checks = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith("checks.json"))
      .flatMap((file): { id: string; status: string; errorMessage?: string }[] =>
        JSON.parse(readFileSync(join(folder, file), "utf8")),
      );
    const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
    expect(bad, stdout).toEqual([]);
    // A scenario that was skipped as a whole would pass in silence.
    expect(checks.filter(({ status }) => status === "SUCCESS").length, stdout).toBeGreaterThan(0);
  });
});

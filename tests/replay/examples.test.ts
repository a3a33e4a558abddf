/** Every run of every example is made again offline, to the same digest. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFileRunStore } from "@openfunctions/core";
import { replayRun } from "@openfunctions/core/records";

const ROOT = join(import.meta.dirname, "..", "..");
const HOOK = join(import.meta.dirname, "record-hook.mjs");
const EXAMPLES = readdirSync(join(ROOT, "examples")).filter((name) => /^\d\d-/.test(name));

let replayed = 0;

describe("examples", () => {
  it.each(EXAMPLES)("%s replays", { timeout: 60_000 }, async (name) => {
    const dir = mkdtempSync(join(tmpdir(), "openfunctions-replay-"));
    const program = spawnSync(process.execPath, ["--import", HOOK, join(ROOT, "examples", name, "main.ts")], {
      encoding: "utf8",
      env: { ...process.env, RECORD_DIR: dir, OPENFUNCTIONS_HOME: join(dir, "home") },
    });
    expect([program.status, program.stderr]).toEqual([0, expect.any(String)]);
    const store = createFileRunStore({ dir });
    const { runs } = await store.list({ limit: 100 });
    for (const { runId, kind } of runs) {
      const events = [];
      for await (const event of store.read(runId)) events.push(event);
      if (kind !== "call")
        expect(await replayRun(events)).toMatchObject({ complete: true, events: events.length });
    }
    await store.close();
    replayed += runs.length;
  });

  it("left runs to replay", () => {
    expect(replayed).toBeGreaterThan(3);
  });
});

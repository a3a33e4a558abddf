/** A folder of recorded traffic, one reply of every kind, through every adapter that reads it. */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { type Reading, replayFolder } from "./replay-folder.ts";

const DIR = join(import.meta.dirname, "__fixtures__");
const MAIN = join(import.meta.dirname, "main.ts");

const text = (said: string): string =>
  `${Array.from(said).length} ${createHash("sha256").update(said).digest("hex").slice(0, 10)}`;

async function read(split: number): Promise<readonly Reading[]> {
  const readings: Reading[] = [];
  for await (const reading of replayFolder(DIR, { split })) readings.push(reading);
  return readings;
}

it("says what each adapter makes of each reply, and that single bytes change nothing", async () => {
  const readings = await read(1);
  expect(readings.map(({ file, response, outcome }) => `${file} ${response} ${outcome}`)).toEqual([
    "a/messages.chunks.txt 0 ok",
    "a/generate.sse 0 ok",
    "a/two.chunks.txt 0 ok",
    "a/two.chunks.txt 1 error",
    "a/chat.cassette.json 0 ok",
    "a/chat.cassette.json 1 error",
    "a/chat.cassette.json 2 error",
    "a/whole.json 0 unsupported",
  ]);
  expect(readings.map(({ split }) => split)).not.toContain("different");
  expect(readings[0]).toMatchObject({
    api: "Messages stream",
    split: "same",
    finish: "tool_calls",
    text: text("Grüße"),
    calls: [["look", '{"at":3}']],
    usage: [7, 9],
  });
  expect(readings[1]).toMatchObject({ finish: "stop", text: text("Hallo"), usage: [4, 2] });
  expect(readings[2]).toMatchObject({ finish: "stop", text: text("one"), usage: [5, 3] });
  expect(readings[3]?.finish).toContain("It broke.");
  expect(readings[4]).toMatchObject({ finish: "stop", text: text("body"), usage: [3, 1] });
  expect(readings[5]?.finish).toMatch(/^rate_limit: .*Slow down\./);
  expect(readings[6]?.finish).toMatch(/^network: /);
});

it("prints the readings as a command, as lines or as JSON, and refuses a call without a folder", async () => {
  const run = promisify(execFile);
  const lines = await run(process.execPath, [MAIN, "--dir", DIR]);
  expect(lines.stdout.split("\n")[0]?.split("\t")).toEqual([
    "a/messages.chunks.txt",
    "0",
    "Messages stream",
    "ok",
    "-",
    "tool_calls",
    text("Grüße"),
    '[["look","{\\"at\\":3}"]]',
    "[7,9]",
  ]);
  expect(lines.stderr).toBe("4 ok, 3 errors, 1 unsupported\n");
  const json = await run(process.execPath, [MAIN, "--dir", DIR, "--split", "3", "--json"]);
  expect(JSON.parse(json.stdout)).toEqual(await read(3));
  await expect(run(process.execPath, [MAIN])).rejects.toMatchObject({ code: 2 });
});

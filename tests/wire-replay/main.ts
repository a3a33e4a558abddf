/**
 * npm run -s adapters:replay -- --dir <folder with INDEX.tsv> [--split <bytes>] [--json]
 *
 * Reads every supported file of recorded traffic through our adapters, and prints what each made of it in the columns
 * of ORACLE.tsv: file, response, API, outcome, whether it is the same in pieces of `--split` bytes, finish or failure,
 * text (code points and hash), tool calls, usage.
 */

import { parseArgs } from "node:util";
import { type Reading, replayFolder } from "./replay-folder.ts";

const options = {
  dir: { type: "string" },
  split: { type: "string", default: "0" },
  json: { type: "boolean" },
} as const;

function readOptions(): { readonly dir: string; readonly split: number; readonly json: boolean } {
  try {
    const { dir, split: text, json = false } = parseArgs({ options }).values;
    const split = Number(text);
    if (dir !== undefined && Number.isInteger(split) && split >= 0) return { dir, split, json };
  } catch {
    // An option that there is not: the usage says which there are.
  }
  process.stderr.write(
    "Usage: npm run -s adapters:replay -- --dir <folder with INDEX.tsv> [--split <bytes>] [--json]\n",
  );
  return process.exit(2);
}

const values = readOptions();
process.stdout.on("error", () => process.exit(0)); // whoever read has seen enough
const readings: Reading[] = [];
for await (const reading of replayFolder(values.dir, { split: values.split })) {
  readings.push(reading);
  if (!values.json) process.stdout.write(`${toLine(reading)}\n`);
}
if (values.json) process.stdout.write(`${JSON.stringify(readings, null, 2)}\n`);
const count = (outcome: Reading["outcome"]): number =>
  readings.filter((reading) => reading.outcome === outcome).length;
process.stderr.write(`${count("ok")} ok, ${count("error")} errors, ${count("unsupported")} unsupported\n`);

function toLine({ file, response, api, outcome, split: same, finish, text, calls, usage }: Reading): string {
  const cells = [
    file,
    response,
    api,
    outcome,
    same,
    finish,
    text,
    JSON.stringify(calls),
    JSON.stringify(usage),
  ];
  return cells.map((cell) => String(cell).replaceAll(/[\t\r\n]+/g, " ")).join("\t");
}

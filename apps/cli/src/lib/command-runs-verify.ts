/** `openfunctions runs verify`: whether a record file is what was written, by whom, and if not, where not. */

import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { OpenFunctionsError } from "@openfunctions/core";
import { type Finding, type VerifyResult, exportRun, keyIdOf, verifyRun } from "@openfunctions/core/records";
import { dataHome } from "./data-home.ts";
import { withHomeStores } from "./home-stores.ts";
import { CommandFailure, EXIT, note, print, printJson, printable } from "./output.ts";
import { listKeys } from "./signing-keys.ts";

/** Options of the command. */
export interface VerifyCommandOptions {
  readonly key?: string;
  readonly json?: boolean;
}

/** Exit 0 verified, 1 anything wrong, 2 wrong usage, 4 intact but not sealed. */
export async function verifyCommand(name: string, options: VerifyCommandOptions): Promise<void> {
  const publicKeys =
    options.key === undefined
      ? (await listKeys(dataHome())).map(({ pem }) => pem)
      : [await readKey(options.key)];
  const result = await verifyRecord(name, publicKeys);
  if (options.json === true) printJson(result);
  else report(result);
  if (result.status === "verified") return;
  if (result.status === "unsigned")
    throw new CommandFailure(
      "The record is intact but unsigned: anybody could have written it.",
      EXIT.unsigned,
    );
  throw new CommandFailure(`The record is not verified: ${result.failures} finding(s).`, EXIT.failed);
}

/** The bytes of a record file, or the lines of a run of the data folder. */
async function verifyRecord(name: string, publicKeys: readonly string[]): Promise<VerifyResult> {
  const found = await stat(name).catch(() => undefined);
  if (found?.isFile() === true) {
    try {
      return await verifyRun(createReadStream(name), { publicKeys });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new CommandFailure(`The record file "${name}" cannot be read: ${why}`, EXIT.usage);
    }
  }
  return withHomeStores(dataHome(), async ({ runs }) => {
    if ((await runs.get(name).catch(noSuchId)) === undefined)
      throw new CommandFailure(`There is no record file and no run "${name}".`, EXIT.usage);
    return verifyRun(bytesOf(exportRun(runs, name)), { publicKeys });
  });
}

/** What no store takes as an id is the name of nothing; every other failure is one. */
function noSuchId(cause: unknown): undefined {
  if (!OpenFunctionsError.is(cause) || cause.code !== "bad_id") throw cause;
}

async function* bytesOf(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const line of lines) yield Buffer.from(line);
}

async function readKey(file: string): Promise<string> {
  const pem = await readFile(file, "utf8").catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CommandFailure(`The key "${file}" cannot be read: ${why}`, EXIT.usage);
  });
  try {
    keyIdOf(pem);
  } catch {
    throw new CommandFailure(`"${file}" holds no Ed25519 public key in PEM.`, EXIT.usage);
  }
  return pem;
}

/** What is wrong with a file that is no record at all is said in a few lines. */
const MAX_SHOWN = 20;

function report(result: VerifyResult): void {
  const { status, runId, events, signedBy, capture, redacted, withoutValue } = result;
  const shown = result.findings.slice(0, MAX_SHOWN);
  for (const finding of shown) print(describeFinding(finding));
  const rest = result.failures - shown.length;
  if (rest > 0) print(`and ${rest} more`);
  const by = signedBy === undefined ? "" : `, sealed by ${signedBy}`;
  print(printable(`${status}: run ${runId ?? "unknown"}, ${events} event(s)${by}`));
  if (redacted > 0) note(`${redacted} value(s) were redacted.`);
  if (capture === "full" && withoutValue > redacted)
    note(
      `${withoutValue - redacted} sealed value(s) are not in the file, without a redaction that says why.`,
    );
}

function describeFinding({ kind, line, offset, message, leaf, expected, found }: Finding): string {
  const hashes = expected === undefined ? "" : ` Expected ${expected}, found ${found ?? "nothing"}.`;
  const place = leaf === undefined ? `line ${line}, byte ${offset}` : `line ${line}, ${leaf}`;
  return printable(`${kind} at ${place}: ${message}${hashes}`);
}

/** What the commands print: the answer on stdout, everything about it on stderr. */

import { OpenFunctionsError } from "@openfunctions/core";

/** Exit codes of the command line. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  environment: 3,
  unsigned: 4,
  waiting: 5,
  interrupted: 130,
} as const;

/** An exit that a command chose; the message is already printed or is printed by `main`. */
export class CommandFailure extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Prints a line of the answer. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints a line about the work. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Prints JSON for a program. What a terminal would act on is escaped; it is the same JSON. */
export function printJson(value: unknown, indent: number = 2): void {
  print((JSON.stringify(value, null, indent) ?? "null").replace(UNSEEN, escaped));
}

const COLOURS = { dim: 2, bold: 1, red: 31, green: 32, yellow: 33 } as const;

/** Colours a text for a terminal, and leaves it as it is anywhere else. */
export function paint(colour: keyof typeof COLOURS, text: string): string {
  const plain = process.stderr.isTTY !== true || (process.env["NO_COLOR"] ?? "") !== "";
  return plain ? text : `\u001b[${COLOURS[colour]}m${text}\u001b[0m`;
}

/** The exit code of an error, by whose move it is. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailure) return error.exitCode;
  if (!OpenFunctionsError.is(error)) return EXIT.failed;
  if (error.code === "invalid_argument" || error.code === "unknown_tool_in_filter") return EXIT.usage;
  return error.fault === "developer" || error.fault === "environment" ? EXIT.environment : EXIT.failed;
}

/** An error in words, with what would work. Control characters are escaped. */
export function describeError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const hint = OpenFunctionsError.is(error) && error.hint !== undefined ? `\n${error.hint}` : "";
  return printable(`${message}${hint}`);
}

// oxlint-disable-next-line no-control-regex -- control characters are what is escaped
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
// oxlint-disable-next-line no-control-regex -- control characters are what is escaped
const UNSEEN = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

function escaped(found: string): string {
  return `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A text that cannot move the cursor, turn the reading direction or forge what stands before it. */
export function printable(text: string): string {
  return text.replace(CONTROL, escaped);
}

/** The same for one line: it cannot forge the next one either. */
export function oneLine(text: string): string {
  return printable(text).replace(/[\n\t]/g, escaped);
}

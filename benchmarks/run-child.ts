/** Fresh processes: what one process has loaded, compiled or cached must not help the next. */

import { spawn } from "node:child_process";
import { join } from "node:path";

/** How a child is started. */
export interface ChildOptions {
  /** Flags of Node itself. */
  readonly flags?: readonly string[];
  /** Where compiled code is kept between processes. Default: it is not. */
  readonly compileCache?: string;
}

/** What a child printed, and how long it lived. */
export interface ChildOutput {
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly output: string;
  readonly problems: string;
  /** From the start of the process to its end. */
  readonly wallMs: number;
}

/** What a child reported as its one line of JSON. */
export interface ChildResult {
  readonly values: Readonly<Record<string, unknown>>;
  readonly wallMs: number;
}

const FOLDER = import.meta.dirname;
const LONGEST_MS = 180_000;

/** Runs a measuring program of this folder and reads its result. Throws when it fails or prints something else. */
export async function runChild(
  program: string,
  args: readonly string[],
  options: ChildOptions = {},
): Promise<ChildResult> {
  const { code, output, problems, wallMs } = await startChild(program, args, options);
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} failed:\n${problems || output}`);
  return { values: parseObject(output), wallMs };
}

/** Runs a program of this folder under the same Node to its end, whatever that is. */
export async function startChild(
  program: string,
  args: readonly string[],
  options: ChildOptions = {},
): Promise<ChildOutput> {
  const began = performance.now();
  const child = spawn(process.execPath, [...(options.flags ?? []), join(FOLDER, program), ...args], {
    cwd: FOLDER,
    env: cleanEnvironment(options),
    stdio: ["ignore", "pipe", "pipe"],
    timeout: LONGEST_MS,
  });
  const [output, problems, ended] = await Promise.all([
    readAll(child.stdout),
    readAll(child.stderr),
    new Promise<Pick<ChildOutput, "code" | "wallMs">>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code) => resolve({ code: code ?? undefined, wallMs: performance.now() - began }));
    }),
  ]);
  return { ...ended, output, problems };
}

/** A number a child reported. */
export function readNumber({ values }: Pick<ChildResult, "values">, key: string): number {
  const value = values[key];
  if (typeof value !== "number")
    throw new Error(`A child reported no number "${key}": ${JSON.stringify(values)}`);
  return value;
}

/** No provider settings, no debugging flags, no compile cache but the one asked for. */
function cleanEnvironment({ compileCache }: ChildOptions): NodeJS.ProcessEnv {
  const kept = ["PATH", "HOME", "TMPDIR", "SystemRoot", "TEMP"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(kept),
    ...(compileCache === undefined ? {} : { NODE_COMPILE_CACHE: compileCache }),
  };
}

async function readAll(stream: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

function parseObject(output: string): Readonly<Record<string, unknown>> {
  const parsed: unknown = JSON.parse(output);
  if (typeof parsed !== "object" || parsed === null) throw new Error(`A child reported no object: ${output}`);
  return { ...parsed };
}

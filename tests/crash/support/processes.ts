/** Starts processes of the shop, two at a time, and tells how they ended. */

import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Manner, type PaymentService, startPaymentService } from "./payment-service.ts";
import type { ShopPlace } from "./shop.ts";
import type { ShopJob, ShopOrder } from "./shop-program.ts";

const CACHE = fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url));
const PROGRAM = fileURLToPath(new URL("shop-program.ts", import.meta.url));

/** How a process ended. `answer` is absent for one that was killed. */
export interface ProcessEnd {
  readonly killed: boolean;
  readonly answer?: string;
  readonly passed: readonly string[];
}

/** A process under way. */
export interface ShopProcess {
  readonly child: ChildProcess;
  /** Resolves when a process that waits is ready. */
  readonly ready: Promise<void>;
  /** Lets a process that waits begin. */
  go(): void;
  readonly end: Promise<ProcessEnd>;
}

/** A place of its own with a service of its own. */
export interface World {
  readonly place: ShopPlace;
  readonly service: PaymentService;
  readonly publicKey: string;
  start(job: ShopJob, how?: Pick<ShopOrder, "killAt" | "wait">): ShopProcess;
  /** Starts a process and waits for its end, and for everything it sent. */
  run(job: ShopJob, killAt?: ShopOrder["killAt"]): Promise<ProcessEnd>;
}

/** How a world differs from the usual one. */
export interface WorldOptions {
  readonly manner?: () => Manner;
  readonly patienceMs?: number;
}

const keys = generateKeyPairSync("ed25519", {
  publicKeyEncoding: { type: "spki", format: "pem" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
});

/** Does the work in a fresh world and removes the world, on every path. */
export async function inWorld<T>(work: (world: World) => Promise<T>, options: WorldOptions = {}): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "openfunctions-crash-"));
  const service = await startPaymentService();
  const { manner, patienceMs } = options;
  if (manner !== undefined) service.behave(manner);
  const place: ShopPlace = {
    file: join(folder, "state.db"),
    url: service.url,
    privateKey: keys.privateKey,
    ...(patienceMs === undefined ? {} : { patienceMs }),
  };
  const children = new Set<ChildProcess>();
  const start: World["start"] = (job, how = {}) => {
    const started = startProcess({ place, job, ...how });
    children.add(started.child);
    return started;
  };
  const run: World["run"] = async (job, killAt) => {
    const end = await start(job, killAt === undefined ? {} : { killAt }).end;
    await service.settled();
    return end;
  };
  try {
    return await work({ place, service, publicKey: keys.publicKey, start, run });
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await service.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function startProcess(order: ShopOrder): ShopProcess {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(order)], {
    stdio: ["pipe", "pipe", "inherit"],
    // What a process compiled, the next need not: start-up is most of the time of a process that is killed.
    env: { ...process.env, NODE_COMPILE_CACHE: CACHE },
  });
  let output = "";
  const ready = new Promise<void>((resolve) => {
    child.stdout.on("data", (data: Buffer) => {
      output += String(data);
      if (output.startsWith("ready\n")) resolve();
    });
  });
  // A process that was killed has closed its input.
  child.stdin.on("error", () => {});
  return { child, ready, go: () => child.stdin.write("go\n"), end: endOf(child, () => output) };
}

async function endOf(child: ChildProcess, output: () => string): Promise<ProcessEnd> {
  const [code, signal] = await once(child, "close");
  if (signal === "SIGKILL") return { killed: true, passed: [] };
  if (code !== 0) throw new Error(`A process of the shop ended with ${String(code)}: ${output()}`);
  const { answer, passed } = JSON.parse(output().trim().split("\n").at(-1) ?? "");
  return { killed: false, answer, passed };
}

/** Does the work for every item, two at a time, since processes cost a core each. */
export async function forEachTwo<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all([lane(), lane()]);
}

/** Every item at scale 1, evenly picked ones below, at least `least`; the first and the last always. */
export function sample<T>(items: readonly T[], least: number): readonly T[] {
  const scale = Number(process.env["OPENFUNCTIONS_TEST_SCALE"] ?? "0.1");
  const count = Math.min(items.length, Math.max(least, Math.round(items.length * scale)));
  const last = items.length - 1;
  const picked = new Set(
    Array.from({ length: count }, (_, n) => Math.round((n * last) / Math.max(1, count - 1))),
  );
  return items.filter((_, index) => picked.has(index));
}

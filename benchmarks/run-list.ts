/**
 * Pages of a list of runs. `node run-list.ts make <file> <count>` stores runs; `node run-list.ts <way> <file>` prints
 * the CPU microseconds of a page, read one way.
 */

import { DatabaseSync } from "node:sqlite";
import { type AnyRunEvent, defineTool, ok, runLoop, ToolRegistry } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { openSqlite } from "@openfunctions/store-sqlite";

const PAGE = 50;
const THREADS = 400;
const WARM_UP = 500;
const MEASURED = 2_000;
const FIRST_MS = Date.UTC(2026, 0, 1);

const [way = "", file = "", count = "0"] = process.argv.slice(2);
if (way === "make") await makeRuns(Number(count));
else console.log(JSON.stringify(await measure()));

/** Runs of one model round with a tool call and an answer, a second apart, in threads. */
async function makeRuns(runs: number): Promise<void> {
  const events = await sampleRun();
  const stores = await openSqlite({ file, synchronous: "normal" });
  const store = stores.runStore();
  try {
    for (let index = 0; index < runs; index += 1) {
      const runId = idOf(index);
      const at = new Date(FIRST_MS + index * 1_000).toISOString();
      const copies = events.map((event) => ({ ...event, runId, at }));
      await store.append(
        runId,
        copies.map((event) => inThread(event, `thread-${index % THREADS}`)),
        { expectedSeq: 0 },
      );
    }
  } finally {
    await stores.close();
  }
  console.log(JSON.stringify({ events: events.length }));
}

function idOf(index: number): string {
  return `01890000-0000-7000-8000-${String(index).padStart(12, "0")}`;
}

function inThread(event: AnyRunEvent, threadId: string): AnyRunEvent {
  if (event.type !== "run.started") return event;
  return { ...event, data: { ...event.data, lineage: { ...event.data.lineage, threadId } } };
}

async function sampleRun(): Promise<readonly AnyRunEvent[]> {
  const tools = new ToolRegistry();
  tools.register(
    defineTool({
      name: "look_up",
      description: "Looks something up.",
      inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
      contract: "read",
      handler: ({ query }) => ok({ answer: `${query} is 42` }),
    }),
  );
  const adapter = scriptedAdapter([
    { toolCalls: [{ name: "look_up", args: { query: "the question" } }] },
    { text: "It is 42." },
  ]);
  const events: AnyRunEvent[] = [];
  const messages = [{ role: "user" as const, content: "what is the answer?" }];
  for await (const event of runLoop({ adapter, tools, messages, capture: "full" }))
    if ("seq" in event) events.push(event);
  return events;
}

/** CPU microseconds of one page: the newest, one from the middle by its cursor, the newest of a thread. */
async function measure(): Promise<Record<string, number>> {
  const middle = { startedAt: new Date(FIRST_MS + 5_000_000).toISOString(), runId: idOf(5_000) };
  if (way === "list") {
    const stores = await openSqlite({ file });
    const store = stores.runStore();
    return {
      newest: await cpuPer(async () => (await store.list({ limit: PAGE })).runs),
      middle: await cpuPer(
        async () => (await store.list({ limit: PAGE, cursor: `${middle.startedAt} ${middle.runId}` })).runs,
      ),
      thread: await cpuPer(async () => (await store.list({ limit: PAGE, threadId: "thread-7" })).runs),
    };
  }
  const database = new DatabaseSync(file);
  const order = "ORDER BY started_at DESC, run_id DESC LIMIT";
  const select = "SELECT run_id, record FROM openfunctions_runs";
  const newest = database.prepare(`${select} ${order} ?`);
  const after = database.prepare(`${select} WHERE (started_at, run_id) < (?, ?) ${order} ?`);
  const thread = database.prepare(`${select} WHERE thread_id = ? ${order} ?`);
  const parse = (rows: readonly Record<string, unknown>[]): readonly unknown[] =>
    way === "raw" ? rows.map((row) => JSON.parse(String(row["record"])) as unknown) : rows;
  return {
    newest: await cpuPer(async () => parse(newest.all(PAGE))),
    middle: await cpuPer(async () => parse(after.all(middle.startedAt, middle.runId, PAGE))),
    thread: await cpuPer(async () => parse(thread.all("thread-7", PAGE))),
  };
}

async function cpuPer(page: () => Promise<readonly unknown[]>): Promise<number> {
  const size = (await page()).length;
  if (size === 0) throw new Error("A page is empty.");
  for (let time = 0; time < WARM_UP; time += 1) await page();
  const before = process.cpuUsage();
  for (let time = 0; time < MEASURED; time += 1) {
    if ((await page()).length !== size) throw new Error("A page changed.");
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / MEASURED;
}

/**
 * One process of one peer: warms up, measures, prints a line of JSON. `node agent-run.ts <peer> <task> <base URL>`.
 * CPU is user and system time of the whole process, so garbage collection and compiler threads count.
 */

/** What every `peers/<name>/agent.mjs` gives. */
interface PeerAgent {
  run(model: string): Promise<string>;
  stream(model: string, onDelta: (text: string) => void): Promise<string>;
}

// Enough that the code of every peer is compiled before the clock starts: a service lives longer than its first
// thousand requests, and the first ones are what the cold start measures.
const WARM_UP_RUNS = { k1: 1_500, k10: 1_200 } as const;
const MEASURED_RUNS = { k1: 600, k10: 150 } as const;
const WARM_UP_STREAMS = 5;
const MEASURED_STREAMS = 20;
const DELTAS = 2_000;

const [peer, task, baseUrl = ""] = process.argv.slice(2);
const agent = await loadAgent(`./peers/${peer}/agent.mjs`);
console.log(JSON.stringify(task === "deltas" ? await measureDeltas() : await measureRounds()));
process.exit(0);

async function loadAgent(path: string): Promise<PeerAgent> {
  const module: { make(baseUrl: string): PeerAgent } = await import(path);
  return module.make(baseUrl);
}

/** CPU milliseconds of a run of one and of ten tool rounds. */
async function measureRounds(): Promise<Record<string, number>> {
  await repeat(WARM_UP_RUNS.k1, () => runOnce("k1"));
  await repeat(WARM_UP_RUNS.k10, () => runOnce("k10"));
  const k1 = await cpuPer(MEASURED_RUNS.k1, () => runOnce("k1"));
  const k10 = await cpuPer(MEASURED_RUNS.k10, () => runOnce("k10"));
  return { k1, k10 };
}

/** CPU milliseconds of 1,000 deltas. */
async function measureDeltas(): Promise<Record<string, number>> {
  await repeat(WARM_UP_STREAMS, streamOnce);
  const perStream = await cpuPer(MEASURED_STREAMS, streamOnce);
  return { per1000: (perStream * 1_000) / DELTAS };
}

async function runOnce(model: string): Promise<void> {
  const answer = await agent.run(model);
  if (!answer.includes("42")) throw new Error(`Unexpected answer of "${model}": ${answer}`);
}

async function streamOnce(): Promise<void> {
  let seen = 0;
  let chars = 0;
  const text = await agent.stream(`s${DELTAS}`, (delta) => {
    seen += 1;
    chars += delta.length;
  });
  if (seen !== DELTAS || chars !== text.length)
    throw new Error(`${seen} deltas of ${DELTAS} reached the consumer.`);
}

async function cpuPer(times: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await repeat(times, work);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / times;
}

async function repeat(times: number, work: () => Promise<void>): Promise<void> {
  for (let time = 0; time < times; time += 1) await work();
}

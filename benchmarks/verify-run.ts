/** One process that verifies or hashes a record, as often as it can. `node verify-run.ts <way>` prints a line of JSON. */

import { generateKeyPairSync, hash } from "node:crypto";
import {
  canonicalJson,
  createMemoryRunStore,
  defineTool,
  ok,
  runLoop,
  ToolRegistry,
} from "@openfunctions/core";
import { createSigner, exportRun, verifyRun } from "@openfunctions/core/records";
import { scriptedAdapter } from "@openfunctions/core/testing";

const EVENTS = 10_000;
const CALLS_PER_ROUND = 50;
/** Requested, started and finished. */
const EVENTS_PER_CALL = 3;
const CHUNK = 65_536;
const WARM_UPS = 10;
const MEASURED_CPU_MS = 1_000;

const { privateKey, publicKey } = generateKeyPairSync("ed25519");

/** The lines of one real run: rounds of tool calls that look something up, captured whole and sealed. */
async function recordRun(): Promise<readonly string[]> {
  const tools = new ToolRegistry();
  const text =
    "Returns are free for thirty days; the label is in the parcel, and the money comes back within a week. ";
  tools.register(
    defineTool({
      name: "search",
      description: "Finds passages.",
      inputSchema: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
      contract: "read",
      handler: async ({ query }) =>
        ok({ query, passages: [1, 2, 3].map((rank) => ({ rank, score: rank / 7, text })) }),
    }),
  );
  const rounds = Math.ceil(EVENTS / (CALLS_PER_ROUND * EVENTS_PER_CALL));
  const script = Array.from({ length: rounds }, (_, round) => ({
    toolCalls: Array.from({ length: CALLS_PER_ROUND }, (_call, index) => ({
      name: "search",
      args: { query: `what do customers ask about returns, part ${round}.${index}` },
    })),
  }));
  const store = createMemoryRunStore();
  const { runId } = await runLoop({
    adapter: scriptedAdapter([...script, { text: "done" }]),
    tools,
    store,
    messages: [{ role: "user", content: "Read everything." }],
    capture: "full",
    limits: { maxRounds: rounds + 1, maxToolCalls: rounds * CALLS_PER_ROUND },
    signer: createSigner(privateKey),
  }).result;
  const lines: string[] = [];
  for await (const line of exportRun(store, runId)) lines.push(line);
  return lines;
}

/** What the format wants hashed: of each event its reduced bytes, of each leaf its salt and value. */
function hashedBytes(lines: readonly string[]): readonly Uint8Array[] {
  return lines.slice(0, -1).flatMap((line) => {
    const { hash: _hash, ...event } = JSON.parse(line);
    const leaves: Uint8Array[] = [];
    const reduced = canonicalJson(event, (object) => {
      const { $sealed, salt, value } = object;
      if ($sealed === undefined) return object;
      leaves.push(Buffer.concat([Buffer.from(String(salt), "hex"), Buffer.from(canonicalJson(value))]));
      return { $sealed };
    });
    return [Buffer.from(`{"t":"event/1","v":${reduced}}`), ...leaves];
  });
}

const lines = await recordRun();
const file = Buffer.from(lines.join(""));
const chunks = Array.from({ length: Math.ceil(file.length / CHUNK) }, (_, index) =>
  file.subarray(index * CHUNK, (index + 1) * CHUNK),
);
const pieces = hashedBytes(lines);

const ways: Readonly<Record<string, () => unknown>> = {
  verify: async () => {
    const { status, failures } = await verifyRun(chunks, { publicKeys: [publicKey] });
    if (status !== "verified") throw new Error(`The record is ${status}, with ${failures} findings.`);
  },
  hashes: () => pieces.map((piece) => hash("sha256", piece, "hex")),
  file: () => hash("sha256", file, "hex"),
};

const way = ways[process.argv[2] ?? ""];
if (way === undefined) throw new Error(`There is no way "${process.argv[2]}".`);
for (let time = 0; time < WARM_UPS; time += 1) await way();
const before = process.cpuUsage();
let times = 0;
let cpuMs = 0;
while (cpuMs < MEASURED_CPU_MS) {
  await way();
  times += 1;
  const { user, system } = process.cpuUsage(before);
  cpuMs = (user + system) / 1_000;
}
console.log(JSON.stringify({ cpuMs: cpuMs / times, events: lines.length - 1, bytes: file.length }));

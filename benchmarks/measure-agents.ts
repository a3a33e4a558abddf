/** What an agent costs beyond the provider's own SDK: CPU per run and per streamed delta. */

import type { FakeOpenAI } from "./fake-openai-server.ts";
import { type Peer, PEER_NAMES } from "./peers.ts";
import { cell, ratioCell, type Section, type Target } from "./report.ts";
import { type ChildResult, readNumber, runChild } from "./run-child.ts";
import { interleave, type Summary, summarize } from "./statistics.ts";

const PEERS: readonly Peer[] = ["fetch", "openai-sdk", "ai-sdk", "ai-sdk-stream", "openfunctions"];
/** Here every peer streams. */
const STREAMING_PEERS: readonly Peer[] = ["fetch", "openai-sdk", "ai-sdk", "openfunctions"];

/** What the measurements of this file need. */
export interface AgentSettings {
  readonly server: FakeOpenAI;
  readonly rounds: number;
}

/** CPU per run of a one-tool agent, at one and at ten tool rounds. */
export async function measureRounds(settings: AgentSettings): Promise<Section> {
  const { server } = settings;
  const seen = await traffic(server, ["openai-sdk", "openfunctions"]);
  const series = await measure(settings, "rounds", PEERS);
  const k1 = summaries(series, "k1");
  const k10 = summaries(series, "k10");
  const rows = PEERS.map((peer) => [
    PEER_NAMES[peer],
    cell(of(k1, peer)),
    ratioCell(of(k1, peer).median / of(k1, "openai-sdk").median),
    cell(of(k10, peer)),
    ratioCell(of(k10, peer).median / of(k10, "openai-sdk").median),
  ]);
  return {
    title: "CPU of an agent run",
    method: [
      "The same one-tool agent against the fake server; user and system milliseconds of CPU per run after a warm-up.",
      "Ours through `adapter-openai` with every event read and every run recorded in a memory store.",
      `The bare SDK makes the same streamed Responses calls: ${seen}.`,
      "`fetch` and the AI SDK's `generate` ask for one JSON reply per call, which is cheaper; the AI SDK's `stream` is beside it.",
    ].join(" "),
    tables: [{ columns: ["", "1 tool round, ms", "to the SDK", "10 tool rounds, ms", "to the SDK"], rows }],
    targets: [...roundTargets("1 tool round", k1), ...roundTargets("10 tool rounds", k10)],
  };
}

/** CPU per 1,000 text deltas of a long answer. */
export async function measureDeltas(settings: AgentSettings): Promise<Section> {
  const per1000 = summaries(await measure(settings, "deltas", STREAMING_PEERS), "per1000");
  const bare = of(per1000, "openai-sdk").median;
  const ours = of(per1000, "openfunctions").median;
  return {
    title: "CPU of a streamed answer",
    method:
      "An answer of 2,000 text deltas, each handed to a consumer; user and system milliseconds of CPU per 1,000 deltas. All stream.",
    tables: [
      {
        columns: ["", "per 1,000 deltas, ms", "to the SDK"],
        rows: STREAMING_PEERS.map((peer) => [
          PEER_NAMES[peer],
          cell(of(per1000, peer)),
          ratioCell(of(per1000, peer).median / bare),
        ]),
      },
    ],
    targets: [
      ratioTarget("CPU per 1,000 deltas, to the bare `openai` SDK", {
        relation: "at most",
        limit: 1.5,
        measured: ours / bare,
      }),
      ratioTarget("CPU per 1,000 deltas, to the AI SDK", {
        relation: "below",
        limit: 1,
        measured: ours / of(per1000, "ai-sdk").median,
      }),
    ],
  };
}

type Series = ReadonlyMap<Peer, readonly ChildResult[]>;
type Summaries = ReadonlyMap<Peer, Summary>;

function measure(
  { server, rounds }: AgentSettings,
  task: "rounds" | "deltas",
  peers: readonly Peer[],
): Promise<Series> {
  return interleave(peers, rounds, (peer) => runChild("agent-run.ts", [peer, task, server.baseUrl]));
}

function summaries(series: Series, key: string): Summaries {
  const entries = [...series].map(([peer, results]) => {
    return [peer, summarize(results.map((result) => readNumber(result, key)))] as const;
  });
  return new Map(entries);
}

function of(summaries: Summaries, peer: Peer): Summary {
  const summary = summaries.get(peer);
  if (summary === undefined) throw new Error(`"${peer}" was not measured.`);
  return summary;
}

function roundTargets(what: string, cpu: Summaries): readonly Target[] {
  const ours = of(cpu, "openfunctions").median;
  return [
    ratioTarget(`CPU per run, ${what}, to the bare \`openai\` SDK`, {
      relation: "at most",
      limit: 1.25,
      measured: ours / of(cpu, "openai-sdk").median,
    }),
    ratioTarget(`CPU per run, ${what}, to the AI SDK`, {
      relation: "below",
      limit: 1,
      measured: ours / of(cpu, "ai-sdk").median,
    }),
    ratioTarget(`CPU per run, ${what}, to the AI SDK, streamed`, {
      relation: "below",
      limit: 1,
      measured: ours / of(cpu, "ai-sdk-stream").median,
    }),
  ];
}

function ratioTarget(name: string, figures: Pick<Target, "relation" | "limit" | "measured">): Target {
  return { name, unit: "x", ...figures };
}

/** Ids in the requests grow with the server's count of replies; more than that must not differ. */
const SAME_BYTES = 0.02;

/** A comparison is fair only when both sides ask for the same: throws when their requests differ. */
async function traffic(server: FakeOpenAI, peers: readonly [Peer, Peer]): Promise<string> {
  const first = await trafficOf(server, peers[0]);
  const second = await trafficOf(server, peers[1]);
  const difference = Math.abs(first.bytesIn / second.bytesIn - 1);
  if (first.requests !== second.requests || difference > SAME_BYTES) {
    throw new Error(`${peers.join(" and ")} do not make the same calls: ${JSON.stringify([first, second])}`);
  }
  return `${first.requests} requests with ${first.bytesIn} bytes in a run of one tool round, ours ${second.requests} with ${second.bytesIn}`;
}

async function trafficOf(
  server: FakeOpenAI,
  peer: Peer,
): Promise<{ readonly requests: number; readonly bytesIn: number }> {
  const before = server.stats();
  await runChild(`peers/${peer}/cold-run.mjs`, [server.baseUrl]);
  const after = server.stats();
  return { requests: after.requests - before.requests, bytesIn: after.bytesIn - before.bytesIn };
}

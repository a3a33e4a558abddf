/** What npm installs for a program with one provider. */

import { footprintOf, type Peer, PEER_NAMES } from "./peers.ts";
import type { Section } from "./report.ts";

const PEERS: readonly Peer[] = ["openai-sdk", "ai-sdk", "openfunctions"];

/** Packages, files and megabytes of each installed peer. */
export function measureFootprint(): Section {
  return {
    title: "Install footprint",
    method:
      "Each installed by npm alone into an empty folder: ours from the packed tarballs, with `openai` beside them.",
    tables: [
      {
        columns: ["", "packages", "files", "MB"],
        rows: PEERS.map((peer) => {
          const { packages, files, megabytes } = footprintOf(peer);
          return [PEER_NAMES[peer], String(packages), String(files), megabytes.toFixed(1)];
        }),
      },
    ],
    targets: [
      {
        name: "Packages of core + adapter-openai + openai",
        relation: "at most",
        limit: 10,
        measured: footprintOf("openfunctions").packages,
        unit: "packages",
      },
    ],
  };
}

/** The MCP server beside the bare SDK server: runs `mcp.ts`, which is a program of its own, and reads its rates. */

import { countCell, ratioCell, type Section } from "./report.ts";
import { startChild } from "./run-child.ts";

interface Rate {
  readonly name: string;
  readonly oursPerSecond: number;
  readonly sdkPerSecond: number;
  readonly ratio: number;
}

/** Rates of `tools/list` and `tools/call` over stdio. */
export async function measureMcp({ rounds }: { readonly rounds: number }): Promise<Section> {
  const { output, problems } = await startChild("mcp.ts", ["--rounds", String(rounds), "--json"]);
  const rates = readRates(output);
  if (rates.length === 0) throw new Error(`mcp.ts measured nothing:\n${problems}`);
  return {
    title: "MCP over stdio",
    method:
      "Our server and the bare SDK server (`@modelcontextprotocol/server`) with the same 500 tools and handlers, asked in turns by the same client of a few lines.",
    tables: [
      {
        columns: ["", "ours, per second", "bare SDK, per second", "to the SDK"],
        rows: rates.map((rate) => [
          rate.name,
          countCell(rate.oursPerSecond),
          countCell(rate.sdkPerSecond),
          ratioCell(rate.ratio),
        ]),
      },
    ],
    targets: rates.map(({ name, ratio }) => ({
      name: `MCP ${name}, to the bare SDK server`,
      relation: "at least",
      limit: 0.9,
      measured: ratio,
      unit: "x",
    })),
  };
}

function readRates(output: string): readonly Rate[] {
  const rows: unknown = output.trim() === "" ? [] : JSON.parse(output);
  if (!Array.isArray(rows)) throw new Error(`mcp.ts printed no list: ${output}`);
  return rows.map((row: Rate) => row); // Proof: mcp.ts writes exactly these fields
}

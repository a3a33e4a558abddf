/** The report of an eval as a table of text; `JSON.stringify` gives the rest. */

import type { EvalCaseResult, EvalReport } from "./run-eval.ts";

const MAX_LENGTH = 200;

/** One line per case with status, rounds, tokens, cost and time; below it what failed and what differs. */
export function formatReport(report: EvalReport): string {
  const head = ["case", "status", "rounds", "tokens", "cost", "time"];
  const rows = [head, ...report.cases.map(rowOf)];
  const widths = head.map((_cell, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const lines = rows.flatMap((row, index) => {
    const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
    const result = report.cases[index - 1];
    return [line.trimEnd(), ...(result === undefined ? [] : notesOf(result))];
  });
  const share = `${report.passed} of ${report.total} passed, ${percent(report.score)} (needs ${percent(report.threshold)})`;
  return `${[plain(report.name), ...lines, `${report.ok ? "ok" : "FAILED"}: ${share}`].join("\n")}\n`;
}

function rowOf({ name, status, record }: EvalCaseResult): readonly string[] {
  if (record === undefined) return [plain(name), status, "-", "-", "-", "-"];
  const { rounds, usage, startedAt, endedAt } = record;
  const time = endedAt === undefined ? "-" : `${Date.parse(endedAt) - Date.parse(startedAt)} ms`;
  const cost = usage.costUsd === undefined ? "unknown" : `$${Number(usage.costUsd.toFixed(6))}`;
  return [plain(name), status, String(rounds), String(usage.total), cost, time];
}

function notesOf({ failures, differences }: EvalCaseResult): readonly string[] {
  return [
    ...failures.map(({ check, message }) => `  ${plain(check)}: ${plain(message)}`),
    ...differences.map(
      ({ field, before, after }) =>
        `  ${field}: ${plain(JSON.stringify(before))} -> ${plain(JSON.stringify(after))}`,
    ),
  ];
}

/** One line without control characters: answers and arguments come from a model. */
function plain(text: string): string {
  const safe = text.slice(0, MAX_LENGTH + 1).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, " ");
  return safe.length <= MAX_LENGTH ? safe : `${safe.slice(0, MAX_LENGTH - 3)}...`;
}

function percent(share: number): string {
  return `${Math.round(share * 1000) / 10} %`;
}

/** What a measurement says, and how it is written down. */

import { cpus, totalmem } from "node:os";
import type { Summary } from "./statistics.ts";

/** One part of the report. */
export interface Section {
  readonly title: string;
  /** What was measured and how, for someone who has to believe the numbers. */
  readonly method: string;
  readonly tables: readonly Table[];
  readonly targets: readonly Target[];
}

/** A table of finished texts. The first column is a name, the others are numbers. */
export interface Table {
  readonly caption?: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Something that was promised, and what came out. */
export interface Target {
  readonly name: string;
  readonly relation: "at most" | "below" | "at least";
  readonly limit: number;
  readonly measured: number;
  /** "x" for a ratio; else the unit the numbers have. */
  readonly unit: string;
  /** What the run itself knows about why a target is missed; a sentence. */
  readonly because?: string;
}

/** True when the target is met. */
export function holds({ relation, limit, measured }: Target): boolean {
  if (relation === "at most") return measured <= limit;
  return relation === "below" ? measured < limit : measured >= limit;
}

/** How the report can be had again. */
export interface ReportOrigin {
  readonly command: string;
}

/** The whole report as Markdown. */
export function toMarkdown(sections: readonly Section[], origin: ReportOrigin): string {
  const targets = sections.flatMap((section) => section.targets);
  const missed = targets.filter((target) => !holds(target));
  const head = [
    "# Results",
    "Written by `benchmarks/main.ts`; do not edit. Medians of interleaved rounds in fresh processes; ratios mean more than times.",
    [
      `- date: ${new Date().toISOString().slice(0, 10)}`,
      `- machine: ${describeMachine()}`,
      `- node: ${process.versions.node}`,
      `- repeat with: \`${origin.command}\``,
    ].join("\n"),
    "## Targets",
    table({ columns: ["target", "wanted", "measured", ""], rows: targets.map(toTargetRow) }),
    ...(missed.length === 0
      ? []
      : ["Missed:", missed.map((target) => `- ${toMissSentence(target)}`).join("\n")]),
  ];
  return `${[...head, ...sections.flatMap(toBlocks)].join("\n\n")}\n`;
}

/** A summary as a cell: the median, and the range it was seen in. */
export function cell({ median, min, max }: Summary, digits = 2): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
}

/** A ratio as a cell. */
export function ratioCell(value: number): string {
  return `${value.toFixed(2)} x`;
}

/** A large count as a cell, with separators. */
export function countCell(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function toBlocks({ title, method, tables }: Section): readonly string[] {
  const blocks = tables.map((one) =>
    one.caption === undefined ? table(one) : `${one.caption}\n\n${table(one)}`,
  );
  return [`## ${title}`, method, ...blocks];
}

function toTargetRow(target: Target): readonly string[] {
  const { name, relation, limit, measured, unit } = target;
  return [
    name,
    `${relation} ${toAmount(limit, unit)}`,
    toAmount(measured, unit),
    holds(target) ? "holds" : "**missed**",
  ];
}

function toMissSentence({ name, relation, limit, measured, unit, because }: Target): string {
  const said = `${name}: ${toAmount(measured, unit)} where ${relation} ${toAmount(limit, unit)} is wanted.`;
  return because === undefined ? said : `${said} ${because}`;
}

function toAmount(value: number, unit: string): string {
  const text = Number.isInteger(value) ? String(value) : value.toFixed(3);
  return `${text} ${unit}`;
}

function table({ columns, rows }: Table): string {
  const rule = columns.map((_, index) => (index === 0 ? "---" : "---:"));
  return [columns, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Enough to judge the numbers by, and nothing that names the machine. */
function describeMachine(): string {
  const cores = cpus();
  const gigabytes = Math.round(totalmem() / 1024 ** 3);
  return `${process.platform} ${process.arch}, ${cores.length} x ${cores[0]?.model.trim() ?? "unknown"}, ${gigabytes} GB`;
}

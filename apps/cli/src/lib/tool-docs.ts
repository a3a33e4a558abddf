/** The Markdown reference of tools: sorted, without dates, the same for the same tools. */

import { type JsonSchema, type Tool, isPlainObject } from "@openfunctions/core";

/** One section per tool, sorted by name. */
export function toolsMarkdown(tools: readonly Tool[]): string {
  const sorted = [...tools].sort((left, right) => (left.name < right.name ? -1 : 1));
  return sorted.map(toolSection).join("\n\n");
}

function toolSection(tool: Tool): string {
  const rows = parameterRows(tool.parameters, "");
  const parts = [
    `## ${tool.name}`,
    escape(tool.description),
    contractLine(tool),
    rows.length === 0
      ? "No parameters."
      : ["| parameter | type | required | meaning |", "|---|---|---|---|", ...rows].join("\n"),
    ...(tool.examples ?? []).map(({ description, input, output }) =>
      exampleBlock(description, input, output),
    ),
  ];
  return parts.join("\n\n");
}

function contractLine({ contract }: Tool): string {
  const { effects, authority, idempotency } = contract;
  const open = effects.openWorld ? "open world" : "closed world";
  return `Effects: ${effects.kind} (${open}, undo ${effects.undo.replaceAll("_", " ")}). Authority: ${authority.level}. Idempotency: ${idempotency.mode}.`;
}

function parameterRows(schema: JsonSchema, path: string): readonly string[] {
  if (typeof schema !== "object" || schema.properties === undefined) return [];
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    const full = path === "" ? name : `${path}.${name}`;
    const required = schema.required?.includes(name) === true ? "yes" : "no";
    const about = typeof property === "object" ? (property.description ?? "") : "";
    const row = `| ${escapeCell(full)} | ${escapeCell(typeName(property))} | ${required} | ${escapeCell(about)} |`;
    const items = typeof property === "object" ? property.items : undefined;
    return [
      row,
      ...parameterRows(property, full),
      ...(items === undefined ? [] : parameterRows(items, `${full}[]`)),
    ];
  });
}

function typeName(schema: JsonSchema): string {
  if (typeof schema !== "object") return "any";
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(", ");
  if (schema.type === "array" && isPlainObject(schema.items)) return `array of ${typeName(schema.items)}`;
  const type = Array.isArray(schema.type) ? schema.type.join(" or ") : String(schema.type ?? "any");
  return "default" in schema ? `${type}, default ${JSON.stringify(schema.default)}` : type;
}

function exampleBlock(description: string, input: unknown, output: unknown): string {
  const result = output === undefined ? "" : `\n→ ${JSON.stringify(output)}`;
  return `${escape(description)}\n\n\`\`\`json\n${JSON.stringify(input)}${result}\n\`\`\``;
}

function escape(text: string): string {
  return text.replace(/[<>&]/g, (found) => ({ "<": "&lt;", ">": "&gt;" })[found] ?? "&amp;");
}

function escapeCell(text: string): string {
  return escape(text).replaceAll("|", "\\|").replaceAll("\n", " ");
}

/** What the pages say of models and variables, from the policy table and from the table of the apps. */

import { MODEL_POLICY, type ModelPolicyRow, type ModelPrice, resolveModel } from "@openfunctions/core/wire";
import { HOSTED_PROVIDERS, LOCAL_IDS } from "../../apps/cli/src/lib/providers.ts";

/** The models of one provider, with their sources below. */
export function modelTable(provider: string): string {
  const rows = MODEL_POLICY.filter((row) => row.provider === provider);
  if (rows.length === 0) throw new Error(`The policy table has no model of "${provider}".`);
  const usual = resolveModel({ provider }).model;
  return [
    "| model | roles | context | longest answer | US dollars per million tokens | efforts | figures |",
    "|---|---|---|---|---|---|---|",
    ...rows.map((row) => modelRow(row, row.model === usual)),
    "",
    ...rows.map(sourcesOf),
  ].join("\n");
}

function modelRow(row: ModelPolicyRow, isUsual: boolean): string {
  const cells = [
    `\`${row.model}\`${isUsual ? " (default)" : ""}`,
    row.roles.join(", "),
    row.contextTokens.toLocaleString("en-US"),
    row.maxOutputTokens.toLocaleString("en-US"),
    row.price === undefined ? "not known" : priceOf(row.price),
    row.reasoning === "none"
      ? "none"
      : row.reasoning.levels
          .map((level) => (level === Object(row.reasoning).default ? `**${level}**` : level))
          .join(", "),
    row.confirmed ? "confirmed" : "not confirmed",
  ];
  return `| ${cells.join(" | ")} |`;
}

function priceOf({ input, cacheRead, cacheWrite, output, longContext }: ModelPrice): string {
  const parts = [
    `${input} in`,
    ...(cacheRead === undefined ? [] : [`${cacheRead} cached`]),
    ...(cacheWrite === undefined ? [] : [`${cacheWrite} into the cache`]),
    `${output} out`,
  ];
  if (longContext === undefined) return parts.join(", ");
  const { overTokens, inputFactor, outputFactor } = longContext;
  const over = overTokens.toLocaleString("en-US");
  return `${parts.join(", ")}; over ${over} in: × ${inputFactor} in, × ${outputFactor} out`;
}

function sourcesOf({ model, source, asOf, price }: ModelPolicyRow): string {
  const own =
    price === undefined || source.includes(price.source) ? "" : `; price: ${price.source} (${price.asOf})`;
  return `- \`${model}\`: ${source} (${asOf})${own}`;
}

/** Every provider of the apps, in the order in which their keys are looked for. */
export function providerTable(): string {
  const hosted = HOSTED_PROVIDERS.map(({ id, name, aliases, keys, packageName }) =>
    line([
      `[${name}](${id}.md)`,
      [id, ...aliases].map(code).join(", "),
      keys.map(code).join(", then "),
      code(resolveModel({ provider: id }).model),
      packageLink(packageName),
    ]),
  );
  const local = line([
    "[Local servers](local.md)",
    LOCAL_IDS.map(code).join(", "),
    `none; ${code("LOCAL_API_KEY")} where the server wants one`,
    `${code("LOCAL_MODEL")}, else the server's first`,
    packageLink("@openfunctions/adapter-local"),
  ]);
  const offline = line([
    "[Offline](offline.md)",
    code("offline"),
    "none",
    "no model",
    packageLink("@openfunctions/adapter-local"),
  ]);
  return [
    "| provider | `--provider` | key | default model | package |",
    "|---|---|---|---|---|",
    ...hosted,
    local,
    offline,
  ].join("\n");
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}

function packageLink(name: string): string {
  return `[${code(name)}](../../packages/${name.replace("@openfunctions/", "")}/README.md)`;
}

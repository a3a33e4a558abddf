/** A resolved model as what a codec writes for, and what is said of one that nobody confirmed. */

import type { ModelEvent } from "./adapter.ts";
import type { JsonObject } from "./json.ts";
import { type ResolvedModel, UNKNOWN_ABILITIES } from "./model-policy.ts";
import type { RequestPlan, WireQuirks, WireTarget } from "./wire-request.ts";

/** The target of a request: the row's abilities, or what is assumed without one. */
export function wireTargetOf({ provider, model, row }: ResolvedModel, quirks: WireQuirks): WireTarget {
  const { can = UNKNOWN_ABILITIES, confirmed = false, reasoning = "none" } = row ?? {};
  return { provider, model, can, confirmed, reasoning, quirks };
}

/** The warning about a model without confirmed figures; none for any other. */
export function unconfirmedWarnings({ row, model, policyVersion }: ResolvedModel): readonly ModelEvent[] {
  if (row?.confirmed === true) return [];
  const why =
    row === undefined ? "is not in the policy table" : "has unconfirmed figures in the policy table";
  const detail = `"${model}" ${why} (${policyVersion}): no price, careful assumptions.`;
  return [{ type: "warning", code: "model_unconfirmed", detail }];
}

/** Undoes what a plan's dialect rewrote in the arguments of a tool, by the tool's name. */
export function restorerOf({
  tools,
}: Pick<RequestPlan, "tools">): (name: string, args: JsonObject) => JsonObject {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  return (name, args) => byName.get(name)?.restore(args) ?? args;
}

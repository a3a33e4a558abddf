/** What is particular to xAI's servers, as data with sources. */

import type { WireQuirks } from "@openfunctions/core/wire";

/** docs.x.ai, quickstart. Checked 2026-11-30. */
export const XAI_BASE_URL = "https://api.x.ai/v1";

/**
 * The Responses API of xAI. Checked 2026-11-30.
 *
 * - `dialect`: the tools of docs.x.ai/developers/tools/function-calling have optional properties and defaults and
 *   no `strict`; so schemas travel as they are, with `strict: false`.
 * - `samplingWithReasoning`: the text best practices of docs.x.ai recommend temperature and top_p for its reasoning models.
 * - `stop`: "cannot be used with reasoning models" (docs.x.ai, reasoning), and is no field of this API.
 * - `seed`: no field of this API (docs.x.ai, comparison with chat completions).
 *
 * The same as OpenAI's, so nothing is written here for it: the `include` of encrypted reasoning, which an answer
 * with `store: false` holds as `encrypted_content` of its reasoning item
 * (fixture xai/responses-xai-text-with-reasoning-streaming-store-false.1.chunks.txt); calls that come whole in one
 * chunk (docs.x.ai, function calling). Usage of the Responses API has OpenAI's names, inclusive of reasoning
 * (the same fixture), while xAI's chat completions state it beside the output (fixture xai/xai-text.json); core
 * tells the two apart by their totals. `cost_in_usd_ticks` is the cost, 1e10 to the dollar (docs.x.ai, cost tracking).
 * Efforts belong to models: core's policy table has them.
 */
export const XAI_RESPONSES: WireQuirks = {
  dialect: "openai",
  samplingWithReasoning: true,
  seed: false,
  stop: false,
};

/** Which provider and model answer, and the other fields only OpenRouter has. */

import type { JsonObject } from "@openfunctions/core";
import { defined } from "@openfunctions/core/wire";

/** The most a request may cost, in US dollars: per million tokens, per request and per image. */
export interface OpenRouterPrice {
  readonly prompt?: number;
  readonly completion?: number;
  readonly request?: number;
  readonly image?: number;
}

/**
 * How OpenRouter chooses who answers. Providers are named by their slugs, as in "anthropic". Fields of
 * openrouter.ai/docs/features/provider-routing and of its model fallbacks (2026-11-30; fixture
 * openrouter/test_openrouter_with_native_options).
 */
export interface OpenRouterRouting {
  /** Models that answer where the adapter's own cannot, in this order. */
  readonly models?: readonly string[];
  /** Providers to try first, in this order. */
  readonly order?: readonly string[];
  /** Default true: others may answer where these cannot. */
  readonly allowFallbacks?: boolean;
  /** Only providers that support every parameter of the request. Default false: what one lacks is ignored. */
  readonly requireParameters?: boolean;
  /** "deny": only providers that do not keep what they are sent. Default "allow". */
  readonly dataCollection?: "allow" | "deny";
  /** Only endpoints that retain no data. */
  readonly zdr?: boolean;
  /** Only models whose answers may be used to train others. */
  readonly enforceDistillableText?: boolean;
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  /** Such as "fp8". */
  readonly quantizations?: readonly string[];
  readonly sort?: "price" | "throughput" | "latency";
  readonly maxPrice?: OpenRouterPrice;
}

/**
 * The body with OpenRouter's own fields, behind all that stays the same. `usage.include` asks for the cost; servers
 * of today send it anyway (openrouter.ai/docs, usage accounting, 2026-11-30).
 */
export function toRoutedBody(body: JsonObject, routing: OpenRouterRouting = {}): JsonObject {
  const { reasoning_effort: effort, ...rest } = body;
  const provider = toProvider(routing);
  return {
    ...rest,
    ...(effort === undefined ? {} : { reasoning: { effort } }),
    usage: { include: true },
    ...(routing.models === undefined ? {} : { models: routing.models }),
    ...(Object.keys(provider).length === 0 ? {} : { provider }),
  };
}

function toProvider(routing: OpenRouterRouting): JsonObject {
  const { prompt, completion, request, image } = routing.maxPrice ?? {};
  return defined({
    order: routing.order,
    allow_fallbacks: routing.allowFallbacks,
    require_parameters: routing.requireParameters,
    data_collection: routing.dataCollection,
    zdr: routing.zdr,
    enforce_distillable_text: routing.enforceDistillableText,
    only: routing.only,
    ignore: routing.ignore,
    quantizations: routing.quantizations,
    sort: routing.sort,
    max_price: routing.maxPrice && defined({ prompt, completion, request, image }),
  });
}

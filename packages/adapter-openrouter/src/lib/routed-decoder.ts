/** What OpenRouter adds to the chunks of chat completions. */

import { isPlainObject, type ModelEvent, type Part } from "@openfunctions/core";
import type { DecoderOptions, StreamDecoder } from "@openfunctions/core/wire";
import { ReasoningDetails } from "./reasoning-details.ts";
import { unwrapped } from "./to-error.ts";

/**
 * Decodes one reply through core's decoder. The reasoning details become an opaque part before the calls; an error
 * says what the upstream provider said; a request paid with the user's own key costs what the provider took besides.
 */
export class RoutedDecoder implements StreamDecoder {
  readonly #inner: StreamDecoder;
  readonly #options: DecoderOptions;
  readonly #details = new ReasoningDetails();
  #text = "";

  constructor(inner: StreamDecoder, options: DecoderOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  get finished(): boolean {
    return this.#inner.finished;
  }

  push(event: unknown, out: ModelEvent[]): void {
    const from = out.length;
    if (isPlainObject(event)) this.#gather(event);
    this.#inner.push(isPlainObject(event) ? settled(event) : event, out);
    this.#watch(out, from);
  }

  end(out: ModelEvent[]): void {
    const from = out.length;
    this.#inner.end(out);
    this.#watch(out, from);
  }

  #gather(event: Readonly<Record<string, unknown>>): void {
    const [choice]: readonly unknown[] = Array.isArray(event["choices"]) ? event["choices"] : [];
    if (!isPlainObject(choice)) return;
    const delta = choice["delta"] ?? choice["message"];
    if (isPlainObject(delta)) this.#details.add(delta["reasoning_details"]);
  }

  #watch(out: ModelEvent[], from: number): void {
    const news = out.slice(from);
    for (const event of news) if (event.type === "text_delta") this.#text += event.text;
    if (!this.finished) return;
    const calls = news.flatMap((event): Part[] =>
      event.type === "tool_call"
        ? [{ type: "tool_call", callId: event.callId, name: event.name, args: event.args }]
        : [],
    );
    const { model, failures } = this.#options;
    const turn: Part[] = [{ type: "text", text: this.#text.toWellFormed() }, ...calls];
    const part = this.#details.toPart(turn, { provider: failures.provider, model });
    if (part === undefined) return;
    const place = news.findIndex(({ type }) => type === "tool_call" || type === "usage" || type === "finish");
    out.splice(from + place, 0, { type: "part", part });
  }
}

type Fields = Readonly<Record<string, unknown>>;

function settled(event: Fields): Fields {
  if (isPlainObject(event["error"])) return { ...event, error: unwrapped(event["error"]) };
  const usage = event["usage"];
  if (!isPlainObject(usage) || usage["is_byok"] !== true) return event;
  return { ...event, usage: { ...usage, cost: ownKeyCost(usage) } };
}

/** `cost` is what OpenRouter charges; with the user's own key the provider's charge is beside it (usage accounting, 2026-11-30). */
function ownKeyCost(usage: Fields): unknown {
  const upstream = isPlainObject(usage["cost_details"])
    ? usage["cost_details"]["upstream_inference_cost"]
    : undefined;
  const { cost } = usage;
  // Without the provider's figure OpenRouter's share says nothing; then the price table decides.
  return typeof cost === "number" && typeof upstream === "number" ? cost + upstream : undefined;
}

/** Turns connected providers into one context section, best effort and in time. */

import { type ContextBlock, inTime, isTimeout, type ProviderConnection } from "./context-provider.ts";
import { defined } from "./defined.ts";
import { type Digest, digest } from "./digest.ts";
import { type Logger, silentLogger } from "./logger.ts";
import { fenceData } from "./prompt.ts";

/** Options of `contextBlocks` and `contextPrompt`. Times are milliseconds. */
export interface ContextPromptOptions {
  /** Default 3 000. */
  readonly deadlineMs?: number;
  /** Default 6 000, for all providers together. */
  readonly maxChars?: number;
  /** Default 2 000. */
  readonly perProviderChars?: number;
  readonly now?: Date;
  /** IANA name. Default: the process's own. */
  readonly timeZone?: string;
  readonly task?: string;
  readonly signal?: AbortSignal;
  readonly logger?: Logger;
}

/** What one provider gave, for the record. */
export interface BuiltBlock {
  readonly providerId: string;
  readonly digest: Digest;
  readonly chars: number;
  readonly omitted?: "timeout" | "error" | "empty" | "over_budget";
}

/** The context section's text and its parts. */
export interface BuiltContext {
  readonly text: string;
  readonly blocks: readonly BuiltBlock[];
}

type Answer = { readonly text: string; readonly omitted?: BuiltBlock["omitted"] };

/** All blocks joined by a blank line; `""` if none. */
export async function contextPrompt(
  connected: ProviderConnection | readonly ProviderConnection[],
  options: ContextPromptOptions = {},
): Promise<string> {
  return (await contextBlocks(connected, options)).text;
}

/**
 * Asks all providers side by side under one deadline; the order of the list is kept. A provider that throws, hangs or
 * gives nothing is left out and said so. Never rejects. Remote text is fenced as data.
 */
export async function contextBlocks(
  connected: ProviderConnection | readonly ProviderConnection[],
  options: ContextPromptOptions = {},
): Promise<BuiltContext> {
  const list = [connected].flat();
  const answers = await Promise.all(list.map((connection) => ask(connection, options)));
  let left = options.maxChars ?? 6_000;
  const texts: string[] = [];
  const blocks = answers.map((answer, index): BuiltBlock => {
    const fits = answer.text.length <= left;
    const text = fits ? answer.text : "";
    left -= text.length;
    if (text !== "") texts.push(text);
    return defined({
      providerId: list[index]?.id ?? "",
      digest: digest("context/1", text),
      chars: text.length,
      omitted: answer.omitted ?? (fits ? undefined : "over_budget"),
    });
  });
  return { text: texts.join("\n\n"), blocks };
}

async function ask({ provider, id }: ProviderConnection, options: ContextPromptOptions): Promise<Answer> {
  const { deadlineMs: ms = 3_000, perProviderChars = 2_000, logger = silentLogger, task } = options;
  const { now = new Date(), timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone } = options;
  try {
    const block = await inTime({ ms, signal: options.signal }, async (signal) =>
      provider.buildContext?.(defined({ signal, maxChars: perProviderChars, now, timeZone, task })),
    );
    const text = block === undefined ? "" : renderBlock(block, id, perProviderChars);
    return text === "" ? { text, omitted: "empty" } : { text };
  } catch (cause) {
    const omitted = isTimeout(cause) || options.signal?.aborted === true ? "timeout" : "error";
    logger.warn(`Context of provider "${id}" was left out (${omitted}).`, {
      cause: cause instanceof Error ? cause.name : "unknown",
    });
    return { text: "", omitted };
  }
}

function renderBlock(block: ContextBlock | string, id: string, maxChars: number): string {
  // A provider's plain string is outside text: data, not instructions.
  const given =
    typeof block === "string" ? [{ title: id, text: block, trust: "remote" as const }] : block.sections;
  const sections = given.filter(({ text }) => text.trim() !== "");
  const kept: string[] = [];
  let left = maxChars;
  for (const { title, text, trust = "remote" } of sections) {
    // Cut first and fence then, so that no cut leaves a fence open.
    const part = cut(text, left);
    if (part === "") break;
    kept.push(`## ${title}\n${trust === "owner" ? part : fenceData(part, `remote:${id}`)}`);
    left -= part.length;
  }
  if (kept.length > 0 && kept.length < sections.length) kept.push(`(${sections.length - kept.length} more)`);
  return kept.join("\n\n");
}

/** Cut at a line end, saying how many lines are missing. */
function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const kept = text.slice(0, Math.max(0, text.lastIndexOf("\n", maxChars - 1)));
  const left = text.slice(kept.length).split("\n").length - 1;
  return kept === "" ? "" : `${kept}\n(${left} more)`;
}

/** One provider's health. */
export interface ProviderHealth {
  readonly id: string;
  readonly name: string;
  readonly ok: boolean;
  /** False where the provider has no health check. */
  readonly checked: boolean;
  readonly latencyMs?: number;
  readonly error?: string;
}

/** Asks all providers side by side, one entry each in order. Never rejects. */
export async function checkProviderHealth(
  connected: ProviderConnection | readonly ProviderConnection[],
  { deadlineMs = 5_000 }: { readonly deadlineMs?: number } = {},
): Promise<readonly ProviderHealth[]> {
  return Promise.all([connected].flat().map((connection) => healthOf(connection, deadlineMs)));
}

async function healthOf({ provider, id }: ProviderConnection, ms: number): Promise<ProviderHealth> {
  const { name } = provider.metadata;
  const { healthCheck } = provider;
  if (healthCheck === undefined) return { id, name, ok: true, checked: false };
  const began = performance.now();
  try {
    const health = await inTime({ ms }, (signal) => healthCheck.call(provider, signal));
    return { id, name, checked: true, latencyMs: Math.round(performance.now() - began), ...health };
  } catch (cause) {
    const said = cause instanceof Error ? cause.message : "the check failed";
    return {
      id,
      name,
      ok: false,
      checked: true,
      error: isTimeout(cause) ? `no answer within ${ms} ms` : said,
    };
  }
}

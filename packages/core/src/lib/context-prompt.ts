/** Turns connected providers into one context section, best effort and in time. */

import type { ConnectedProvider, ContextBlock, ProviderConnection } from "./context-provider.ts";
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
  const list = Array.isArray(connected) ? connected : [connected];
  const answers = await Promise.all(list.map((connection: ProviderConnection) => ask(connection, options)));
  let left = options.maxChars ?? 6_000;
  const texts: string[] = [];
  const blocks = answers.map((answer, index): BuiltBlock => {
    const providerId = list[index]?.id ?? "";
    const fits = answer.text.length <= left;
    const text = fits ? answer.text : "";
    left -= text.length;
    if (text !== "") texts.push(text);
    const omitted = answer.omitted ?? (fits ? undefined : "over_budget");
    const facts = { providerId, digest: digest("context/1", text), chars: text.length };
    return omitted === undefined ? facts : { ...facts, omitted };
  });
  return { text: texts.join("\n\n"), blocks };
}

async function ask({ provider, id }: ProviderConnection, options: ContextPromptOptions): Promise<Answer> {
  if (provider.buildContext === undefined) return { text: "", omitted: "empty" };
  const { deadlineMs = 3_000, perProviderChars = 2_000, signal, logger = silentLogger } = options;
  const deadline = AbortSignal.timeout(deadlineMs);
  const both = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  try {
    const block = await untilAborted(build(provider, both, options), both);
    const text = block === undefined ? "" : renderBlock(block, id, perProviderChars);
    return text === "" ? { text, omitted: "empty" } : { text };
  } catch (cause) {
    const omitted = both.aborted ? "timeout" : "error";
    logger.warn(`Context of provider "${id}" was left out (${omitted}).`, {
      cause: cause instanceof Error ? cause.name : "unknown",
    });
    return { text: "", omitted };
  }
}

async function build(
  provider: ConnectedProvider,
  signal: AbortSignal,
  options: ContextPromptOptions,
): Promise<ContextBlock | string | undefined> {
  return provider.buildContext?.({
    signal,
    maxChars: options.perProviderChars ?? 2_000,
    now: options.now ?? new Date(),
    timeZone: options.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...(options.task === undefined ? {} : { task: options.task }),
  });
}

function untilAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    value.then(resolve, reject);
  });
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
  const lines = text.split("\n");
  const kept: string[] = [];
  let used = 0;
  for (const line of lines) {
    if (used + line.length + 1 > maxChars) break;
    kept.push(line);
    used += line.length + 1;
  }
  return kept.length === 0 ? "" : `${kept.join("\n")}\n(${lines.length - kept.length} more)`;
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
  options: { readonly deadlineMs?: number } = {},
): Promise<readonly ProviderHealth[]> {
  const list: readonly ProviderConnection[] = Array.isArray(connected) ? connected : [connected];
  return Promise.all(list.map((connection) => healthOf(connection, options.deadlineMs ?? 5_000)));
}

async function healthOf({ provider, id }: ProviderConnection, deadlineMs: number): Promise<ProviderHealth> {
  const { name } = provider.metadata;
  if (provider.healthCheck === undefined) return { id, name, ok: true, checked: false };
  const began = performance.now();
  const signal = AbortSignal.timeout(deadlineMs);
  try {
    const health = await untilAborted(provider.healthCheck(signal), signal);
    return { id, name, checked: true, latencyMs: Math.round(performance.now() - began), ...health };
  } catch (cause) {
    const error = signal.aborted
      ? `no answer within ${deadlineMs} ms`
      : cause instanceof Error
        ? cause.message
        : "the check failed";
    return { id, name, ok: false, checked: true, error };
  }
}

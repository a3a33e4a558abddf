/** A history in turns, and what a compactor does to the old ones. */

import {
  type ArtifactStore,
  type CompactionRequest,
  type Message,
  type Part,
  partsOf,
  textOf,
  type ToolResultPart,
} from "@openfunctions/core";

/** A turn: one message, or a reply with the results of its calls. Only old ones may be summed up. */
export interface Span {
  readonly kind: "old" | "current" | "pinned";
  /** Where it begins in the history, from 0. */
  readonly from: number;
  readonly messages: readonly Message[];
}

/** What decides which turns are old. */
export interface SplitOptions {
  readonly keepTurns: number;
  readonly isPinned: (message: Message) => boolean;
}

/** Cuts a history into turns. The last ones, the message that is being answered and pinned messages are not old. */
export function splitHistory(
  messages: readonly Message[],
  { keepTurns, isPinned }: SplitOptions,
): readonly Span[] {
  const asked = messages.findLastIndex(({ role, origin }) => role === "user" && origin !== "agent");
  const turns: { from: number; messages: Message[] }[] = [];
  for (const [from, message] of messages.entries()) {
    const last = turns.at(-1);
    if (message.role === "tool" && last !== undefined) last.messages.push(message);
    else turns.push({ from, messages: [message] });
  }
  return turns.map(({ from, messages: held }, index): Span => {
    const isCurrent = index >= turns.length - keepTurns || from === asked;
    return { kind: held.some(isPinned) ? "pinned" : isCurrent ? "current" : "old", from, messages: held };
  });
}

const SHORT_CHARS = 200;
const ATTACHMENT_CHARS = 6_000;

/** Old results and attachments in one line each; undefined where none is longer than that. */
export function shortenResults(spans: readonly Span[]): readonly Message[] | undefined {
  return changeParts(spans, (part, { kind }) => {
    if (kind !== "old") return part;
    if (part.type === "tool_result" && charsOfPart(part) > SHORT_CHARS) {
      const line = `[The result of "${part.name}" was left out: ${charsOfPart(part)} characters.]`;
      return { ...part, result: line };
    }
    if ((part.type !== "image" && part.type !== "file") || part.data === undefined) return part;
    return { type: "text", text: `[An attachment was left out: ${part.mediaType}.]` };
  });
}

/** What keeping long results elsewhere needs. */
export interface OffloadOptions {
  readonly artifacts: ArtifactStore;
  readonly maxResultChars: number;
  readonly request: Pick<CompactionRequest, "owner" | "runId">;
}

/** Results over the limit with head, tail and the id of the whole; undefined where there is none. */
export async function offloadResults(
  spans: readonly Span[],
  { artifacts, maxResultChars, request }: OffloadOptions,
): Promise<readonly Message[] | undefined> {
  const { owner, runId } = request;
  const ids = new Map<string, string>();
  const long = spans
    .filter(({ kind }) => kind !== "pinned")
    .flatMap(({ messages }) => messages.flatMap(partsOf))
    .flatMap((part) => (part.type === "tool_result" && typeof part.result === "string" ? [part.result] : []))
    .filter((text) => text.length > maxResultChars);
  for (const text of long)
    ids.set(text, (await artifacts.put(text, { owner, runId, mediaType: "text/plain" })).id);
  return changeParts(spans, (part, { kind }) => {
    const whole = part.type === "tool_result" && typeof part.result === "string" ? part.result : "";
    const id = kind === "pinned" ? undefined : ids.get(whole);
    if (part.type !== "tool_result" || id === undefined) return part;
    const half = Math.floor(maxResultChars / 4);
    const [head, tail] = [
      whole.slice(0, half).toWellFormed(),
      whole.slice(whole.length - half).toWellFormed(),
    ];
    const note = `[${whole.length - 2 * half} characters left out; the whole is artifact "${id}".]`;
    return { ...part, result: `${head}\n${note}\n${tail}` };
  });
}

/** The characters a model reads of messages; an attachment counts as much as a page of text. */
export function charsOf(messages: readonly Message[]): number {
  return messages.reduce(
    (sum, message) => sum + partsOf(message).reduce((chars, part) => chars + charsOfPart(part), 0),
    0,
  );
}

/** Turns as text, for a model that sums them up. */
export function transcriptOf(spans: readonly Span[]): string {
  return spans
    .flatMap(({ messages }) => messages)
    .flatMap((message) => partsOf(message).flatMap((part) => lineOf(message, part)))
    .join("\n");
}

function lineOf({ role }: Message, part: Part): readonly string[] {
  switch (part.type) {
    case "text":
      return [`${role}: ${part.text}`];
    case "tool_call":
      return [`assistant called ${part.name}: ${JSON.stringify(part.args)}`];
    case "tool_result":
      return [`${part.name} answered: ${textOfResult(part)}`];
    case "image":
    case "file":
      return [`${role} attached: ${part.mediaType}`];
    default:
      return [];
  }
}

function charsOfPart(part: Part): number {
  switch (part.type) {
    case "text":
      return part.text.length;
    case "reasoning":
      return (part.text ?? "").length;
    case "tool_call":
      return part.name.length + JSON.stringify(part.args).length;
    case "tool_result":
      return typeof part.result === "string"
        ? part.result.length
        : part.result.reduce((sum, content) => sum + charsOfPart(content), 0);
    case "provider":
      return JSON.stringify(part.data).length;
    default:
      return ATTACHMENT_CHARS;
  }
}

function textOfResult({ result }: ToolResultPart): string {
  return typeof result === "string" ? result : textOf({ role: "user", content: result });
}

/** The history with each part changed; undefined where all stayed what they were. Unchanged messages keep their identity. */
function changeParts(
  spans: readonly Span[],
  change: (part: Part, span: Span) => Part,
): readonly Message[] | undefined {
  let changed = false;
  const messages = spans.flatMap((span) =>
    span.messages.map((message): Message => {
      const parts = partsOf(message);
      const next = parts.map((part) => change(part, span));
      if (next.every((part, index) => part === parts[index])) return message;
      changed = true;
      return { ...message, content: next };
    }),
  );
  return changed ? messages : undefined;
}

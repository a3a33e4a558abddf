/** The options a recorded run was started with, as far as its loop depends on them. */

import type { ApprovalTicket } from "./approval-store.ts";
import type { ResponseFormat } from "./adapter.ts";
import { defined } from "./defined.ts";
import type { Message } from "./message.ts";
import type { Clock } from "./ports.ts";
import type { ComposedSection } from "./prompt.ts";
import { openLeaf } from "./rebuild-history.ts";
import { ToolRegistry } from "./registry.ts";
import type { AnyRunEvent, RunEvent, RunStart } from "./run-event.ts";
import type { LoopOptions } from "./run-options.ts";
import { TOOLS_SEARCH } from "./run-tools.ts";
import type { ToolDefinition } from "./tool.ts";

/** A clock that stands still; its timers go off when the record says that time was up. */
export class ReplayClock implements Clock {
  readonly #nowMs: number;
  readonly #timers = new Set<{ readonly ms: number; readonly callback: () => void }>();

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  sleep(): Promise<void> {
    return Promise.resolve();
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets the timers of this length go off. */
  expire(ms: number): void {
    for (const timer of this.#timers) if (timer.ms === ms) timer.callback();
  }
}

/** Everything of the options but the ports: adapter, policy and compactor are the replay's own. */
export function recordedOptions(
  { runId, data }: RunEvent<"run.started">,
  events: readonly AnyRunEvent[],
): Omit<LoopOptions, "adapter"> {
  const history =
    data.history === undefined
      ? []
      : (openLeaf(data.history, { seq: 0, leaf: "/data/history" }) as unknown as readonly Message[]); // Proof: sealed as messages
  const composed = events.find((event) => event.type === "prompt.composed");
  const blocks = events.flatMap((event) => (event.type === "context.built" ? [event.data] : []));
  return {
    tools: recordedTools(data.capabilities.definitions?.value),
    messages: [...history, ...inputs(events)],
    known: history.length,
    kind: data.kind,
    actor: data.actor,
    runId,
    lineage: data.lineage,
    principal: data.principal,
    owner: data.owner,
    grants: data.authority.grants.map((grant) => ({ ...grant, grantedBy: data.principal })),
    limits: data.limits,
    capture: data.capture,
    redact: (value) => value, // What is in the record has passed the redactor.
    streamRetries: events.length,
    ...recordedRequest(data),
    ...defined({ model: data.model, verificationPlan: data.verificationPlan }),
    ...(composed === undefined ? {} : { system: sectionsOf(composed) }),
    ...(blocks.length === 0 ? {} : { context: { text: "", blocks } }),
  };
}

/** What every request of a run says besides history and tools. */
export type RequestSettings = Pick<
  LoopOptions,
  "toolChoice" | "parallelToolCalls" | "sampling" | "reasoning" | "maxOutputTokens" | "responseFormat"
>;

/** The settings a recorded run was started with. */
export function recordedRequest({ request = {}, model }: RunStart): RequestSettings {
  const { responseFormat, ...settings } = request;
  const where = { seq: 0, leaf: "/data/request/responseFormat" };
  const format = responseFormat === undefined ? undefined : openLeaf(responseFormat, where);
  return {
    ...settings,
    ...defined({ reasoning: model?.reasoning, sampling: model?.sampling }),
    ...(format === undefined ? {} : { responseFormat: format as unknown as ResponseFormat }), // Proof: sealed as a response format
  };
}

/** The tickets a recorded resumption found answered. */
export function recordedTickets(events: readonly AnyRunEvent[], from: number): readonly ApprovalTicket[] {
  const tickets: ApprovalTicket[] = [];
  for (const event of events.slice(from + 1)) {
    if (event.type !== "approval.resolved") break;
    const { callId, ticketId, decision, by, editedFrom, reason } = event.data;
    tickets.push({
      ticketId,
      callId,
      state: decision,
      resolved: { by, at: event.at },
      ...(editedFrom === undefined ? {} : { editedFrom }),
      ...(reason === undefined ? {} : { reason: openLeaf(reason, { seq: event.seq, leaf: "/data/reason" }) }),
    } as ApprovalTicket); // Proof: a resumption reads no other fields
  }
  return tickets;
}

/** What the run was asked, before its first model call. */
function inputs(events: readonly AnyRunEvent[]): readonly Message[] {
  const end = events.findIndex(
    (event) => event.type === "model.requested" || (event.type.startsWith("run.") && event.seq > 0),
  );
  return events
    .slice(0, end === -1 ? events.length : end)
    .flatMap((event) =>
      event.type === "message.appended"
        ? [openLeaf(event.data.message, { seq: event.seq, leaf: "/data/message" })]
        : [],
    );
}

function sectionsOf({ seq, data }: RunEvent<"prompt.composed">): readonly ComposedSection[] {
  const text = openLeaf(data.text, { seq, leaf: "/data/text" });
  let at = 0;
  return data.sections.map(({ name, chars }) => {
    const section = { name, text: text.slice(at, at + chars) };
    at += chars + "\n\n".length;
    return section;
  });
}

/** The recorded tools. None of them can run. */
function recordedTools(definitions: unknown): ToolRegistry {
  const tools = new ToolRegistry();
  const list = (definitions ?? []) as readonly RecordedTool[]; // Proof: sealed by RunTools.definitions
  for (const { parameters, output, deferred, ...rest } of list) {
    if (rest.name === TOOLS_SEARCH && list.some((tool) => tool.deferred === true)) continue;
    const handler = (): never => {
      throw new Error(`"${rest.name}" was called in a replay.`);
    };
    const tool = {
      ...rest,
      inputSchema: parameters,
      handler,
      ...(output === undefined ? {} : { outputSchema: output }),
    };
    tools.register(tool, { deferred: deferred === true });
  }
  return tools;
}

interface RecordedTool extends Omit<ToolDefinition, "inputSchema" | "outputSchema" | "handler"> {
  readonly parameters: ToolDefinition["inputSchema"];
  readonly output?: ToolDefinition["inputSchema"];
  readonly deferred?: boolean;
}

/** The spans of one run: its own, one per model call, one per tool call, each opened and closed by events. */

import {
  type Attributes,
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { type AnyRunEvent, type EventData, type RunEvent, RunFold, type RunStart } from "@openfunctions/core";
import { CONTENT, ERROR_TYPE, GEN_AI, OPERATION, OWN } from "./semantic-names.ts";
import { endAttributes, modelAttributes, startAttributes, usageAttributes } from "./span-attributes.ts";
import { argumentsText, keyParameters, messagesText } from "./span-content.ts";

/** What the spans of a run need besides its events. */
export interface SpanSettings {
  readonly tracer: Tracer;
  readonly content: boolean;
  /** The context that the run's span hangs below. */
  readonly parent: Context;
}

type RunEnd = Extract<
  AnyRunEvent,
  { readonly type: "run.completed" | "run.limit_reached" | "run.failed" | "run.cancelled" }
>;

/** Spans of one run, from its start (or, in another process, its resumption) to its end. */
export class RunSpans {
  readonly #settings: SpanSettings;
  readonly #runId: string;
  /** Undefined where this process did not see the start. */
  readonly #start: RunStart | undefined;
  readonly #fold: RunFold | undefined;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #tools = new Map<
    string,
    { readonly request: EventData["tool.requested"]; readonly at: string; span?: Span }
  >();
  readonly #callOfChild = new Map<string, string>();
  #own: Span | undefined;
  #context: Context;
  #model: Span | undefined;
  #retries = 0;

  constructor(first: RunEvent<"run.started"> | RunEvent<"run.resumed">, settings: SpanSettings) {
    this.#settings = settings;
    this.#runId = first.runId;
    this.#context = settings.parent;
    this.#start = first.type === "run.started" ? first.data : undefined;
    this.#fold = this.#start === undefined ? undefined : new RunFold();
    this.#keys = this.#start === undefined ? new Map() : keyParameters(this.#start);
    this.#open(first, first.type === "run.resumed");
  }

  /** Where a run below this one hangs: below the call that started it, where that is known. */
  contextOf(childRunId: string): Context {
    const span = this.#tools.get(this.#callOfChild.get(childRunId) ?? "")?.span;
    return span === undefined ? this.#context : trace.setSpan(this.#context, span);
  }

  /** Takes the next event. True once the run has ended. */
  apply(event: AnyRunEvent): boolean {
    this.#fold?.apply(event);
    switch (event.type) {
      case "run.completed":
      case "run.limit_reached":
      case "run.failed":
      case "run.cancelled":
        this.#end(event);
        return true;
      case "run.suspended":
        this.#closeAll(event.at, { [OWN.runStatus]: "suspended", [OWN.stopReason]: event.data.stopReason });
        return false;
      case "run.resumed":
        if (this.#own === undefined) this.#open(event, true);
        return false;
      case "prompt.composed":
        this.#setContent(this.#own, CONTENT.systemInstructions, event.data.text.value);
        return false;
      case "message.appended":
        return this.#applyMessage(event.data);
      case "child.started":
        this.#callOfChild.set(event.data.childRunId, event.data.callId ?? "");
        return false;
      default:
        this.#applyModel(event);
        this.#applyTool(event);
        return false;
    }
  }

  /** Ends what is open, for a run whose end will not be seen. */
  abandon(at: string): void {
    this.#closeAll(at, { [OWN.abandoned]: true });
  }

  /** A direct call is its one tool span; every other run has a span of its own. */
  #open({ at }: { readonly at: string }, resumed: boolean): void {
    const start = this.#start;
    if (start?.kind === "call") return;
    const isFlow = start?.kind === "workflow" || start?.kind === "crew";
    const operation = isFlow ? OPERATION.workflow : OPERATION.agent;
    const name = start === undefined ? operation : `${operation} ${start.actor.name}`;
    this.#own = this.#settings.tracer.startSpan(
      name,
      {
        kind: SpanKind.INTERNAL,
        startTime: new Date(at),
        attributes: {
          [GEN_AI.operationName]: operation,
          [OWN.runId]: this.#runId,
          ...(resumed ? { [OWN.resumed]: true } : {}),
          ...(start === undefined ? {} : startAttributes(start, isFlow)),
        },
      },
      this.#settings.parent,
    );
    this.#context = trace.setSpan(this.#settings.parent, this.#own);
  }

  #end(event: RunEnd): void {
    const { stopReason } = event.data;
    const status = event.type.slice("run.".length);
    if (event.type === "run.failed") {
      this.#own?.setAttribute(ERROR_TYPE, event.data.error.code);
      this.#own?.setStatus(failed(this.#settings.content ? event.data.error.message.value : undefined));
    }
    if (event.type === "run.completed" && event.data.output.value !== undefined) {
      const message = { role: "assistant" as const, content: event.data.output.value };
      this.#setContent(this.#own, CONTENT.outputMessages, messagesText(message, this.#keys));
    }
    const record = this.#fold?.record();
    this.#closeAll(event.at, {
      [OWN.runStatus]: status,
      [OWN.stopReason]: stopReason,
      ...(record === undefined ? {} : endAttributes(record)),
    });
  }

  #closeAll(at: string, attributes: Attributes): void {
    const end = new Date(at);
    this.#model?.end(end);
    this.#model = undefined;
    for (const [callId, { span }] of this.#tools) {
      // A call that waits for approval has not begun; its span comes when it does.
      if (span === undefined) continue;
      span.setAttribute(OWN.toolOutcome, "unknown").end(end);
      this.#tools.delete(callId);
    }
    this.#own?.setAttributes(attributes).end(end);
    this.#own = undefined;
  }

  #applyMessage({ role, message }: EventData["message.appended"]): false {
    if (role === "user" && message.value !== undefined)
      this.#setContent(this.#own, CONTENT.inputMessages, messagesText(message.value, this.#keys));
    return false;
  }

  #applyModel(event: AnyRunEvent): void {
    if (event.type === "model.requested") {
      this.#retries = 0;
      this.#model = this.#startModel(event.at);
    } else if (event.type === "model.retried") {
      this.#retries += 1;
      const { attempt, reason, delayMs } = event.data;
      this.#model?.addEvent(OWN.modelRetry, { attempt, reason, delay_ms: delayMs }, new Date(event.at));
    } else if (event.type === "model.fallback") {
      const { from, to, reason } = event.data;
      this.#model?.addEvent(OWN.modelFallback, { from, to, reason }, new Date(event.at));
    } else if (event.type === "model.responded") {
      this.#endModel(event);
    } else if (event.type === "model.failed") {
      const { code, message } = event.data.error;
      this.#model?.setAttribute(ERROR_TYPE, code);
      this.#model?.setStatus(failed(this.#settings.content ? message.value : undefined));
      this.#model?.end(new Date(event.at));
      this.#model = undefined;
    }
  }

  #startModel(at: string): Span {
    const model = this.#start?.model;
    return this.#settings.tracer.startSpan(
      model === undefined ? OPERATION.chat : `${OPERATION.chat} ${model.requested}`,
      {
        kind: SpanKind.CLIENT,
        startTime: new Date(at),
        attributes: {
          [GEN_AI.operationName]: OPERATION.chat,
          [OWN.runId]: this.#runId,
          ...(this.#start === undefined ? {} : modelAttributes(this.#start)),
        },
      },
      this.#context,
    );
  }

  #endModel({ data, at }: RunEvent<"model.responded">): void {
    const span = this.#model;
    if (span === undefined) return;
    span.setAttributes({
      [GEN_AI.finishReasons]: [data.finishReason],
      ...usageAttributes(data.usage),
      ...(data.reportedModel === undefined ? {} : { [GEN_AI.responseModel]: data.reportedModel }),
      ...(data.responseId === undefined ? {} : { [GEN_AI.responseId]: data.responseId }),
      ...(this.#retries === 0 ? {} : { [OWN.retries]: this.#retries }),
    });
    if (data.reply.value !== undefined) {
      const message = { role: "assistant" as const, content: data.reply.value };
      this.#setContent(span, CONTENT.outputMessages, messagesText(message, this.#keys));
    }
    span.end(new Date(at));
    this.#model = undefined;
  }

  #applyTool(event: AnyRunEvent): void {
    switch (event.type) {
      case "tool.requested":
        this.#tools.set(event.data.callId, { request: event.data, at: event.at });
        return;
      case "tool.started":
        return this.#startTool(event);
      case "tool.refused":
        return this.#endTool(event, { ...event.data, outcome: "not_started" });
      case "tool.finished":
      case "tool.replayed":
        return this.#endTool(event, event.data);
      case "tool.reconciled":
        this.#own?.addEvent(
          OWN.toolReconciled,
          { [GEN_AI.toolCallId]: event.data.callId, [OWN.toolOutcome]: event.data.outcome },
          new Date(event.at),
        );
    }
  }

  #startTool({ data, at }: RunEvent<"tool.started">): void {
    const call = this.#tools.get(data.callId);
    if (call !== undefined) call.span = this.#toolSpan(call.request, at);
  }

  /** A call that never ran has a span too, from when it was asked for: it says why. */
  #endTool(
    event: RunEvent<"tool.refused"> | RunEvent<"tool.finished"> | RunEvent<"tool.replayed">,
    end: Pick<EventData["tool.finished"], "callId" | "outcome" | "code" | "result">,
  ): void {
    const call = this.#tools.get(end.callId);
    if (call === undefined) return;
    this.#tools.delete(end.callId);
    const span = call.span ?? this.#toolSpan(call.request, call.at);
    const { outcome, code } = end;
    span.setAttribute(OWN.toolOutcome, outcome);
    if (event.type === "tool.replayed") span.setAttribute(OWN.toolReplayed, true);
    if (code !== undefined) span.setAttribute(ERROR_TYPE, code);
    if (outcome === "failed" && code !== "cancelled") span.setStatus(failed());
    if (end.result.value !== undefined)
      this.#setContent(span, CONTENT.toolResult, JSON.stringify(end.result.value));
    span.end(new Date(event.at));
  }

  #toolSpan(request: EventData["tool.requested"], at: string): Span {
    const { toolName, callId, toolDigest, args } = request;
    // A name that no tool has is text of the model's own.
    const isKnown = toolDigest !== undefined;
    const span = this.#settings.tracer.startSpan(
      isKnown ? `${OPERATION.tool} ${toolName}` : OPERATION.tool,
      {
        kind: SpanKind.INTERNAL,
        startTime: new Date(at),
        attributes: {
          [GEN_AI.operationName]: OPERATION.tool,
          ...(isKnown || this.#settings.content ? { [GEN_AI.toolName]: toolName } : {}),
          [GEN_AI.toolCallId]: callId,
          [GEN_AI.toolType]: "function",
          [OWN.runId]: this.#runId,
          ...(toolDigest === undefined ? {} : { [OWN.toolDigest]: toolDigest }),
        },
      },
      this.#context,
    );
    if (args.value !== undefined)
      this.#setContent(span, CONTENT.toolArguments, argumentsText(args.value, this.#keys.get(toolName)));
    return span;
  }

  #setContent(span: Span | undefined, name: string, value: string | undefined): void {
    if (this.#settings.content && value !== undefined) span?.setAttribute(name, value);
  }
}

function failed(message?: string): { readonly code: SpanStatusCode; readonly message?: string } {
  return { code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) };
}

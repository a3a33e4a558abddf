/** The open phase's facts: context, instructions, and what the record says of a run's start. */

import { hostname } from "node:os";
import { defined } from "./defined.ts";
import { type Digest, digest } from "./digest.ts";
import { ConfigError } from "./errors.ts";
import type { Json } from "./json.ts";
import { createPorts } from "./ports.ts";
import { LOCAL_PROGRAM } from "./principal.ts";
import { type ComposedSection, joinSections, sectionDigests } from "./prompt.ts";
import { type RunContext, childContext } from "./run-context.ts";
import { DEFAULT_LIMITS } from "./run-limits.ts";
import type { RunStart } from "./run-event.ts";
import type { RunLog } from "./run-log.ts";
import type { LoopOptions } from "./run-options.ts";
import type { RunTools } from "./run-tools.ts";
import { FRAMEWORK_VERSION } from "./version.ts";

const MAX_DEPTH = 5;

/** The run's own context; a child's comes from its parent and only shrinks. */
export function createRunContext(options: LoopOptions, signal: AbortSignal): RunContext {
  const { parent } = options;
  if (parent !== undefined) {
    if (parent.depth >= MAX_DEPTH) {
      throw new ConfigError(`A run may start runs at most ${MAX_DEPTH} levels deep.`, {
        code: "invalid_config",
      });
    }
    const runId = options.runId === undefined ? {} : { runId: options.runId };
    // The parent's signal reaches the run through `watch`, which also notes why it stopped.
    return { ...childContext(parent, { ...runId, limits: options.limits ?? {} }), signal };
  }
  const ports = createPorts(options.ports);
  const runId = options.runId ?? ports.ids();
  return {
    runId,
    rootRunId: options.lineage?.rootRunId ?? runId,
    correlationId: options.lineage?.correlationId ?? runId,
    ...(options.lineage?.threadId === undefined ? {} : { threadId: options.lineage.threadId }),
    ...(options.lineage?.taskId === undefined ? {} : { taskId: options.lineage.taskId }),
    depth: 0,
    ancestors: [],
    principal: options.principal ?? LOCAL_PROGRAM,
    owner: options.owner ?? "local",
    grants: options.grants ?? [],
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    signal,
    ports,
  };
}

/** The instructions as one text, with the digests the record keeps. */
export function composeInstructions({ system, context }: Pick<LoopOptions, "system" | "context">): {
  readonly text: string;
  readonly digest: Digest;
  readonly sections: ReturnType<typeof sectionDigests>;
} {
  const own: readonly ComposedSection[] =
    typeof system === "string" ? (system === "" ? [] : [{ name: "text", text: system }]) : (system ?? []);
  const text = context === undefined || context.text === "" ? "" : `<context>\n${context.text}\n</context>`;
  const sections = text === "" ? own : [...own, { name: "context", text }];
  const joined = joinSections(sections);
  return { text: joined, digest: digest("instructions/1", joined), sections: sectionDigests(sections) };
}

/** The data of `run.started`. */
export function describeStart(
  options: LoopOptions,
  run: { readonly context: RunContext; readonly tools: RunTools; readonly log: RunLog },
): RunStart {
  const { context, tools, log } = run;
  const { adapter, lineage, parent, signer, capture = "digest" } = options;
  const { reasoning, sampling } = options;
  return {
    kind: options.kind ?? "agent",
    lineage: {
      ...lineage,
      ...(parent === undefined ? {} : { parentRunId: parent.runId }),
      rootRunId: context.rootRunId,
      correlationId: context.correlationId,
      attempt: lineage?.attempt ?? 1,
      depth: context.depth,
    },
    actor: options.actor ?? { name: "agent" },
    principal: context.principal,
    owner: context.owner,
    model: {
      provider: adapter.provider,
      requested: adapter.model,
      resolvedBy: "injected",
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(sampling === undefined ? {} : { sampling }),
      ...options.model,
    },
    capabilities: {
      digest: tools.view.digest(),
      tools: tools.summaries(),
      ...(capture === "full" ? { definitions: log.seal<Json>(tools.definitions() as never) } : {}), // Proof: schemas and contracts are JSON
    },
    authority: {
      grants: context.grants.map(({ ref, scopes, expiresAt }) => ({
        ref,
        scopes,
        ...(expiresAt === undefined ? {} : { expiresAt }),
      })),
      waivers: tools.waivers(),
    },
    ...(options.verificationPlan === undefined ? {} : { verificationPlan: options.verificationPlan }),
    limits: context.limits,
    ...describeRequest(options, log),
    environment: describeEnvironment(),
    capture,
    sealed: signer === undefined ? false : { keyId: signer.keyId },
  };
}

/** Which program writes a log. */
export function describeEnvironment(): RunStart["environment"] {
  return {
    runtime: `node ${process.versions.node}`,
    frameworkVersion: FRAMEWORK_VERSION,
    process: { pid: process.pid, host: hostDigest() },
  };
}

const HOSTS = new Map<"this", Digest>(); // a cache: a machine does not change its name under a running program

/** This machine, so that it can be told from others without being named. */
export function hostDigest(): Digest {
  const known = HOSTS.get("this") ?? digest("host/1", hostname());
  HOSTS.set("this", known);
  return known;
}

/** What the run's requests hold besides what other events say; a record replays from it. */
function describeRequest(options: LoopOptions, log: RunLog): Pick<RunStart, "history" | "request"> {
  const { toolChoice, parallelToolCalls, maxOutputTokens, responseFormat, messages } = options;
  const before = messages.slice(0, knownMessages(options));
  const request = defined({
    toolChoice,
    parallelToolCalls,
    maxOutputTokens,
    responseFormat:
      responseFormat === undefined ? undefined : log.seal<Json>(responseFormat as unknown as Json), // Proof: a response format is JSON
  });
  return {
    ...(before.length === 0 ? {} : { history: log.seal<Json>(before as unknown as Json) }), // Proof: messages are JSON
    ...(Object.keys(request).length === 0 ? {} : { request }),
  };
}

/** How many of the given messages were there before this run. */
export function knownMessages({ known, messages }: LoopOptions): number {
  return known ?? Math.max(0, messages.length - 1);
}

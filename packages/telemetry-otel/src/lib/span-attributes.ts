/** Span attributes out of what the log says. */

import type { Attributes } from "@opentelemetry/api";
import type { RunRecord, RunStart, Usage } from "@openfunctions/core";
import { GEN_AI, OWN, providerName } from "./semantic-names.ts";

/** What is known of a run when it starts. */
export function startAttributes(start: RunStart, isFlow: boolean): Attributes {
  const { lineage, actor, kind } = start;
  return {
    [isFlow ? GEN_AI.workflowName : GEN_AI.agentName]: actor.name,
    ...(isFlow || actor.version === undefined ? {} : { [GEN_AI.agentVersion]: actor.version }),
    [OWN.runKind]: kind,
    [OWN.attempt]: lineage.attempt,
    [OWN.capabilities]: start.capabilities.digest,
    ...(lineage.threadId === undefined ? {} : { [GEN_AI.conversationId]: lineage.threadId }),
    ...(lineage.parentRunId === undefined ? {} : { [OWN.parentId]: lineage.parentRunId }),
    ...(isFlow ? {} : modelAttributes(start)),
  };
}

/** The model asked for, and how. */
export function modelAttributes({ model }: RunStart): Attributes {
  if (model === undefined) return {};
  const { temperature, topP, seed, stop } = model.sampling ?? {};
  return {
    [GEN_AI.providerName]: providerName(model.provider),
    [GEN_AI.requestModel]: model.requested,
    ...(temperature === undefined ? {} : { [GEN_AI.requestTemperature]: temperature }),
    ...(topP === undefined ? {} : { [GEN_AI.requestTopP]: topP }),
    ...(seed === undefined ? {} : { [GEN_AI.requestSeed]: seed }),
    ...(stop === undefined ? {} : { [GEN_AI.requestStop]: [...stop] }),
  };
}

/** Tokens. The conventions count cached tokens as input and reasoning as output; ours are disjoint. */
export function usageAttributes(usage: Usage): Attributes {
  return {
    [GEN_AI.inputTokens]: usage.input + usage.cacheRead + usage.cacheWrite,
    [GEN_AI.outputTokens]: usage.output + usage.reasoning,
    [GEN_AI.cacheReadTokens]: usage.cacheRead,
    [GEN_AI.cacheWriteTokens]: usage.cacheWrite,
    [GEN_AI.reasoningTokens]: usage.reasoning,
  };
}

/** What is known of a run once it has ended. */
export function endAttributes(record: RunRecord): Attributes {
  const { usage, effects, instructions, modelCalls } = record;
  return {
    [OWN.effects]: effects.summary,
    [OWN.certainty]: effects.certainty,
    ...(modelCalls.length === 0
      ? {}
      : {
          ...usageAttributes(usage),
          [GEN_AI.finishReasons]: modelCalls.slice(-1).map((call) => call.finishReason),
        }),
    ...(usage.costUsd === undefined ? {} : { [OWN.costUsd]: usage.costUsd }),
    ...(instructions === undefined ? {} : { [OWN.instructions]: instructions.digest }),
  };
}

/** Every span, event and attribute name we write, in one place, with the revision that they are taken from. */

/** The revision of the semantic conventions (GenAI part, in development there) that the `gen_ai` names are pinned to. */
export const SEMANTIC_CONVENTIONS_REVISION = "1.45.0";

/** Values of `gen_ai.operation.name`; span names begin with them. */
export const OPERATION = {
  agent: "invoke_agent",
  workflow: "invoke_workflow",
  chat: "chat",
  tool: "execute_tool",
} as const;

/** Attributes of the conventions. */
export const GEN_AI = {
  operationName: "gen_ai.operation.name",
  providerName: "gen_ai.provider.name",
  agentName: "gen_ai.agent.name",
  agentVersion: "gen_ai.agent.version",
  workflowName: "gen_ai.workflow.name",
  conversationId: "gen_ai.conversation.id",
  requestModel: "gen_ai.request.model",
  requestTemperature: "gen_ai.request.temperature",
  requestTopP: "gen_ai.request.top_p",
  requestSeed: "gen_ai.request.seed",
  requestStop: "gen_ai.request.stop_sequences",
  responseModel: "gen_ai.response.model",
  responseId: "gen_ai.response.id",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  toolName: "gen_ai.tool.name",
  toolCallId: "gen_ai.tool.call.id",
  toolType: "gen_ai.tool.type",
  evaluationName: "gen_ai.evaluation.name",
  evaluationLabel: "gen_ai.evaluation.score.label",
  evaluationScore: "gen_ai.evaluation.score.value",
} as const;

/** Attributes of the conventions that carry content; written only where content was asked for. */
export const CONTENT = {
  systemInstructions: "gen_ai.system_instructions",
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
} as const;

/** The name of an error, as the conventions have it for every kind of span. */
export const ERROR_TYPE = "error.type";

/** The event of a verification. */
export const EVALUATION_EVENT = "gen_ai.evaluation.result";

/** Attributes and span events of our own. */
export const OWN = {
  runId: "openfunctions.run.id",
  runKind: "openfunctions.run.kind",
  runStatus: "openfunctions.run.status",
  stopReason: "openfunctions.run.stop_reason",
  attempt: "openfunctions.run.attempt",
  parentId: "openfunctions.run.parent_id",
  resumed: "openfunctions.run.resumed",
  costUsd: "openfunctions.run.cost_usd",
  instructions: "openfunctions.instructions.digest",
  capabilities: "openfunctions.capabilities.digest",
  effects: "openfunctions.effects.summary",
  certainty: "openfunctions.effects.certainty",
  toolOutcome: "openfunctions.tool.outcome",
  toolDigest: "openfunctions.tool.digest",
  toolReplayed: "openfunctions.tool.replayed",
  retries: "openfunctions.model.retries",
  modelRetry: "openfunctions.model.retry",
  modelFallback: "openfunctions.model.fallback",
  toolReconciled: "openfunctions.tool.reconciled",
  abandoned: "openfunctions.telemetry.abandoned",
  claimId: "openfunctions.claim.id",
  attemptId: "openfunctions.verification.attempt_id",
  independent: "openfunctions.verification.independent",
} as const;

/** Providers whose name in the conventions differs from ours. */
const PROVIDERS: Readonly<Record<string, string>> = { gemini: "gcp.gemini", xai: "x_ai" };

/** The provider as the conventions name it. */
export function providerName(provider: string): string {
  return PROVIDERS[provider] ?? provider;
}

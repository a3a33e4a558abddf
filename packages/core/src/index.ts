export {
  type AIAdapter,
  type FinishReason,
  type ModelCapabilities,
  type ModelEvent,
  type ModelReply,
  type ModelRequest,
  type ModelTool,
  type ReasoningEffort,
  type ResponseFormat,
  type Sampling,
  type ToolCall,
  type ToolChoice,
  type Usage,
  NO_USAGE,
  addUsage,
} from "./lib/adapter.ts";
export {
  type ArtifactInfo,
  type ArtifactStore,
  createMemoryArtifactStore,
  createReadArtifactTool,
} from "./lib/artifact.ts";
export {
  type ApprovalStore,
  type ApprovalStoreOptions,
  type ApprovalTicket,
  type TicketAnswer,
  type TicketCall,
  type TicketState,
  createApprovalStore,
} from "./lib/approval-store.ts";
export { resolveApproval } from "./lib/resolve-approval.ts";
export type { PolicyDecision, PolicyPort, PolicyRequest } from "./lib/authority.ts";
export type { CallContext, CallLimits, CallScope } from "./lib/call-context.ts";
export { collect } from "./lib/collect.ts";
export { type AdapterDefinition, defineAdapter } from "./lib/define-adapter.ts";
export {
  type BuiltBlock,
  type BuiltContext,
  type ContextPromptOptions,
  type ProviderHealth,
  checkProviderHealth,
  contextBlocks,
  contextPrompt,
} from "./lib/context-prompt.ts";
export {
  type ConnectProviderOptions,
  type ConnectedProvider,
  type ContextBlock,
  type ContextProvider,
  type ContextRequest,
  type ProviderCapability,
  type ProviderConfig,
  type ProviderConnectOptions,
  type ProviderConnection,
  type ProviderMetadata,
  connectProvider,
} from "./lib/context-provider.ts";
export {
  type AuthorityLevel,
  type CapabilityContract,
  type ContractShorthand,
  type EffectKind,
  type IdempotencyMode,
  type NormalContract,
  type UndoKind,
  type VerificationKind,
} from "./lib/contract.ts";
export { copyStore } from "./lib/copy-store.ts";
export { type CompiledSchema, type Loss, compileSchema } from "./lib/dialect.ts";
export { type SchemaDialect, SCHEMA_DIALECTS } from "./lib/dialect-rules.ts";
export { type Digest, digest } from "./lib/digest.ts";
export {
  type EffectEntry,
  type EffectIntent,
  type EffectLedger,
  type EffectLedgerOptions,
  type EffectStart,
  type ReconcileDecision,
  createEffectLedger,
} from "./lib/effect-ledger.ts";
export {
  ApprovalError,
  ConfigError,
  ContextProviderError,
  ContractError,
  DefinitionError,
  type ErrorCode,
  type ErrorOptions,
  type Fault,
  HistoryError,
  InputError,
  OpenFunctionsError,
  ProtocolError,
  ProviderError,
  type ProviderErrorKind,
  type ProviderErrorOptions,
  RecordError,
  RegistryError,
  StoreError,
} from "./lib/errors.ts";
export { type FileRunStoreOptions, createFileRunStore } from "./lib/file-run-store.ts";
export { type CallGate, createGate } from "./lib/gate.ts";
export {
  type HistoryRepair,
  type LintOptions,
  type LintedHistory,
  type RecordedCall,
  lintHistory,
} from "./lib/history-linter.ts";
export { type JsonFileStoreOptions, createStore } from "./lib/json-file-store.ts";
export { type Json, type JsonObject, canonicalJson, isPlainObject } from "./lib/json.ts";
export { type Logger, silentLogger } from "./lib/logger.ts";
export {
  type ContentPart,
  type FilePart,
  type ImagePart,
  type Message,
  type Origin,
  type Part,
  type ProviderPart,
  type ReasoningPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  partsOf,
  textOf,
  toolCallsOf,
  toolResultsOf,
  userMessage,
} from "./lib/message.ts";
export { describeTool, resultText } from "./lib/model-content.ts";
export { type Clock, type Ports, type UserQuestion, createPorts } from "./lib/ports.ts";
export type { Grant, Principal } from "./lib/principal.ts";
export {
  type ComposedSection,
  type PromptSections,
  autoToolGuide,
  composePrompt,
  composeSections,
  fenceData,
  fillPlaceholders,
  loadPromptPreset,
} from "./lib/prompt.ts";
export { type KeepReason, type PruneOptions, type PruneReport, pruneRuns } from "./lib/prune-runs.ts";
export { type PromptSource, resolvePrompt } from "./lib/resolve-prompt.ts";
export { type Redactor, createRedactor } from "./lib/redactor.ts";
export {
  type AnyToolDefinition,
  type ConflictPolicy,
  type RegisterOptions,
  type Registration,
  type RegistryEvents,
  type RegistryOptions,
  ToolRegistry,
} from "./lib/registry.ts";
export {
  type CallResult,
  type FailureResult,
  type ModelContent,
  type Outcome,
  type SuccessResult,
  type ToolResult,
  err,
  ok,
} from "./lib/result.ts";
export { type RunCallOptions, runCall } from "./lib/run-call.ts";
export type { ChildRun, RunContext } from "./lib/run-context.ts";
export { DEFAULT_LIMITS, type RunLimits } from "./lib/run-limits.ts";
export {
  type AnyRunEvent,
  type CallAuthority,
  type ChainType,
  type EventData,
  type Lineage,
  type LiveEvent,
  type PendingCall,
  type PlanReference,
  type RecordedError,
  type RunEvent,
  type RunKind,
  type RunModel,
  type RunStart,
  type StopReason,
  type ToolSummary,
  isChainEvent,
} from "./lib/run-event.ts";
export { RunFold, foldRun } from "./lib/run-fold.ts";
export { type ResumeOptions, resumeRun } from "./lib/resume-run.ts";
export { type RecoverOptions, type Recovery, recoverRuns } from "./lib/recover-runs.ts";
export type { Compaction, CompactionRequest, Compactor } from "./lib/loop-compaction.ts";
export { runLoop } from "./lib/run-loop.ts";
export type { LoopOptions, LoopResult, LoopRun, ReplyPolicy, ReplyVerdict } from "./lib/run-options.ts";
export type { ModelCallRecord, RunEffects, RunRecord, RunStatus, ToolCallRecord } from "./lib/run-record.ts";
export {
  type AppendOptions,
  type RunPage,
  type RunQuery,
  type RunStore,
  createMemoryRunStore,
} from "./lib/run-store.ts";
export {
  type InferOutput,
  type InferSchema,
  type JsonSchema,
  type JsonSchemaObject,
  type JsonTypeName,
  type StandardSchema,
  type ToolSchema,
} from "./lib/schema.ts";
export type { Capture, Redact, Sealed } from "./lib/sealed.ts";
export {
  type Store,
  type StoreChange,
  type StorePage,
  type StoreQuery,
  createMemoryStore,
} from "./lib/store.ts";
export { type StructuredOptions, StructuredOutputError, generateStructured } from "./lib/structured.ts";
export {
  type ReconcileContext,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolExample,
  type ToolTest,
  defineTool,
  isTool,
} from "./lib/tool.ts";
export {
  type ToolTestFailure,
  type ToolTestReport,
  type ToolTestOptions,
  runToolTests,
} from "./lib/tool-tests.ts";
export type { AnthropicTool, GeminiTool, OpenAITool, ToolFilter, ToolView } from "./lib/tool-view.ts";
export { type FallbackOptions, withFallback } from "./lib/with-fallback.ts";

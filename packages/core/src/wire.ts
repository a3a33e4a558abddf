/** What adapters share: readers of wire JSON, the OpenAI-shaped codecs, the request helper. For adapter authors. */

export {
  type ChatBodyOptions,
  type ChatQuirks,
  type ChatTarget,
  type OpaqueFields,
} from "./lib/chat-request.ts";
export { defined } from "./lib/defined.ts";
export { compileSchema } from "./lib/dialect.ts";
export {
  cutError,
  type FailureReading,
  failureReading,
  type HeaderReader,
  providerErrorFromEvent,
  providerErrorFromHttp,
} from "./lib/http-failure.ts";
export {
  type ModelCall,
  REQUEST_LIMITS,
  type RequestLimits,
  sdkTimeoutMs,
  type StreamDecoder,
} from "./lib/model-call.ts";
export {
  MODEL_POLICY,
  type ModelAbilities,
  type ModelPolicyRow,
  type ModelPrice,
  type ModelRole,
  type ReasoningLevels,
  UNKNOWN_ABILITIES,
} from "./lib/model-policy.ts";
export { isJsonObject } from "./lib/json.ts";
export { createRedactor, type Redactor, type RedactorOptions } from "./lib/redactor.ts";
export {
  chatCodec,
  type CodedCall,
  codedCall,
  createSdkAdapter,
  lazily,
  modelTargetOf,
  type ModelTarget,
  responsesCodec,
  type SdkAdapterOptions,
  type SdkCall,
  type SdkCallOptions,
  type SdkClientOptions,
  type SdkEndpoint,
  type SdkProvider,
  sdkSource,
  type WireCodec,
} from "./lib/openai-shaped.ts";
export { requestWithRetry, type RequestOptions } from "./lib/request-with-retry.ts";
export { partnerDigest } from "./lib/responses-marks.ts";
export { type EncodedRequest, leftOutWarnings } from "./lib/responses-request.ts";
export {
  capabilitiesOf,
  type ModelQuery,
  type ResolvedModel,
  resolveModel,
  unconfirmedModel,
} from "./lib/resolve-model.ts";
export { type DecoderOptions, startEvent } from "./lib/responses-stream.ts";
export { providerErrorFromSdk } from "./lib/sdk-failure.ts";
export { parseToolArguments, type ToolArguments } from "./lib/tool-arguments.ts";
export { usageEvent } from "./lib/usage-fields.ts";
export {
  asJson,
  callIdOf,
  countAt,
  entryOf,
  isRecord,
  listAt,
  recordAt,
  stringAt,
  wireName,
  type WireRecord,
} from "./lib/wire-fields.ts";
export {
  isContent,
  isOwnPart,
  type PlannedTool,
  planRequest,
  type RequestPlan,
  restoreArgumentsOf,
  type WireQuirks,
  type WireTarget,
} from "./lib/wire-request.ts";
export type { SseEvent } from "./lib/sse-reader.ts";
export {
  type BodyResponse,
  DONE,
  type EventReader,
  iterableSource,
  type WireSource,
  wireSource,
} from "./lib/wire-source.ts";

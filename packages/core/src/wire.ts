/** What adapters of OpenAI-shaped providers share: readers, codecs, the request helper. For adapter authors. */

export {
  type ChatBodyOptions,
  type ChatQuirks,
  type ChatTarget,
  type OpaqueFields,
} from "./lib/chat-request.ts";
export { type FailureReading, type HeaderReader, providerErrorFromHttp } from "./lib/http-failure.ts";
export { type ModelCall, REQUEST_LIMITS, type RequestLimits, type StreamDecoder } from "./lib/model-call.ts";
export {
  capabilitiesOf,
  MODEL_POLICY,
  type ModelAbilities,
  type ModelPolicyRow,
  type ModelPrice,
  type ModelQuery,
  type ModelRole,
  type ReasoningLevels,
  type ResolvedModel,
  resolveModel,
  UNKNOWN_ABILITIES,
} from "./lib/model-policy.ts";
export { createRedactor, type Redactor, type RedactorOptions } from "./lib/redactor.ts";
export {
  chatCodec,
  type CodedCall,
  codedCall,
  createSdkAdapter,
  type ModelTarget,
  responsesCodec,
  type SdkAdapterOptions,
  type SdkCall,
  type SdkCallOptions,
  type SdkClientOptions,
  type SdkEndpoint,
  type SdkProvider,
  unconfirmedModel,
  type WireCodec,
} from "./lib/openai-shaped.ts";
export { requestWithRetry, type RequestOptions } from "./lib/request-with-retry.ts";
export { partnerDigest } from "./lib/responses-marks.ts";
export { type EncodedRequest } from "./lib/responses-request.ts";
export { type DecoderOptions } from "./lib/responses-stream.ts";
export { providerErrorFromSdk } from "./lib/sdk-failure.ts";
export { type PlannedTool, type RequestPlan, type WireQuirks, type WireTarget } from "./lib/wire-request.ts";
export { type BodyResponse, DONE, iterableSource, type WireSource, wireSource } from "./lib/wire-source.ts";

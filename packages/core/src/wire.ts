/** What adapters of OpenAI-shaped providers share: readers, codecs, the request helper. For adapter authors. */

export { createChatDecoder, type ChatDecoderOptions } from "./lib/chat-stream.ts";
export { type ChatBodyOptions, type ChatQuirks, type ChatTarget, toChatBody } from "./lib/chat-request.ts";
export {
  type FailureReading,
  type HeaderReader,
  providerErrorFromEvent,
  providerErrorFromHttp,
} from "./lib/http-failure.ts";
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
export { requestWithRetry, type RequestOptions } from "./lib/request-with-retry.ts";
export { type EncodedRequest, toResponsesBody } from "./lib/responses-request.ts";
export { createResponsesDecoder, type DecoderOptions } from "./lib/responses-stream.ts";
export { type PlannedTool, type RequestPlan, type WireQuirks, type WireTarget } from "./lib/wire-request.ts";
export { type BodyResponse, DONE, iterableSource, type WireSource, wireSource } from "./lib/wire-source.ts";

// For adapters whose wire is their own.
export { isContent, isOwnPart, planRequest } from "./lib/wire-request.ts";
export { restorerOf, unconfirmedWarnings, wireTargetOf } from "./lib/wire-target.ts";
export { providerErrorFromThrown } from "./lib/thrown-failure.ts";
export { cutError } from "./lib/responses-stream.ts";
export { parseToolArguments, type ToolArguments } from "./lib/tool-arguments.ts";
export { usageEvent } from "./lib/usage-fields.ts";
export {
  asJson,
  callIdOf,
  isRecord,
  listAt,
  recordAt,
  stringAt,
  type WireRecord,
} from "./lib/wire-fields.ts";

export { type EventLogger, emitEvaluation } from "./lib/evaluation-event.ts";
export { type OtelObserverOptions, createOtelObserver } from "./lib/otel-observer.ts";
export { SEMANTIC_CONVENTIONS_REVISION } from "./lib/semantic-names.ts";

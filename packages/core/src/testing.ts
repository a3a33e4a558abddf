export {
  type FakeClock,
  type LogLine,
  fakeClock,
  faultyStore,
  fixedIds,
  fixedRandom,
  memorySink,
  recordingLogger,
} from "./lib/testing/fakes.ts";
export type { ChunkStoreFixture } from "./lib/testing/chunk-store-situation.ts";
export { type ChunkStoreSuite, describeChunkStore } from "./lib/testing/describe-chunk-store.ts";
export { type ProviderFixture, describeContextProvider } from "./lib/testing/describe-context-provider.ts";
export {
  describeEmbedder,
  type EmbedderFixture,
  type EmbedderSuite,
} from "./lib/testing/describe-embedder.ts";
export { type RunStoreSuite, describeRunStore } from "./lib/testing/describe-run-store.ts";
export { type StoreFixture, describeStore } from "./lib/testing/describe-store.ts";
export { describeTool } from "./lib/testing/describe-tool.ts";
export {
  type ScriptStep,
  type ScriptedAdapter,
  type ScriptedAdapterOptions,
  type ScriptedCall,
  type ScriptedReply,
  scriptedAdapter,
} from "./lib/testing/scripted-adapter.ts";
export type { RunStoreFixture } from "./lib/testing/run-store-situation.ts";
export type { SuiteRunner } from "./lib/testing/suite-runner.ts";
export { describeAdapter } from "./lib/describe-adapter.ts";
export type {
  AdapterMakeOptions,
  AdapterSuite,
  AdapterSuiteCapabilities,
} from "./lib/testing/adapter-situation.ts";
export {
  type FakeModelServer,
  type FakeReply,
  type FakeRequest,
  type FakeStep,
  startFakeModelServer,
} from "./lib/testing/fake-model-server.ts";
export { anthropicFixtures } from "./lib/testing/anthropic-fixtures.ts";
export { geminiFixtures } from "./lib/testing/gemini-fixtures.ts";
export {
  chatFixtures,
  type NeutralCall,
  type NeutralReply,
  openRouterFixtures,
  responsesFixtures,
  type WireFixtures,
} from "./lib/testing/wire-fixtures.ts";
export {
  type RecordedAdapter,
  type RecordedModelCall,
  type Recording,
  recordedAdapter,
  replayAdapter,
} from "./lib/testing/recorded-adapter.ts";

import { describe, it } from "vitest";
import { describeChunkStore } from "@openfunctions/core/testing";
import { createMemoryChunkStore } from "./memory-chunk-store.ts";

describeChunkStore("memory", { make: async () => ({ store: createMemoryChunkStore() }) }, { describe, it });

/** What is particular to each local server, as data with sources. */

import type { ChatQuirks } from "@openfunctions/core/wire";

/** A server kind by the id its users know. */
export type LocalServer = "ollama" | "lmstudio" | "llamacpp" | "vllm" | "local";

const COMMON: ChatQuirks = {
  dialect: "openai",
  samplingWithReasoning: true,
  seed: true,
  stop: true,
  maxTokensField: "max_tokens",
  streamUsage: true,
  reasoningContent: false,
  strictField: false,
  parallelField: false,
};

/**
 * Default addresses: each project's own documentation of its server (Ollama "OpenAI compatibility", LM Studio
 * "Local server", llama.cpp "tools/server/README", vLLM "OpenAI-compatible server"). Ollama and vLLM take
 * `stream_options.include_usage`; a server that ignores it leaves usage to be estimated. vLLM takes
 * `parallel_tool_calls`; the others ignore or refuse it. Checked 2026-11-30.
 */
export const LOCAL_SERVERS: Readonly<
  Record<LocalServer, { readonly baseUrl: string; readonly quirks: ChatQuirks }>
> = {
  ollama: { baseUrl: "http://127.0.0.1:11434/v1", quirks: COMMON },
  lmstudio: { baseUrl: "http://127.0.0.1:1234/v1", quirks: COMMON },
  llamacpp: { baseUrl: "http://127.0.0.1:8080/v1", quirks: COMMON },
  vllm: { baseUrl: "http://127.0.0.1:8000/v1", quirks: { ...COMMON, parallelField: true } },
  local: { baseUrl: "", quirks: COMMON },
};

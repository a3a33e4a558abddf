/** The embedders of OpenAI, of Gemini, and of servers that speak OpenAI's dialect. Each is chosen by name. */

import { ConfigError } from "@openfunctions/core";
import type { Embedder } from "@openfunctions/core/search";
import { isRecord, listAt } from "@openfunctions/core/wire";
import { createHttpEmbedder, type HttpEmbedderOptions } from "./http-embedder.ts";

/** An embedder of OpenAI. */
export interface OpenAIEmbedderOptions extends HttpEmbedderOptions {
  /** Default `text-embedding-3-small`. */
  readonly model?: string;
  /** Default: the model's own, 1,536 or 3,072. Another model needs it. */
  readonly dimensions?: number;
}

/** An embedder of Gemini. */
export interface GeminiEmbedderOptions extends HttpEmbedderOptions {
  /** Default `gemini-embedding-001`. */
  readonly model?: string;
  /** Default 3,072. */
  readonly dimensions?: number;
}

/** An embedder of a server that speaks OpenAI's dialect, such as Ollama at `http://127.0.0.1:11434/v1`. */
export interface CompatibleEmbedderOptions extends Omit<HttpEmbedderOptions, "apiKey"> {
  readonly baseUrl: string;
  readonly model: string;
  /** What the model gives; it is not asked for another number. */
  readonly dimensions: number;
  /** What the model takes. Servers cut longer texts in silence, so it is not guessed. */
  readonly maxInputTokens: number;
  /** Texts in one request. Default 64. */
  readonly maxTexts?: number;
  readonly apiKey?: string;
}

const OPENAI_DIMENSIONS: Readonly<Record<string, number>> = {
  "text-embedding-3-small": 1_536,
  "text-embedding-3-large": 3_072,
  "text-embedding-ada-002": 1_536,
};

/**
 * OpenAI's embeddings. Limits: 8,192 tokens a text, 2,048 texts and 300,000 tokens a request
 * (https://platform.openai.com/docs/api-reference/embeddings/create, 2026-11). Throws `ConfigError` `missing_key`.
 */
export function createOpenAIEmbedder(options: OpenAIEmbedderOptions): Embedder {
  const { apiKey, baseUrl = "https://api.openai.com/v1", model = "text-embedding-3-small" } = options;
  checkKey("openai", apiKey);
  const own = OPENAI_DIMENSIONS[model];
  const dimensions = checkDimensions(model, options.dimensions ?? own);
  return createHttpEmbedder(
    {
      provider: "openai",
      model,
      dimensions,
      maxInputTokens: 8_192,
      maxTexts: 2_048,
      maxTokens: 300_000,
      url: `${baseUrl.replace(/\/+$/, "")}/embeddings`,
      headers: { authorization: `Bearer ${apiKey}` },
      body: (input) => ({
        model,
        input,
        encoding_format: "float",
        ...(dimensions === own ? {} : { dimensions }),
      }),
      read: readOpenAI,
    },
    options,
  );
}

/**
 * Gemini's embeddings, with the task that a text is embedded for. Limits: 2,048 tokens a text, 100 texts a request
 * (https://ai.google.dev/gemini-api/docs/embeddings and https://ai.google.dev/api/embeddings, 2026-11). Throws
 * `ConfigError` `missing_key`.
 */
export function createGeminiEmbedder(options: GeminiEmbedderOptions): Embedder {
  const {
    apiKey,
    baseUrl = "https://generativelanguage.googleapis.com/v1beta",
    model = "gemini-embedding-001",
  } = options;
  checkKey("gemini", apiKey);
  const outputDimensionality = checkDimensions(model, options.dimensions ?? 3_072);
  const name = `models/${model.replace(/^models\//, "")}`;
  return createHttpEmbedder(
    {
      provider: "gemini",
      model,
      dimensions: outputDimensionality,
      maxInputTokens: 2_048,
      maxTexts: 100,
      maxTokens: Number.POSITIVE_INFINITY,
      url: `${baseUrl.replace(/\/+$/, "")}/models/${encodeURIComponent(name.slice("models/".length))}:batchEmbedContents`,
      headers: { "x-goog-api-key": apiKey },
      body: (texts, kind) => {
        const taskType = kind === "query" ? "RETRIEVAL_QUERY" : "RETRIEVAL_DOCUMENT";
        return {
          requests: texts.map((text) => ({
            model: name,
            content: { parts: [{ text }] },
            taskType,
            outputDimensionality,
          })),
        };
      },
      read: (answer) =>
        listAt(answer, "embeddings")?.map((one) => (isRecord(one) ? one["values"] : undefined)),
    },
    options,
  );
}

/** The embeddings of a server that speaks OpenAI's dialect. No key is needed where the server asks for none. */
export function createCompatibleEmbedder(options: CompatibleEmbedderOptions): Embedder {
  const { apiKey = "", baseUrl, model, maxInputTokens, maxTexts = 64 } = options;
  if (!Number.isInteger(maxInputTokens) || maxInputTokens < 1)
    throw invalid(`"maxInputTokens" of "${model}" is ${String(maxInputTokens)}; say what the model takes.`);
  return createHttpEmbedder(
    {
      provider: "compatible",
      model,
      dimensions: checkDimensions(model, options.dimensions),
      maxInputTokens,
      maxTexts,
      maxTokens: Number.POSITIVE_INFINITY,
      url: `${baseUrl.replace(/\/+$/, "")}/embeddings`,
      headers: apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` },
      body: (input) => ({ model, input, encoding_format: "float" }),
      read: readOpenAI,
    },
    { ...options, apiKey },
  );
}

/** `data[].embedding` by `data[].index`, which names the text. */
function readOpenAI(answer: Readonly<Record<string, unknown>>): readonly unknown[] | undefined {
  const data = listAt(answer, "data");
  if (data === undefined) return undefined;
  const vectors: unknown[] = [];
  for (const [place, one] of data.entries()) {
    if (!isRecord(one)) return undefined;
    const { index = place, embedding } = one;
    if (!Number.isInteger(index) || Number(index) < 0 || Number(index) >= data.length) return undefined;
    vectors[Number(index)] = embedding;
  }
  return Array.from(vectors);
}

function checkKey(provider: string, apiKey: string): void {
  if (typeof apiKey === "string" && apiKey !== "") return;
  throw new ConfigError(`The embedder of "${provider}" needs a key.`, {
    code: "missing_key",
    hint: 'Pass "apiKey"; no variable of the environment is read.',
  });
}

function checkDimensions(model: string, dimensions: number | undefined): number {
  if (dimensions !== undefined && Number.isInteger(dimensions) && dimensions > 0) return dimensions;
  throw invalid(
    `The dimensions of "${model}" are ${String(dimensions)}; say how many numbers a vector of it has.`,
  );
}

function invalid(message: string): ConfigError {
  return new ConfigError(message, { code: "invalid_config" });
}

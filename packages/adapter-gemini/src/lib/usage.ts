/** Google's token counts as our disjoint five numbers. */

import type { Usage } from "@openfunctions/core";
import { isRecord } from "@openfunctions/core/wire";

/**
 * GenerateContentResponseUsageMetadata of @google/genai 3.3.0: `promptTokenCount` holds the cached tokens, tool
 * prompts and thoughts stand beside prompt and candidates. Undefined while a stream has named no prompt yet.
 */
export function fromUsageMetadata(body: unknown): Usage | undefined {
  if (!isRecord(body) || typeof body["promptTokenCount"] !== "number") return undefined;
  const count = (name: string): number => {
    const value = body[name];
    return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : 0;
  };
  const prompt = count("promptTokenCount");
  const cacheRead = Math.min(count("cachedContentTokenCount"), prompt);
  const input = prompt - cacheRead + count("toolUsePromptTokenCount");
  const [output, reasoning] = [count("candidatesTokenCount"), count("thoughtsTokenCount")];
  return {
    input,
    cacheRead,
    cacheWrite: 0,
    output,
    reasoning,
    total: input + cacheRead + output + reasoning,
  };
}

// The AI SDK's agent, its answers streamed: what a chat does, and what our adapter always does. Uses the packages that
// are installed for ../ai-sdk.
import { make as makeAiSdk } from "../ai-sdk/agent.mjs";

export function make(baseUrl) {
  const { stream } = makeAiSdk(baseUrl);
  return { run: (model) => stream(model, () => {}), stream };
}

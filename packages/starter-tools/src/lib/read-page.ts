/** Reads a public web page as text, through a guard that reaches no private address. */

import { OpenFunctionsError, type Tool, defineTool, err, ok } from "@openfunctions/core";
import { type GuardedFetch, createGuardedFetch } from "@openfunctions/core/http";
import { pageText } from "./page-text.ts";

const MAX_BYTES = 3 * 1024 * 1024;
const TEXT_TYPE = /^(?:text\/|application\/(?:json|xml|xhtml\+xml|[a-z.+-]+\+(?:json|xml)))/i;

/** Makes the `read_page` tool. `guardedFetch` replaces the default guard, for an app that configured hosts. */
export function createPageReader(
  guardedFetch: GuardedFetch = createGuardedFetch({ maxBytes: MAX_BYTES, timeoutMs: 20_000 }),
): Tool {
  return defineTool({
    name: "read_page",
    description: "Reads a public web page and gives its text.",
    inputSchema: {
      type: "object",
      properties: {
        url: {
          type: "string",
          format: "uri",
          pattern: "^https?://",
          description: "The page's address, beginning with http:// or https://.",
        },
      },
      required: ["url"],
    },
    contract: {
      version: "1",
      authority: { level: "session" },
      effects: { kind: "read", openWorld: true, domains: ["web"] },
      idempotency: { mode: "natural" },
      limits: { timeoutMs: 30_000 },
      guidance: { avoidWhen: ["the page's text is already in the conversation"] },
    },
    tags: ["web"],
    examples: [
      { description: "read https://example.com/", input: { url: "https://example.com/" } },
      { description: "what does https://example.com/ say", input: { url: "https://example.com/" } },
    ],
    tests: [
      {
        description: "reaches no private address",
        input: { url: "http://127.0.0.1:9/" },
        expect: { success: false, error: "127.0.0.1" },
      },
      {
        description: "takes web addresses only",
        input: { url: "file:///etc/passwd" },
        expect: { success: false, error: "url" },
      },
    ],
    handler: async ({ url }, { signal }) => {
      try {
        return await read(url, guardedFetch, signal);
      } catch (cause) {
        signal.throwIfAborted();
        if (OpenFunctionsError.is(cause))
          return err(cause.message, {
            code: cause.code === "blocked_address" ? "address_refused" : "page_unreachable",
          });
        throw cause;
      }
    },
  });
}

async function read(
  url: string,
  guardedFetch: GuardedFetch,
  signal: AbortSignal,
): Promise<ReturnType<typeof err> | ReturnType<typeof ok>> {
  const response = await guardedFetch(url, {
    signal,
    headers: { accept: "text/html, text/plain;q=0.9, */*;q=0.1" },
  });
  const type = response.headers["content-type"] ?? "text/plain";
  if (response.status >= 400)
    return err(`"${response.url}" answered ${response.status}.`, {
      code: "page_error",
      retryable: response.status >= 500,
    });
  if (!TEXT_TYPE.test(type)) return err(`"${response.url}" is ${type}, not text.`, { code: "not_text" });
  const { title, text } = /html/i.test(type)
    ? pageText(response.text())
    : { title: "", text: response.text() };
  return ok({ url: response.url, title, text });
}

/** The digest of a model request, at the price of what is new in it. */

import type { ModelRequest, ModelTool } from "./adapter.ts";
import { type Digest, digest, sha256 } from "./digest.ts";
import { type Json, wellFormedJson } from "./json.ts";
import type { Message } from "./message.ts";

const TOOLS_DIGESTS = new WeakMap<readonly ModelTool[], Digest>(); // a cache by identity: a list of tools never changes

/**
 * Digests requests. The history is a chain of message digests, so that a history which grew by two turns costs two
 * digests; tools are digested once per list.
 */
export class RequestDigester {
  #messages: readonly Message[] = [];
  #chain: Digest[] = [];

  /** Covers everything that is sent, in order. */
  digest(request: ModelRequest): Digest {
    const { messages, tools = [], signal: _signal, ...rest } = request;
    return digest("request/1", {
      ...rest,
      tools: this.#toolsDigest(tools),
      messages: this.#historyDigest(messages),
    });
  }

  #historyDigest(messages: readonly Message[]): Digest {
    let known = 0;
    while (known < this.#chain.length && messages[known] === this.#messages[known]) known += 1;
    this.#chain.length = known;
    for (const message of messages.slice(known)) {
      this.#chain.push(linkDigest(this.#chain.at(-1) ?? null, message));
    }
    this.#messages = messages;
    return this.#chain.at(-1) ?? sha256("");
  }

  #toolsDigest(list: readonly ModelTool[]): Digest {
    const known = TOOLS_DIGESTS.get(list) ?? digest("tools/1", list);
    TOOLS_DIGESTS.set(list, known);
    return known;
  }
}

/** Half a surrogate pair, which an opaque part may hold, counts as what a record keeps of it. */
function linkDigest(before: Digest | null, message: Message): Digest {
  try {
    return digest("message/1", [before, message]);
  } catch {
    return digest("message/1", wellFormedJson([before, message] as unknown as Json)); // Proof: messages are JSON
  }
}

/** The digest of a model request, at the price of what is new in it. */

import type { ModelRequest, ModelTool } from "./adapter.ts";
import { type Digest, digest } from "./digest.ts";
import type { Message } from "./message.ts";

/** Remembers the digests of messages and tools by identity, so that a long history costs only its new turns. */
export class RequestDigester {
  readonly #messages = new WeakMap<Message, Digest>();
  readonly #tools = new WeakMap<readonly ModelTool[], Digest>();

  /** Covers everything that is sent, in order. */
  digest(request: ModelRequest): Digest {
    const { messages, tools = [], signal: _signal, ...rest } = request;
    return digest("request/1", { ...rest, tools: this.#toolsDigest(tools), messages: messages.map((message) => this.#messageDigest(message)) });
  }

  #messageDigest(message: Message): Digest {
    const known = this.#messages.get(message) ?? digest("message/1", message);
    this.#messages.set(message, known);
    return known;
  }

  #toolsDigest(tools: readonly ModelTool[]): Digest {
    const known = this.#tools.get(tools) ?? digest("tools/1", tools);
    this.#tools.set(tools, known);
    return known;
  }
}

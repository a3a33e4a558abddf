/** Recorded content in the shape that the conventions give it, without idempotency keys. */

import {
  type Json,
  type Message,
  type Part,
  type RunStart,
  isPlainObject,
  partsOf,
} from "@openfunctions/core";

const MASK = "[idempotency key]";

/** Which parameter of which tool is an idempotency key, where the run recorded its tool definitions. */
export function keyParameters(start: RunStart): ReadonlyMap<string, string> {
  const definitions = start.capabilities.definitions?.value;
  const keys = new Map<string, string>();
  for (const tool of Array.isArray(definitions) ? definitions : []) {
    const contract = isPlainObject(tool) ? tool["contract"] : undefined;
    const idempotency = isPlainObject(contract) ? contract["idempotency"] : undefined;
    const key = isPlainObject(idempotency) ? idempotency["keyParam"] : undefined;
    if (isPlainObject(tool) && typeof key === "string") keys.set(String(tool["name"]), key);
  }
  return keys;
}

/** The arguments of a call as JSON text, its idempotency key masked. */
export function argumentsText(args: Json, key: string | undefined): string {
  return JSON.stringify(maskKey(args, key));
}

/** A list of one message, as `gen_ai.input.messages` and `gen_ai.output.messages` hold it. */
export function messagesText(message: Message, keys: ReadonlyMap<string, string>): string {
  const parts = partsOf(message).flatMap((part) => toPart(part, keys));
  return JSON.stringify([{ role: message.role, parts }]);
}

function maskKey(args: Json, key: string | undefined): Json {
  if (key === undefined || !isPlainObject(args) || !Object.hasOwn(args, key)) return args;
  return { ...args, [key]: MASK };
}

function toPart(part: Part, keys: ReadonlyMap<string, string>): readonly Json[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", content: part.text }];
    case "reasoning":
      return part.text === undefined ? [] : [{ type: "reasoning", content: part.text }];
    case "tool_call": {
      const args = maskKey(part.args, keys.get(part.name));
      return [{ type: "tool_call", id: part.callId, name: part.name, arguments: args }];
    }
    default:
      // Bytes and opaque provider items have no place in a span.
      return [{ type: part.type }];
  }
}

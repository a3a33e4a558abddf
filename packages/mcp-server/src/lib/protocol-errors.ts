/** JSON-RPC errors: what the protocol answers where no tool result can. */

import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";

/** An error of the caller (-32602). */
export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** An error of ours (-32603), in words that say nothing about the inside. */
export function internalError(message = "Internal error", retryable = false): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message, retryable ? { retryable } : undefined);
}

/** Between a channel and the SDK: only whole JSON-RPC messages pass, and whatever else comes gets its error. */

import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/server";
import { isJSONRPCNotification, isJSONRPCRequest, isJSONRPCResponse } from "@modelcontextprotocol/server";
import { isPlainObject } from "@openfunctions/core";

/** A two-way stream of messages: stdio, an in-memory pair, a socket. Every SDK transport is one. */
export interface McpChannel {
  start(): Promise<void>;
  send(message: unknown): Promise<void>;
  close(): Promise<void>;
  onmessage?(message: unknown): void;
  onclose?(): void;
}

/** The channel as the SDK wants it. */
export class Wire implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #channel: McpChannel;

  constructor(channel: McpChannel) {
    this.#channel = channel;
  }

  /** Starts the channel. */
  start(): Promise<void> {
    this.#channel.onmessage = (message) => this.#receive(message);
    this.#channel.onclose = () => this.onclose?.();
    return this.#channel.start();
  }

  /** Sends one message. */
  send(message: JSONRPCMessage): Promise<void> {
    return this.#channel.send(message);
  }

  /** Closes the channel. */
  close(): Promise<void> {
    return this.#channel.close();
  }

  #receive(message: unknown): void {
    if (isJSONRPCRequest(message) || isJSONRPCNotification(message) || isJSONRPCResponse(message)) {
      this.onmessage?.(message);
      return;
    }
    this.onerror?.(new Error("The message is not JSON-RPC 2.0."));
    // A broken answer gets none: two peers would answer each other for ever.
    if (isPlainObject(message) && ("result" in message || "error" in message)) return;
    void this.#channel.send(toErrorMessage(-32600, "Invalid Request: not a JSON-RPC 2.0 message", message));
  }
}

/** An error response to a message whose id may be unreadable. */
export function toErrorMessage(code: number, message: string, request?: unknown): unknown {
  const id = isPlainObject(request) ? request["id"] : null;
  return {
    jsonrpc: "2.0",
    id: typeof id === "string" || Number.isInteger(id) ? id : null,
    error: { code, message },
  };
}

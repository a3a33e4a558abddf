/** Channels of JSON-RPC messages, and what a message looks like. */

import type { JSONRPCRequest } from "@modelcontextprotocol/server";
import { isPlainObject } from "@openfunctions/core";

/** A two-way stream of messages: stdio, an in-memory pair, a socket. Every transport of the SDKs is one. */
export interface McpChannel {
  start(): Promise<void>;
  send(message: unknown): Promise<void>;
  close(): Promise<void>;
  onmessage?(message: unknown): void;
  onclose?(): void;
}

const FIELDS = ["jsonrpc", "id", "method", "params"];

/** True for a well-formed request, told without a schema. */
export function isRequest(value: unknown): value is JSONRPCRequest {
  if (!isPlainObject(value) || value["jsonrpc"] !== "2.0" || typeof value["method"] !== "string")
    return false;
  if (!Object.keys(value).every((key) => FIELDS.includes(key))) return false;
  const { id, params } = value;
  if (typeof id !== "string" && !Number.isInteger(id)) return false;
  return params === undefined || (isPlainObject(params) && isPlainObject(params["_meta"] ?? {}));
}

/** True for a request, a notification or an answer. What is wrong inside the last two concerns nobody who waits. */
export function isMessage(value: unknown): boolean {
  if (!isPlainObject(value) || value["jsonrpc"] !== "2.0") return false;
  if ("result" in value || "error" in value) return true;
  return isRequest(value) || ("method" in value && value["id"] === undefined);
}

/** An error response to a message whose id may be unreadable. */
export function toErrorMessage(code: number, message: string, request?: unknown): object {
  const id = isPlainObject(request) ? request["id"] : null;
  return {
    jsonrpc: "2.0",
    id: typeof id === "string" || Number.isInteger(id) ? id : null,
    error: { code, message },
  };
}

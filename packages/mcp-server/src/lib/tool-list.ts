/** `tools/list`: each tool's wire form, sorted by name, in pages that are good for one state of the tools. */

import { Buffer } from "node:buffer";

import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import {
  type JsonSchemaObject,
  type NormalContract,
  type Tool,
  type ToolView,
  describeTool,
} from "@openfunctions/core";

/** Lists a live view. The wire form is built once per digest. */
export class ToolList {
  readonly #view: ToolView;
  readonly #pageSize: number;
  #digest = "";
  #tools: readonly object[] = [];

  constructor(view: ToolView, pageSize: number) {
    this.#view = view;
    this.#pageSize = pageSize;
  }

  /** The page that `cursor` names, the first without one. Throws invalid params for a cursor of another state. */
  page(cursor: unknown): { readonly tools: readonly object[]; readonly nextCursor?: string } {
    this.#refresh();
    const start = cursor === undefined || cursor === null ? 0 : this.#startOf(cursor);
    const end = start + this.#pageSize;
    const tools = this.#tools.slice(start, end);
    return end < this.#tools.length ? { tools, nextCursor: this.#cursorAt(end) } : { tools };
  }

  #refresh(): void {
    const digest = this.#view.digest();
    if (digest === this.#digest) return;
    this.#digest = digest;
    // By code unit, so that the order does not depend on a locale.
    this.#tools = this.#view
      .getAll()
      .toSorted((one, two) => (one.name < two.name ? -1 : 1))
      .map(toWireTool);
  }

  #cursorAt(start: number): string {
    return Buffer.from(`${start} ${this.#digest}`).toString("base64url");
  }

  #startOf(cursor: unknown): number {
    const start = Number.parseInt(Buffer.from(String(cursor), "base64url").toString(), 10);
    if (start > 0 && start < this.#tools.length && this.#cursorAt(start) === cursor) return start;
    throw invalidParams("The cursor is not valid for the tools as they are now; list again from the start.");
  }
}

/** An error of the caller (-32602). */
export function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** True where `structuredContent`, which is an object, cannot be the data itself: it is `{ result: data }` then. */
export function wrapsData(output: JsonSchemaObject): boolean {
  return output.type !== "object";
}

function toWireTool({ name, contract, parameters, output, ...tool }: Tool): object {
  const words = name.replaceAll("_", " ").trim();
  const isEmpty = Object.keys(parameters).every((key) => key === "type" || key === "properties");
  const hasNone = isEmpty && Object.keys(parameters.properties ?? {}).length === 0;
  return {
    name,
    title: `${words.charAt(0).toUpperCase()}${words.slice(1)}`,
    description: describeTool({ name, contract, parameters, ...tool }),
    inputSchema: hasNone ? { type: "object", properties: {}, additionalProperties: false } : parameters,
    ...(output === undefined ? {} : { outputSchema: wrapsData(output) ? wrap(name, output) : output }),
    annotations: toAnnotations(contract),
    _meta: { "openfunctions/contract": contract },
  };
}

/** The `$id` gives the inner schema a root of its own, so that its local references stay true. */
function wrap(name: string, output: JsonSchemaObject): object {
  const result = { $id: `urn:openfunctions:${name}:result`, ...output };
  return { type: "object", properties: { result }, required: ["result"] };
}

function toAnnotations({ effects, idempotency: { mode, keyParam } }: NormalContract): object {
  const readOnly = effects.kind === "none" || effects.kind === "read";
  return {
    readOnlyHint: readOnly,
    destructiveHint: effects.kind === "destructive" || (!readOnly && effects.undo === "impossible"),
    // A key that the client chooses says nothing about two calls with equal arguments; one we derive does.
    idempotentHint: mode === "natural" || (mode === "keyed" && keyParam === undefined),
    openWorldHint: effects.openWorld,
  };
}

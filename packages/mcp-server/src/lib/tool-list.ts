/** `tools/list`: sorted by name, in pages whose cursor is good for one state of the tools. */

import type { ToolView } from "@openfunctions/core";

import { invalidParams } from "./protocol-errors.ts";
import { type WireTool, toWireTool } from "./wire-tool.ts";

/** One page. */
export interface ToolPage {
  readonly tools: readonly WireTool[];
  readonly nextCursor?: string;
}

/** Lists a live view. The wire form is built once per digest. */
export class ToolList {
  readonly #view: ToolView;
  readonly #pageSize: number;
  #digest = "";
  #tools: readonly WireTool[] = [];

  constructor(view: ToolView, pageSize: number) {
    this.#view = view;
    this.#pageSize = pageSize;
  }

  /** The page that `cursor` names, the first without one. Throws invalid params for a cursor of another state. */
  page(cursor: unknown): ToolPage {
    this.#refresh();
    const start = cursor === undefined ? 0 : this.#startOf(cursor);
    const end = start + this.#pageSize;
    const tools = this.#tools.length <= this.#pageSize ? this.#tools : this.#tools.slice(start, end);
    return end < this.#tools.length ? { tools, nextCursor: this.#cursorAt(end) } : { tools };
  }

  #refresh(): void {
    const digest = this.#view.digest();
    if (digest === this.#digest) return;
    // By code unit, so that the order does not depend on a locale.
    this.#tools = [...this.#view.getAll()].sort((one, two) => (one.name < two.name ? -1 : 1)).map(toWireTool);
    this.#digest = digest;
  }

  #cursorAt(start: number): string {
    return Buffer.from(`${start} ${this.#digest}`).toString("base64url");
  }

  #startOf(cursor: unknown): number {
    const start =
      typeof cursor === "string" ? Number.parseInt(Buffer.from(cursor, "base64url").toString(), 10) : 0;
    if (start > 0 && start < this.#tools.length && this.#cursorAt(start) === cursor) return start;
    throw invalidParams("The cursor is not valid for the tools as they are now; list again from the start.");
  }
}

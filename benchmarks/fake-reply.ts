/** What both wire formats of the fake server are made from, and what they are made into. */

import type { FakeScript } from "./fake-script.ts";

/** A parsed request body. Every field a client may send is looked at with `read...` below. */
export type RequestBody = Readonly<Record<string, unknown>>;

/** What one request is answered from. */
export interface FakeRequest {
  readonly body: RequestBody;
  readonly model: string;
  readonly script: FakeScript;
  /** Counts the replies of this server; makes ids unique. */
  readonly replyId: number;
}

/** A reply: one JSON body, or the texts of its server-sent events. */
export type FakeReply =
  | { readonly type: "json"; readonly body: unknown }
  | { readonly type: "events"; readonly events: readonly string[] };

/** The objects of a list in a request body; none where it is no list. */
export function readObjects(value: unknown): readonly RequestBody[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** A text of a request body, or undefined. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** True for a JSON object. */
export function isObject(value: unknown): value is RequestBody {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

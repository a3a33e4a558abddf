/** What loaders give, and what they are. */

import type { TextShape } from "./text-shape.ts";

/** A document as text, with the map of its headings or pages. */
export interface LoadedDocument extends TextShape {
  readonly text: string;
  /** Where the document itself names one. */
  readonly title?: string;
  /** What a person should know, such as pages without text. */
  readonly warnings?: readonly string[];
}

/** What a loader is given besides the bytes. */
export interface LoaderContext {
  readonly mediaType: string;
  readonly signal?: AbortSignal | undefined;
}

/** Reads the bytes of one media type. Throws `InputError` for what it cannot read. */
export type Loader = (bytes: Uint8Array, context: LoaderContext) => LoadedDocument | Promise<LoadedDocument>;

/** One reply over several requests: what is read goes on where Claude paused. */

import type { Json } from "@openfunctions/core";
import type { WireSource } from "@openfunctions/core/wire";

/** A turn that Claude paused: what it said so far, to be sent back as it came, and the container its code runs in. */
export interface PausedTurn {
  readonly blocks: readonly Json[];
  readonly container: string | undefined;
}

/** Reads `first`; whenever `resume` gives another source, that one is read instead. Closing ends whichever is open. */
export function resumingSource(first: WireSource, resume: () => Promise<WireSource> | undefined): WireSource {
  let source = first;
  let isClosed = false;
  return {
    read: async () => {
      const next = resume();
      if (next !== undefined) {
        source.finish();
        source = await next;
        if (isClosed) source.close();
      }
      return source.read();
    },
    finish: () => source.finish(),
    close: () => {
      isClosed = true;
      source.close();
    },
  };
}

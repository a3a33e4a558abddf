/** A line on a terminal that says how far a long work is; nothing where stderr is no terminal. */

import { oneLine } from "./output.ts";

/** A bar on stderr. `clear` has to be called on every path. */
export interface ProgressBar {
  show(done: number, of: number, what: string): void;
  clear(): void;
}

const WIDTH = 24;
const CLEAR_LINE = "\r\u001b[2K";

/** Makes a bar; what is shown stays until the next or `clear`. */
export function createProgressBar(
  stream: Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns"> = process.stderr,
): ProgressBar {
  let shown = false;
  return {
    show: (done, of, what) => {
      if (stream.isTTY !== true) return;
      const filled = of === 0 ? WIDTH : Math.round((Math.min(done, of) / of) * WIDTH);
      const bar = `[${"#".repeat(filled)}${" ".repeat(WIDTH - filled)}] ${done}/${of} `;
      const room = Math.max(0, (stream.columns ?? 80) - bar.length - 1);
      stream.write(`${CLEAR_LINE}${bar}${oneLine(what).slice(0, room)}`);
      shown = true;
    },
    clear: () => {
      if (shown) stream.write(CLEAR_LINE);
      shown = false;
    },
  };
}

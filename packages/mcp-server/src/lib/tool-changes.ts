/** Registry events as one notice per change of what is exposed, at most one in 50 ms. */

import type { ToolRegistry, ToolView } from "@openfunctions/core";

const QUIET_MS = 50;

/** Calls `announce` after the exposed tools changed; returns the function that stops. */
export function watchTools(registry: ToolRegistry, view: ToolView, announce: () => void): () => void {
  let known = view.digest();
  let timer: NodeJS.Timeout | undefined;
  const settle = (): void => {
    timer = undefined;
    const now = view.digest();
    if (now === known) return;
    known = now;
    announce();
  };
  const note = (): void => {
    timer ??= setTimeout(settle, QUIET_MS);
  };
  const stops = (["tool:registered", "tool:replaced", "tool:removed"] as const).map((event) =>
    registry.on(event, note),
  );
  return () => {
    for (const stop of stops) stop();
    clearTimeout(timer);
  };
}

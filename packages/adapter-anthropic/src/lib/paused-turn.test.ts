/** One reply over several sources. */

import type { WireSource } from "@openfunctions/core/wire";
import { expect, it } from "vitest";
import { resumingSource } from "./paused-turn.ts";

function source(...batches: readonly unknown[][]): WireSource & { readonly calls: string[] } {
  const left = [...batches];
  const calls: string[] = [];
  return {
    calls,
    read: async () => left.shift(),
    finish: () => void calls.push("finish"),
    close: () => void calls.push("close"),
  };
}

it("reads the next source where there is one, and finishes the one before", async () => {
  const [first, second] = [source(["a"]), source(["b"])];
  const queue: (WireSource | undefined)[] = [undefined, second, undefined];
  const whole = resumingSource(first, () => {
    const next = queue.shift();
    return next && Promise.resolve(next);
  });
  expect([await whole.read(), await whole.read(), await whole.read()]).toEqual([["a"], ["b"], undefined]);
  whole.finish();
  expect([first.calls, second.calls]).toEqual([["finish"], ["finish"]]);
});

it("closes a source that opens after it was closed itself", async () => {
  const [first, second] = [source(["a"]), source(["b"])];
  let open: (next: WireSource) => void = () => {};
  const whole = resumingSource(first, () => new Promise((resolve) => (open = resolve)));
  const reading = whole.read();
  whole.close();
  open(second);
  await reading;
  expect([first.calls, second.calls]).toEqual([["finish", "close"], ["close"]]);
});

import { expect, it } from "vitest";
import { runLoop } from "@openfunctions/core";
import { ADAPTERS, withAdapter } from "./adapters.ts";

it.each(ADAPTERS)("an empty reply is empty, and no placeholder is made up: %s", async (name) => {
  await withAdapter(name, [{}], async ({ adapter }) => {
    const result = await runLoop({ adapter, messages: [{ role: "user", content: "hm" }] }).result;
    expect(result).toMatchObject({ status: "completed", stopReason: "empty_response", text: "" });
  });
});

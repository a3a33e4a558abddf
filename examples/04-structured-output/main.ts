/** A value that fits a schema, mended once when the model gets it wrong. The model is scripted here. */

import assert from "node:assert/strict";
import { StructuredOutputError, generateStructured } from "@openfunctions/core";
import { scriptedAdapter } from "@openfunctions/core/testing";
import { z } from "zod";

// #region ask
const Invoice = z.object({ number: z.string(), total: z.number().positive() });

const adapter = scriptedAdapter([
  { text: '{"number":"A-17","total":"a lot"}' }, // breaks the schema: the problem goes back to the model
  { text: '{"number":"A-17","total":119.5}' },
]);
const { value, attempts } = await generateStructured(adapter, {
  schema: Invoice,
  prompt: "Invoice A-17 over 119.50 euros.",
});
// #endregion
assert.deepEqual(value, { number: "A-17", total: 119.5 });
assert.equal(attempts, 2);
assert.match(JSON.stringify(adapter.requests[1]?.messages.at(-1)), /expected number/);

const hopeless = scriptedAdapter([{ text: "no idea" }, { text: "still none" }]);
const failure = await generateStructured(hopeless, { schema: Invoice, prompt: "?" }).catch(
  (error: unknown) => error,
);
assert.ok(failure instanceof StructuredOutputError);
assert.equal(failure.attempts, 2);
process.stdout.write(`${JSON.stringify(value)}\n`);

/** The calculator: arithmetic, percentages and units. */

import { type Tool, defineTool, err, ok } from "@openfunctions/core";
import { evaluate } from "./expression.ts";
import { convert } from "./units.ts";

const CONVERSION = /^(.+?)\s*(°?[a-z][a-z/]*[2²]?)\s+(?:to|in|into|as)\s+(°?[a-z][a-z/]*[2²]?)\s*\??$/i;

/** Makes the `calculate` tool. */
export function createCalculator(): Tool {
  return defineTool({
    name: "calculate",
    description: "Calculates arithmetic, percentages and unit conversions.",
    inputSchema: {
      type: "object",
      properties: {
        expression: {
          type: "string",
          minLength: 1,
          maxLength: 500,
          description: 'What to work out, such as "15% of 2,340", "(3 + 4) * 2" or "5 km to miles".',
        },
      },
      required: ["expression"],
    },
    contract: {
      version: "1",
      authority: { level: "none" },
      effects: { kind: "none", openWorld: false },
      idempotency: { mode: "natural" },
    },
    tags: ["math"],
    examples: [
      { description: "what is 15% of 2,340", input: { expression: "15% of 2,340" }, output: { value: 351 } },
      { description: "calculate (3 + 4) * 2", input: { expression: "(3 + 4) * 2" }, output: { value: 14 } },
      { description: "how much is 12 plus 30", input: { expression: "12 plus 30" }, output: { value: 42 } },
      { description: "convert 5 km to miles", input: { expression: "5 km to miles" } },
      { description: "how many miles is 5 km", input: { expression: "miles is 5 km" } },
    ],
    tests: [
      {
        description: "takes a share",
        input: { expression: "15% of 2,340" },
        expect: { data: { value: 351 } },
      },
      {
        description: "adds a percentage",
        input: { expression: "200 + 10%" },
        expect: { data: { value: 220 } },
      },
      {
        description: "keeps the order of operations",
        input: { expression: "2 + 3 * 4 ^ 2" },
        expect: { data: { value: 50 } },
      },
      {
        description: "converts units",
        input: { expression: "1 mile to km" },
        expect: { data: { value: 1.609344, unit: "km" } },
      },
      {
        description: "converts temperatures",
        input: { expression: "212 F to C" },
        expect: { data: { value: 100 } },
      },
      {
        description: "says what it cannot read",
        input: { expression: "two apples" },
        expect: { success: false, error: "apples" },
      },
      {
        description: "has no infinite results",
        input: { expression: "1 / 0" },
        expect: { success: false, error: "finite" },
      },
    ],
    handler: ({ expression }) => {
      const asked = /^(\S+)\s+(?:is|are)\s+(.+)$/i.exec(expression.trim());
      return work(asked === null ? expression.trim() : `${asked[2]} to ${asked[1]}`, expression.trim());
    },
  });
}

function work(text: string, shown: string): ReturnType<typeof err> | ReturnType<typeof ok> {
  const conversion = CONVERSION.exec(text);
  if (conversion !== null) return workConversion(conversion, text);
  const result = evaluate(text);
  if (!result.ok) return err(`"${shown}" ${result.problem}.`, { code: "not_arithmetic" });
  const value = tidy(result.value);
  return ok({ value, expression: text }, `${text} is ${show(value)}.`);
}

function workConversion(
  [, amount = "", from = "", to = ""]: readonly string[],
  text: string,
): ReturnType<typeof work> {
  const number = evaluate(amount);
  if (!number.ok) return err(`"${text}" ${number.problem}.`, { code: "not_arithmetic" });
  const result = convert(number.value, from, to);
  if (!result.ok) return err(`"${text}": ${result.problem}.`, { code: "unknown_unit" });
  const value = tidy(result.value);
  return ok({ value, unit: to, expression: text }, `${show(number.value)} ${from} is ${show(value)} ${to}.`);
}

/** Without the noise of binary fractions: 0.1 + 0.2 is 0.3. */
function tidy(value: number): number {
  return Number(value.toPrecision(12));
}

function show(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 12 });
}

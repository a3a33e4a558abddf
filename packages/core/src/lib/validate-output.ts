/** Checks a success against the tool's `outputSchema`. */

import { describeThrown } from "./describe-thrown.ts";
import type { FailureResult, SuccessResult } from "./result.ts";
import type { Json } from "./json.ts";
import { type StandardSchema, isStandardSchema } from "./schema.ts";
import type { Tool } from "./tool.ts";
import { describeProblems } from "./validation-message.ts";
import { validatorFor } from "./validate.ts";

/** What is wrong with the data, as the end of a sentence, or undefined. Failures are not checked. */
export async function outputProblem(
  tool: Tool,
  result: SuccessResult<Json> | FailureResult,
): Promise<string | undefined> {
  if (!result.success || tool.output === undefined || tool.outputSchema === undefined) return undefined;
  if (isStandardSchema(tool.outputSchema)) {
    return standardProblem(tool.outputSchema, result.data);
  }
  const problems = await validatorFor(tool.output).validate(result.data);
  if (problems.length === 0) return undefined;
  return `returned data that does not fit its outputSchema: ${describeProblems(tool.name, problems, { schema: tool.output, value: result.data, what: "data" })}`;
}

async function standardProblem(schema: StandardSchema, data: Json): Promise<string | undefined> {
  try {
    const [issue] = (await schema["~standard"].validate(data)).issues ?? [];
    return issue === undefined
      ? undefined
      : `returned data that does not fit its outputSchema: ${issue.message}`;
  } catch (cause) {
    return `has an outputSchema that threw: ${describeThrown(cause)}`;
  }
}

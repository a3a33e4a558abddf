/** What every agent of the adapters' measurement is asked, in everybody's words. */

/** The question, the instructions and the one tool. */
export const TASK = {
  question: "go",
  system: "You are a helpful calculator.",
  name: "add",
  description: "Add two numbers",
  schema: {
    type: "object" as const,
    properties: { a: { type: "number" as const }, b: { type: "number" as const } },
    required: ["a", "b"],
    additionalProperties: false,
  },
  maxTokens: 4096,
};

/** Picks the tool that the words of a message speak of. */

import type { ModelTool } from "@openfunctions/core";
import { fillFromExamples } from "./offline-examples.ts";
import { wordsOf } from "./offline-words.ts";

/** A tool with how well the message fits it. */
export interface ToolMatch {
  readonly tool: ModelTool;
  readonly score: number;
}

const NAME_WEIGHT = 3;
const EXAMPLE_WEIGHT = 1.5;
const DESCRIPTION_WEIGHT = 1;
/** A message that reads like an example says more than any single word. */
const TEMPLATE_BONUS = 10;
const LEAST_SCORE = 1.5;

/** The best match, or undefined where no tool is spoken of. Ties go by name, so that the choice never changes. */
export function pickTool(message: string, tools: readonly ModelTool[]): ToolMatch | undefined {
  const words = [...new Set(wordsOf(message))];
  const vocabularies = tools.map(vocabularyOf);
  const rarity = (word: string): number => {
    const holders = vocabularies.filter((vocabulary) => vocabulary.has(word)).length;
    return holders === 0 ? 0 : Math.log2(1 + tools.length / holders);
  };
  const matches = tools.map((tool, index): ToolMatch => {
    const vocabulary = vocabularies[index] ?? new Map<string, number>();
    const byWords = words.reduce((sum, word) => sum + (vocabulary.get(word) ?? 0) * rarity(word), 0);
    const byTemplate = fillFromExamples(message, tool) === undefined ? 0 : TEMPLATE_BONUS;
    return { tool, score: byWords + byTemplate };
  });
  const [best] = matches.sort(
    (left, right) => right.score - left.score || (left.tool.name < right.tool.name ? -1 : 1),
  );
  return best === undefined || best.score < LEAST_SCORE ? undefined : best;
}

/** Each word with the weight of the best place it stands in. */
function vocabularyOf(tool: ModelTool): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  const add = (text: string, weight: number): void => {
    for (const word of wordsOf(text)) weights.set(word, Math.max(weight, weights.get(word) ?? 0));
  };
  add(tool.description, DESCRIPTION_WEIGHT);
  for (const example of tool.examples ?? []) add(withoutValues(example), EXAMPLE_WEIGHT);
  add(tool.name.replaceAll("_", " "), NAME_WEIGHT);
  return weights;
}

/** An example's phrase without the text values that went in, which say nothing of the tool; numbers stay. */
function withoutValues({ description, input }: NonNullable<ModelTool["examples"]>[number]): string {
  return Object.values(input).reduce<string>(
    (text, value) => (typeof value === "string" && !/\d/.test(value) ? text.replace(value, " ") : text),
    description,
  );
}

/** Where a prompt's text comes from, without guessing. */

import { ConfigError } from "./errors.ts";
import { nearest } from "./nearest.ts";
import { PROMPT_PRESETS } from "./prompt-presets.ts";
import { loadPromptPreset } from "./prompt.ts";

/** Where a prompt comes from; the forms are distinct so that nothing is guessed. */
export type PromptSource =
  | string
  | { readonly preset: string }
  | { readonly text: string }
  | { readonly file: string };

/**
 * The prompt's text. A bare string is text, except that a single word close to a preset's name, or a single token
 * ending in `.md`, is a `ConfigError` `bad_prompt` naming the form that was meant. Files are read by `readFile`.
 */
export async function resolvePrompt(
  source: PromptSource,
  readFile?: (path: string) => Promise<string>,
): Promise<string> {
  if (typeof source === "string") return checkBareText(source);
  if ("text" in source) return source.text;
  if ("preset" in source) return loadPromptPreset(source.preset);
  if (readFile === undefined) {
    throw new ConfigError(`No way to read files was given for the prompt file "${source.file}".`, {
      code: "bad_prompt",
    });
  }
  return (await readFile(source.file)).replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, "");
}

function checkBareText(text: string): string {
  const token = text.trim();
  if (/\s/.test(token)) return text;
  if (token.endsWith(".md")) {
    throw new ConfigError(`"${token}" looks like a file.`, {
      code: "bad_prompt",
      hint: `Write { file: "${token}" }, or { text: "${token}" }.`,
    });
  }
  const [close] = nearest(token, Object.keys(PROMPT_PRESETS), 1);
  if (close !== undefined) {
    throw new ConfigError(`"${token}" is close to the preset "${close}".`, {
      code: "bad_prompt",
      hint: `Write { preset: "${close}" }, or { text: "${token}" }.`,
    });
  }
  return text;
}

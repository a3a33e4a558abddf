/** Prompts: sections in a fixed order, data that cannot pose as instructions. */

import { type Digest, digest } from "./digest.ts";
import { ConfigError } from "./errors.ts";
import { describeTool } from "./model-content.ts";
import { PROMPT_PRESETS } from "./prompt-presets.ts";
import type { ToolView } from "./tool-view.ts";

/** The sections of a prompt, in the order they are sent. */
export interface PromptSections {
  readonly role?: string;
  readonly rules?: string | readonly string[];
  /** Text, or `auto` for a guide made from the registry. */
  readonly toolGuide?: string;
  readonly context?: string;
  readonly format?: string;
}

/** A section as it was composed. */
export interface ComposedSection {
  readonly name: string;
  readonly text: string;
}

const ORDER = [
  ["role", "role"],
  ["rules", "rules"],
  ["toolGuide", "tools"],
  ["context", "context"],
  ["format", "format"],
] as const;

/** Emits the given sections in order, each in a tag of its name, blank-line joined; `{}` gives `""`. */
export function composePrompt(sections: PromptSections, tools?: ToolView): string {
  return joinSections(composeSections(sections, tools));
}

/** The sections one by one, for the record. Throws `ConfigError` for `toolGuide: "auto"` without tools. */
export function composeSections(sections: PromptSections, tools?: ToolView): readonly ComposedSection[] {
  return ORDER.flatMap(([key, tag]) => {
    const text = sectionText(key, sections, tools);
    return text === "" ? [] : [{ name: tag, text: `<${tag}>\n${text}\n</${tag}>` }];
  });
}

/** Joins composed sections with a blank line. */
export function joinSections(sections: readonly ComposedSection[]): string {
  return sections.map((section) => section.text).join("\n\n");
}

/** Name, digest and length of each section, as the record keeps them. */
export function sectionDigests(
  sections: readonly ComposedSection[],
): readonly { readonly name: string; readonly digest: Digest; readonly chars: number }[] {
  return sections.map(({ name, text }) => ({
    name,
    digest: digest("prompt-section/1", text),
    chars: text.length,
  }));
}

function sectionText(
  key: (typeof ORDER)[number][0],
  sections: PromptSections,
  tools: ToolView | undefined,
): string {
  const value = sections[key];
  if (value === undefined) return "";
  if (typeof value !== "string") return value.map((rule) => `- ${rule}`).join("\n");
  if (key !== "toolGuide" || value !== "auto") return value.trim();
  if (tools === undefined) {
    throw new ConfigError('toolGuide "auto" needs the tools it is to describe.', { code: "bad_prompt" });
  }
  return autoToolGuide(tools);
}

/** One line per tool with its guidance, sorted by name so that the prompt's prefix is stable. */
export function autoToolGuide(tools: ToolView): string {
  return [...tools.getAll()]
    .filter((tool) => !tools.isDeferred(tool.name))
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map((tool) => `- ${tool.name}: ${describeTool(tool).replaceAll("\n", "\n  ")}`)
    .join("\n");
}

/** Replaces `{{name}}` placeholders literally: `$&` in a value stays `$&`. Unknown placeholders stay as they are. */
export function fillPlaceholders(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{\{([a-z_]+)\}\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? (values[name] ?? whole) : whole,
  );
}

/**
 * Fences text from a provider, retrieval or tool as data with its origin. The text cannot close the fence or any
 * section: the `<` of tags that look like ours is written as `&lt;`.
 */
export function fenceData(text: string, origin: string): string {
  const safeOrigin = origin.replace(/[^a-zA-Z0-9:_.\-/ ]/g, "_");
  const safe = text.replace(/<(?=\s*\/?\s*(?:data|role|rules|tools|context|format)\b)/gi, "&lt;");
  return `<data origin="${safeOrigin}">\n${safe}\n</data>`;
}

const PRESET_NAME = /^[a-z][a-z0-9-]*$/;

/** The text of one of our presets. Throws `ConfigError` `bad_prompt` listing what exists; opens no file. */
export function loadPromptPreset(name: string): string {
  const known = Object.keys(PROMPT_PRESETS);
  if (PRESET_NAME.test(name) && Object.hasOwn(PROMPT_PRESETS, name)) return PROMPT_PRESETS[name] ?? "";
  const rule = PRESET_NAME.test(name) ? "" : " A preset name is a-z, 0-9 and -.";
  throw new ConfigError(`There is no prompt preset "${name}".${rule}`, {
    code: "bad_prompt",
    hint: `Presets: ${known.join(", ")}.`,
  });
}

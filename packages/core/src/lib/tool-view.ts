/** A read-only selection of tools, through which they are listed, shown to models and run. */

import type { CallContext, CallRuntime } from "./call-context.ts";
import type { EffectKind } from "./contract.ts";
import { type CompiledSchema, compileSchema } from "./dialect.ts";
import { type Digest, digest } from "./digest.ts";
import { RegistryError } from "./errors.ts";
import { executeCall } from "./execute.ts";
import type { Json } from "./json.ts";
import { type ReaderContext, contentForModel, describeTool } from "./model-content.ts";
import { nearest } from "./nearest.ts";
import type { CallResult, ModelContent } from "./result.ts";
import type { Tool } from "./tool.ts";

/**
 * Which tools: `names` united with `tags` (any tag), minus `exclude`, then `effects`. `undefined` selects all, `[]`
 * selects none. A name that no tool has is an error, since a typo in an exclusion would expose the tool.
 */
export interface ToolFilter {
  readonly names?: readonly string[];
  readonly tags?: readonly string[];
  readonly exclude?: readonly string[];
  readonly effects?: readonly EffectKind[];
}

/** A tool as Anthropic's Messages API takes it. */
export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: Json;
}

/** A tool as OpenAI's chat completions API takes it. */
export interface OpenAITool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: Json };
}

/** A tool as Gemini's generateContent API takes it; a tool without parameters has no such field. */
export interface GeminiTool {
  readonly name: string;
  readonly description: string;
  readonly parameters?: Json;
}

/** What can be asked of any selection of tools: a registry, a view of it, a snapshot. */
export interface ToolView {
  readonly size: number;
  get(name: string): Tool | undefined;
  has(name: string): boolean;
  /** In registration order. */
  getAll(): readonly Tool[];
  listNames(): readonly string[];
  getByTag(tag: string): readonly Tool[];
  /** True for a tool that is sent to a model only after `tools_search` named it. */
  isDeferred(name: string): boolean;
  /** A live selection. Throws `RegistryError` `unknown_tool_in_filter` for a name that no tool has. */
  view(filter?: ToolFilter): ToolView;
  /** A fixed selection, with `extra` tools that only it has. */
  snapshot(filter?: ToolFilter, extra?: readonly Tool[]): ToolView;
  /** Covers every tool, independent of order and locale. */
  digest(): Digest;
  /** Runs one call; a name outside the selection is `unknown_tool`. Never throws for the model's or a tool's mistakes. */
  execute(name: string, args: unknown, context?: CallContext): Promise<CallResult>;
  /** What the model reads of a result of one of these tools. */
  contentForModel(name: string, result: CallResult, reader: ReaderContext): Promise<ModelContent>;
  toAnthropicFormat(): readonly AnthropicTool[];
  toOpenAIFormat(): readonly OpenAITool[];
  toGeminiFormat(): readonly GeminiTool[];
}

/** A registered tool. */
export interface ToolEntry {
  readonly tool: Tool;
  readonly deferred: boolean;
}

/** Where a view finds its tools; `version` changes whenever they do. */
export interface ToolSource {
  readonly version: number;
  entries(): ReadonlyMap<string, ToolEntry>;
}

/** The one implementation of `ToolView`. */
export class SelectedTools implements ToolView {
  readonly #runtime: CallRuntime;
  readonly #source: ToolSource;
  #tools: ReadonlyMap<string, Tool> | undefined;
  #digest: Digest | undefined;
  #version = -1;
  /** The snapshot of everything: it is fixed, so the runs of one version share it. */
  #whole: { readonly version: number; readonly view: ToolView } | undefined;

  constructor(runtime: CallRuntime, source: ToolSource) {
    this.#runtime = runtime;
    this.#source = source;
  }

  get size(): number {
    return this.#current().size;
  }

  get(name: string): Tool | undefined {
    return this.#current().get(name);
  }

  has(name: string): boolean {
    return this.#current().has(name);
  }

  getAll(): readonly Tool[] {
    return [...this.#current().values()];
  }

  listNames(): readonly string[] {
    return [...this.#current().keys()];
  }

  getByTag(tag: string): readonly Tool[] {
    return this.getAll().filter((tool) => tool.tags.includes(tag));
  }

  isDeferred(name: string): boolean {
    return this.#source.entries().get(name)?.deferred === true;
  }

  view(filter: ToolFilter = {}): ToolView {
    checkNames(filter, this.listNames());
    return new SelectedTools(this.#runtime, selectLive(this.#source, filter));
  }

  snapshot(filter: ToolFilter = {}, extra: readonly Tool[] = []): ToolView {
    const whole = extra.length === 0 && Object.keys(filter).length === 0;
    if (whole && this.#whole?.version === this.#source.version) return this.#whole.view;
    checkNames(filter, this.listNames());
    const entries = new Map(select(this.#source.entries(), filter));
    for (const tool of extra) entries.set(tool.name, { tool, deferred: false });
    const view = new SelectedTools(this.#runtime, { version: 0, entries: () => entries });
    if (whole) this.#whole = { version: this.#source.version, view };
    return view;
  }

  digest(): Digest {
    const tools = this.#current();
    this.#digest ??= digest(
      "registry/1",
      sortedByName(tools).map((tool) => [tool.name, tool.digest]),
    );
    return this.#digest;
  }

  execute(name: string, args: unknown, context: CallContext = {}): Promise<CallResult> {
    return executeCall(this.#runtime, this.#current(), { name, args, context });
  }

  contentForModel(name: string, result: CallResult, reader: ReaderContext): Promise<ModelContent> {
    return contentForModel(this.#runtime, { tool: this.get(name), result }, reader);
  }

  toAnthropicFormat(): readonly AnthropicTool[] {
    return this.#compiled("anthropic", (tool, { schema }) => ({ ...labels(tool), input_schema: schema }));
  }

  toOpenAIFormat(): readonly OpenAITool[] {
    return this.#compiled("openai", (tool, { schema }) => ({
      type: "function",
      function: { ...labels(tool), parameters: schema },
    }));
  }

  toGeminiFormat(): readonly GeminiTool[] {
    return this.#compiled("gemini-openapi", (tool, { schema }) =>
      schema === null ? labels(tool) : { ...labels(tool), parameters: schema },
    );
  }

  #compiled<T>(
    dialect: Parameters<typeof compileSchema>[1],
    encode: (tool: Tool, schema: CompiledSchema) => T,
  ): readonly T[] {
    return sortedByName(this.#current()).map((tool) => encode(tool, compileSchema(tool.parameters, dialect)));
  }

  #current(): ReadonlyMap<string, Tool> {
    if (this.#tools === undefined || this.#version !== this.#source.version) {
      this.#version = this.#source.version;
      this.#tools = new Map([...this.#source.entries()].map(([name, entry]) => [name, entry.tool]));
      this.#digest = undefined;
    }
    return this.#tools;
  }
}

function labels(tool: Tool): { readonly name: string; readonly description: string } {
  return { name: tool.name, description: describeTool(tool) };
}

// By code unit, so that the order does not depend on a locale.
function sortedByName(tools: ReadonlyMap<string, Tool>): readonly Tool[] {
  return [...tools.values()].sort((left, right) => (left.name < right.name ? -1 : 1));
}

function selectLive(source: ToolSource, filter: ToolFilter): ToolSource {
  return {
    get version() {
      return source.version;
    },
    entries: () => select(source.entries(), filter),
  };
}

function select(entries: ReadonlyMap<string, ToolEntry>, filter: ToolFilter): ReadonlyMap<string, ToolEntry> {
  const { names, tags, exclude = [], effects } = filter;
  const everything = names === undefined && tags === undefined;
  return new Map(
    [...entries].filter(([name, { tool }]) => {
      const picked =
        everything || names?.includes(name) === true || tags?.some((tag) => tool.tags.includes(tag)) === true;
      const allowed = effects === undefined || effects.includes(tool.contract.effects.kind);
      return picked && allowed && !exclude.includes(name);
    }),
  );
}

function checkNames(filter: ToolFilter, known: readonly string[]): void {
  for (const name of [...(filter.names ?? []), ...(filter.exclude ?? [])]) {
    if (known.includes(name)) continue;
    const [suggestion] = nearest(name, known, 1);
    throw new RegistryError(`The filter names "${name}", which no tool has.`, {
      code: "unknown_tool_in_filter",
      hint:
        suggestion === undefined
          ? `There are: ${known.join(", ") || "none"}.`
          : `Did you mean "${suggestion}"?`,
    });
  }
}

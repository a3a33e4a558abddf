/** The tools of one run: its snapshot, what the model may see of it, and how more is revealed. */

import type { ModelTool } from "./adapter.ts";
import { defined } from "./defined.ts";
import { describeTool } from "./model-content.ts";
import { ok } from "./result.ts";
import type { ToolSummary } from "./run-event.ts";
import { unchanging } from "./sealed.ts";
import { type Tool, defineTool } from "./tool.ts";
import type { ToolView } from "./tool-view.ts";

/** The name of the built-in tool that reveals deferred ones. */
export const TOOLS_SEARCH = "tools_search";

const MAX_FOUND = 10;

/** What is the same for every run over one snapshot. */
interface Listing {
  readonly sorted: readonly Tool[];
  readonly summaries: readonly ToolSummary[];
  readonly waivers: readonly string[];
  readonly listed: readonly ModelTool[];
  readonly definitions: readonly object[];
}

const LISTINGS = new WeakMap<ToolView, Listing>(); // a cache by identity: snapshots are fixed, so it holds no state

/** A fixed selection of tools and the list that is sent to the model. */
export class RunTools {
  readonly view: ToolView;
  readonly #listing: Listing;
  readonly #revealed: string[] = [];
  #listed: readonly ModelTool[];

  constructor(tools: ToolView) {
    const deferred = tools.getAll().filter((tool) => tools.isDeferred(tool.name));
    this.view = tools.snapshot({}, deferred.length === 0 ? [] : [createToolsSearch(deferred)]);
    this.#listing = LISTINGS.get(this.view) ?? listingOf(this.view);
    LISTINGS.set(this.view, this.#listing);
    this.#listed = this.#listing.listed;
  }

  /** What the record keeps of each tool, sorted by name. */
  summaries(): readonly ToolSummary[] {
    return this.#listing.summaries;
  }

  /** The waivers of destructive tools. */
  waivers(): readonly string[] {
    return this.#listing.waivers;
  }

  /** Definitions as data, so that a record file can be replayed alone. */
  definitions(): readonly object[] {
    return this.#listing.definitions;
  }

  /**
   * The tools the model sees: sorted by name, then the revealed ones in the order revealed, so that the prefix of
   * consecutive requests stays the same. The same array until something is revealed.
   */
  listed(): readonly ModelTool[] {
    return this.#listed;
  }

  /** Reveals deferred tools; returns those that were not revealed yet. */
  reveal(names: readonly string[]): readonly string[] {
    const fresh = names.filter((name) => this.view.isDeferred(name) && !this.#revealed.includes(name));
    this.#revealed.push(...fresh);
    const tools = fresh.flatMap((name) => this.view.get(name) ?? []);
    if (tools.length > 0) this.#listed = [...this.#listed, ...tools.map(toModelTool)];
    return fresh;
  }
}

function listingOf(view: ToolView): Listing {
  const sorted = [...view.getAll()].sort((left, right) => (left.name < right.name ? -1 : 1));
  return {
    sorted,
    summaries: sorted.map(({ name, digest, contract }) => ({
      contractVersion: contract.version,
      digest,
      effects: contract.effects.kind,
      name,
    })),
    waivers: sorted.flatMap(({ contract }) => contract.authority.waiver ?? []),
    listed: sorted.filter((tool) => !view.isDeferred(tool.name)).map(toModelTool),
    definitions: unchanging(
      sorted.map(({ name, description, parameters, output, contract, tags, strict, examples }) => {
        const deferred = view.isDeferred(name) || undefined;
        return defined({ name, description, parameters, output, contract, tags, strict, examples, deferred });
      }),
    ),
  };
}

const MODEL_TOOLS = new WeakMap<Tool, ModelTool>(); // a cache by identity: tools are frozen, so it holds no state

function toModelTool(tool: Tool): ModelTool {
  const { name, parameters, examples } = tool;
  const fresh = {
    name,
    description: describeTool(tool),
    inputSchema: parameters,
    ...(examples === undefined ? {} : { examples }),
  };
  const known = MODEL_TOOLS.get(tool) ?? Object.freeze(fresh);
  MODEL_TOOLS.set(tool, known);
  return known;
}

function createToolsSearch(deferred: readonly Tool[]): Tool {
  return defineTool({
    name: TOOLS_SEARCH,
    description: `Finds more tools by name or purpose; ${deferred.length} are not listed. Those found can then be called.`,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", minLength: 1, description: "What the tool should do, in a few words." },
      },
      required: ["query"],
    },
    contract: "read",
    handler: ({ query }) => {
      const found = rank(deferred, query).slice(0, MAX_FOUND);
      return ok({ tools: found.map(({ name, description }) => ({ name, description })) });
    },
  });
}

function rank(tools: readonly Tool[], query: string): readonly Tool[] {
  const words = wordsOf(query);
  const scored = tools
    .map((tool) => ({ tool, score: scoreOf(tool, words) }))
    .filter(({ score }) => score > 0);
  return scored
    .sort((left, right) => right.score - left.score || (left.tool.name < right.tool.name ? -1 : 1))
    .map(({ tool }) => tool);
}

function scoreOf(tool: Tool, words: readonly string[]): number {
  const name = new Set(wordsOf(tool.name));
  const text = new Set(wordsOf(`${tool.description} ${tool.tags.join(" ")}`));
  return words.reduce((score, word) => score + (name.has(word) ? 3 : 0) + (text.has(word) ? 1 : 0), 0);
}

function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1);
}

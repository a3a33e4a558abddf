/** The one place tools live, and the only door to the code that runs a handler. */

import type { ArtifactStore } from "./artifact.ts";
import type { PolicyPort } from "./authority.ts";
import {
  type CallContext,
  type CallEvents,
  type CallLimits,
  type CallRuntime,
  DEFAULT_CALL_LIMITS,
} from "./call-context.ts";
import { ContractError, ConfigError, RegistryError } from "./errors.ts";
import { KeyedLock, createGate } from "./gate.ts";
import { type Logger, silentLogger } from "./logger.ts";
import type { ReaderContext } from "./model-content.ts";
import { type Ports, createPorts } from "./ports.ts";
import type { CallResult, ModelContent } from "./result.ts";
import { type Tool, type ToolDefinition, defineTool, isTool } from "./tool.ts";
import {
  type AnthropicTool,
  type GeminiTool,
  type OpenAITool,
  SelectedTools,
  type ToolEntry,
  type ToolFilter,
  type ToolView,
} from "./tool-view.ts";
import type { Digest } from "./digest.ts";
import { warmValidators } from "./validate.ts";

/** What happens to a name that is taken: an error (default), the new tool, or the old one. */
export type ConflictPolicy = "error" | "replace" | "keep";

/** Options of a registry. */
export interface RegistryOptions {
  readonly onConflict?: ConflictPolicy;
  readonly policy?: PolicyPort;
  /** Where results too long for a model are kept for `read_artifact`. */
  readonly artifacts?: ArtifactStore;
  readonly limits?: Partial<CallLimits>;
  readonly logger?: Logger;
  readonly ports?: Partial<Ports>;
}

/** Options of a registration. */
export interface RegisterOptions {
  readonly onConflict?: ConflictPolicy;
  /** Sent to the model only after `tools_search` named it. Default false. */
  readonly deferred?: boolean;
}

/** What a registration did. */
export interface Registration {
  readonly name: string;
  readonly action: "registered" | "replaced" | "kept";
}

/** Events of a registry and of the calls through it. */
export interface RegistryEvents extends CallEvents {
  readonly "tool:registered": { readonly name: string };
  readonly "tool:replaced": { readonly name: string };
  readonly "tool:removed": { readonly name: string };
  readonly "registry:frozen": { readonly size: number };
}

/** Any definition a registry takes: checked by `defineTool` if it is not yet. */
export type AnyToolDefinition = Tool | ToolDefinition;

type Listener = (data: never) => void;

/**
 * Holds tools by name and runs them. Throws `RegistryError` for duplicate names and for changes after `freeze()`.
 */
export class ToolRegistry implements ToolView {
  readonly #entries = new Map<string, ToolEntry>();
  readonly #listeners = new Map<keyof RegistryEvents, Set<Listener>>();
  readonly #onConflict: ConflictPolicy;
  readonly #runtime: CallRuntime;
  readonly #all: SelectedTools;
  #version = 0;
  #frozen = false;

  constructor(options: RegistryOptions = {}) {
    this.#onConflict = options.onConflict ?? "error";
    this.#runtime = this.#createRuntime(options);
    const version = (): number => this.#version;
    this.#all = new SelectedTools(this.#runtime, {
      get version() {
        return version();
      },
      entries: () => this.#entries,
    });
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Adds one tool, through `defineTool` if it is a plain definition. */
  register(tool: AnyToolDefinition, options: RegisterOptions = {}): Registration {
    const [done] = this.registerAll([tool], options);
    if (done === undefined) throw new RegistryError("Nothing was registered.", { code: "invalid_tool" });
    return done;
  }

  /** Adds all tools or none: the whole batch is checked first. */
  registerAll(tools: readonly AnyToolDefinition[], options: RegisterOptions = {}): readonly Registration[] {
    this.#checkOpen();
    const checked = tools.map((tool) => (isTool(tool) ? tool : defineTool(tool)));
    const policy = options.onConflict ?? this.#onConflict;
    const plan = this.#plan(checked, policy);
    for (const { tool, action } of plan) this.#apply(tool, action, options.deferred === true);
    return plan.map(({ tool, action }) => ({ name: tool.name, action }));
  }

  /** Removes a tool; false where there is none. */
  unregister(name: string): boolean {
    this.#checkOpen();
    if (!this.#entries.delete(name)) return false;
    this.#version += 1;
    this.#notify("tool:removed", { name });
    return true;
  }

  /** Refuses later changes and checks that every tool a contract refers to exists. */
  freeze(): void {
    if (this.#frozen) return;
    checkReferences(this);
    this.#frozen = true;
    this.#notify("registry:frozen", { size: this.size });
  }

  /** Compiles every schema now, so that the first call does not pay for it. */
  async warm(): Promise<void> {
    await warmValidators(
      this.getAll().flatMap((tool) =>
        tool.output === undefined ? [tool.parameters] : [tool.parameters, tool.output],
      ),
    );
  }

  /** Listens; returns the function that stops listening. A listener that throws is reported to the logger. */
  on<E extends keyof RegistryEvents>(event: E, listener: (data: RegistryEvents[E]) => void): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** The tool of this name, or undefined. */
  get(name: string): Tool | undefined {
    return this.#entries.get(name)?.tool;
  }

  /** True where a tool has this name. */
  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** All tools in registration order. */
  getAll(): readonly Tool[] {
    return this.#all.getAll();
  }

  /** All names in registration order. */
  listNames(): readonly string[] {
    return this.#all.listNames();
  }

  /** The tools that carry exactly this tag. */
  getByTag(tag: string): readonly Tool[] {
    return this.#all.getByTag(tag);
  }

  /** True for a tool registered as deferred. */
  isDeferred(name: string): boolean {
    return this.#all.isDeferred(name);
  }

  /** A live, read-only selection. */
  view(filter?: ToolFilter): ToolView {
    return this.#all.view(filter);
  }

  /** A fixed selection. */
  snapshot(filter?: ToolFilter, extra?: readonly Tool[]): ToolView {
    return this.#all.snapshot(filter, extra);
  }

  /** Covers every tool, independent of order and locale. */
  digest(): Digest {
    return this.#all.digest();
  }

  /** Runs one call through the pipeline. */
  execute(name: string, args: unknown, context?: CallContext): Promise<CallResult> {
    return this.#all.execute(name, args, context);
  }

  /** What the model reads of a result. */
  contentForModel(name: string, result: CallResult, reader: ReaderContext): Promise<ModelContent> {
    return this.#all.contentForModel(name, result, reader);
  }

  /** The tools for Anthropic's Messages API, sorted by name. */
  toAnthropicFormat(): readonly AnthropicTool[] {
    return this.#all.toAnthropicFormat();
  }

  /** The tools for OpenAI's chat completions API, sorted by name. */
  toOpenAIFormat(): readonly OpenAITool[] {
    return this.#all.toOpenAIFormat();
  }

  /** The tools for Gemini's generateContent API, sorted by name. */
  toGeminiFormat(): readonly GeminiTool[] {
    return this.#all.toGeminiFormat();
  }

  #createRuntime(options: RegistryOptions): CallRuntime {
    const limits = { ...DEFAULT_CALL_LIMITS, ...options.limits };
    for (const [key, value] of Object.entries(limits)) {
      if (!Number.isInteger(value) || value < 1) {
        throw new ConfigError(`Registry limit "${key}" is ${String(value)}; use a whole number above 0.`, {
          code: "invalid_config",
        });
      }
    }
    return {
      ports: createPorts(options.ports),
      logger: options.logger ?? silentLogger,
      limits,
      scope: { gate: createGate(limits.maxConcurrent) },
      conflicts: new KeyedLock(),
      notify: (event, data) => this.#notify(event, data),
      ...(options.policy === undefined ? {} : { policy: options.policy }),
      ...(options.artifacts === undefined ? {} : { artifacts: options.artifacts }),
    };
  }

  #plan(
    tools: readonly Tool[],
    policy: ConflictPolicy,
  ): readonly { readonly tool: Tool; readonly action: Registration["action"] }[] {
    const taken = new Set(this.#entries.keys());
    return tools.map((tool) => {
      const known = taken.has(tool.name);
      taken.add(tool.name);
      if (!known) return { tool, action: "registered" };
      if (policy === "replace") return { tool, action: "replaced" };
      if (policy === "keep") return { tool, action: "kept" };
      throw new RegistryError(`A tool named "${tool.name}" is already registered.`, {
        code: "duplicate_tool",
        hint: 'Pass { onConflict: "replace" } or { onConflict: "keep" }, or give it another name.',
      });
    });
  }

  #apply(tool: Tool, action: Registration["action"], deferred: boolean): void {
    if (action === "kept") return;
    this.#entries.set(tool.name, { tool, deferred });
    this.#version += 1;
    this.#notify(action === "replaced" ? "tool:replaced" : "tool:registered", { name: tool.name });
  }

  #checkOpen(): void {
    if (!this.#frozen) return;
    throw new RegistryError("The registry is frozen; register tools before freeze().", {
      code: "registry_frozen",
    });
  }

  #notify(event: keyof RegistryEvents, data: RegistryEvents[keyof RegistryEvents]): void {
    for (const listener of this.#listeners.get(event) ?? []) {
      try {
        listener(data as never); // Proof: `on` stored it under the event whose data it takes
      } catch (cause) {
        this.#runtime.logger.error(`A listener of "${event}" threw.`, { cause: String(cause) });
      }
    }
  }
}

/** Throws `ContractError` where a contract of the view names a tool that the view does not have. */
function checkReferences(tools: ToolView): void {
  for (const { name, contract } of tools.getAll()) {
    const references = [
      ["effects.compensateWith", contract.effects.compensateWith],
      ["verification.readback.tool", contract.verification?.readback?.tool],
    ] as const;
    for (const [path, target] of references) {
      if (target === undefined || tools.has(target)) continue;
      throw new ContractError(`Tool "${name}" names "${target}" at ${path}, which is not registered.`, {
        path,
      });
    }
  }
}

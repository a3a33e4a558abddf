/** The one place tools live, and the only door to the code that runs a handler. */

import { describeThrown } from "./describe-thrown.ts";
import type { ArtifactStore } from "./artifact.ts";
import type { ApprovalStore } from "./approval-store.ts";
import type { PolicyPort } from "./authority.ts";
import { type CallEvents, type CallLimits, type CallRuntime, DEFAULT_CALL_LIMITS } from "./call-context.ts";
import type { EffectLedger } from "./effect-ledger.ts";
import { ContractError, ConfigError, RegistryError } from "./errors.ts";
import { KeyedLock, createGate } from "./gate.ts";
import { type Logger, quietLogger } from "./logger.ts";
import { type Ports, createPorts } from "./ports.ts";
import { type Tool, type ToolDefinition, defineTool, isTool } from "./tool.ts";
import { SelectedTools, type ToolEntry, type ToolSource, type ToolView } from "./tool-view.ts";
import { warmValidators } from "./validate.ts";

/** What happens to a name that is taken: an error (default), the new tool, or the old one. */
export type ConflictPolicy = "error" | "replace" | "keep";

/** Options of a registry. */
export interface RegistryOptions {
  readonly onConflict?: ConflictPolicy;
  readonly policy?: PolicyPort;
  /** Where calls that need a person are asked about. Without it they are refused. */
  readonly approvals?: ApprovalStore;
  /** The account of calls with effects. Without it a key is handed to the handler and kept by nobody. */
  readonly ledger?: EffectLedger;
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

/** What a registry holds: tools by name, listeners by event, and the version that views follow. */
class Shelf implements ToolSource {
  readonly tools = new Map<string, ToolEntry>();
  readonly listeners = new Map<keyof RegistryEvents, Set<Listener>>();
  readonly logger: Logger;
  version = 0;

  constructor(logger: Logger) {
    this.logger = logger;
  }

  entries(): ReadonlyMap<string, ToolEntry> {
    return this.tools;
  }

  /** Changes what is held, and tells whoever listens. */
  change(
    event: "tool:registered" | "tool:replaced" | "tool:removed",
    name: string,
    change: () => void,
  ): void {
    change();
    this.version += 1;
    this.notify(event, { name });
  }

  notify(event: keyof RegistryEvents, data: RegistryEvents[keyof RegistryEvents]): void {
    for (const listener of this.listeners.get(event) ?? []) {
      try {
        listener(data as never); // Proof: `on` stored it under the event whose data it takes
      } catch (cause) {
        this.logger.error(`A listener of "${event}" threw.`, { cause: describeThrown(cause) });
      }
    }
  }
}

/**
 * Holds tools by name and runs them. Throws `RegistryError` for duplicate names and for changes after `freeze()`.
 */
export class ToolRegistry extends SelectedTools {
  readonly #shelf: Shelf;
  readonly #onConflict: ConflictPolicy;
  #frozen = false;

  constructor(options: RegistryOptions = {}) {
    const shelf = new Shelf(quietLogger(options.logger));
    super(createRuntime(options, shelf), shelf);
    this.#shelf = shelf;
    this.#onConflict = options.onConflict ?? "error";
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
    const plan = this.#plan(checked, options.onConflict ?? this.#onConflict);
    for (const { tool, action } of plan) {
      if (action === "kept") continue;
      const entry = { tool, deferred: options.deferred === true };
      this.#shelf.change(`tool:${action}`, tool.name, () => this.#shelf.tools.set(tool.name, entry));
    }
    return plan.map(({ tool, action }) => ({ name: tool.name, action }));
  }

  /** Removes a tool; false where there is none. */
  unregister(name: string): boolean {
    this.#checkOpen();
    if (!this.has(name)) return false;
    this.#shelf.change("tool:removed", name, () => this.#shelf.tools.delete(name));
    return true;
  }

  /** Refuses later changes and checks that every tool a contract refers to exists. */
  freeze(): void {
    if (this.#frozen) return;
    checkReferences(this);
    this.#frozen = true;
    this.#shelf.notify("registry:frozen", { size: this.size });
  }

  /** Compiles every schema now, so that the first call does not pay for it. */
  async warm(): Promise<void> {
    await warmValidators(
      this.getAll().flatMap(({ parameters, output }) => [parameters, output ?? []].flat()),
    );
  }

  /** Listens; returns the function that stops listening. A listener that throws is reported to the logger. */
  on<E extends keyof RegistryEvents>(event: E, listener: (data: RegistryEvents[E]) => void): () => void {
    const listeners = this.#shelf.listeners.get(event) ?? new Set();
    this.#shelf.listeners.set(event, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  #plan(
    tools: readonly Tool[],
    policy: ConflictPolicy,
  ): readonly { readonly tool: Tool; readonly action: Registration["action"] }[] {
    const taken = new Set(this.listNames());
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

  #checkOpen(): void {
    if (!this.#frozen) return;
    throw new RegistryError("The registry is frozen; register tools before freeze().", {
      code: "registry_frozen",
    });
  }
}

function createRuntime(options: RegistryOptions, shelf: Shelf): CallRuntime {
  const limits = { ...DEFAULT_CALL_LIMITS, ...options.limits };
  for (const [key, value] of Object.entries(limits)) {
    if (Number.isInteger(value) && value > 0) continue;
    throw new ConfigError(`Registry limit "${key}" is ${String(value)}; use a whole number above 0.`, {
      code: "invalid_config",
    });
  }
  return {
    ports: createPorts(options.ports),
    logger: shelf.logger,
    limits,
    scope: { gate: createGate(limits.maxConcurrent) },
    conflicts: new KeyedLock(),
    notify: (event, data) => shelf.notify(event, data),
    ...(options.policy === undefined ? {} : { policy: options.policy }),
    ...(options.approvals === undefined ? {} : { approvals: options.approvals }),
    ...(options.ledger === undefined ? {} : { ledger: options.ledger }),
    ...(options.artifacts === undefined ? {} : { artifacts: options.artifacts }),
  };
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

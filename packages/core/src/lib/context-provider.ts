/** How an outside system becomes tools and context. */

import { defined } from "./defined.ts";
import { ConfigError, ContextProviderError, OpenFunctionsError } from "./errors.ts";
import type { Json } from "./json.ts";
import type { Logger } from "./logger.ts";
import type { Ports } from "./ports.ts";
import type { AnyToolDefinition, ToolRegistry } from "./registry.ts";
import type { JsonSchemaObject } from "./schema.ts";
import { type Tool, defineTool, isTool } from "./tool.ts";

/** What a provider can do. */
export type ProviderCapability =
  | "tasks"
  | "projects"
  | "calendar"
  | "knowledge"
  | "people"
  | "organizations"
  | "codebase"
  | "vault"
  | "datasets"
  | "documents"
  | `x-${string}`;

/** What is known of a provider before it connects. Cheap: no network, file or environment read. */
export interface ProviderMetadata {
  /** `/^[a-z][a-z0-9_]{0,30}$/`. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly version?: string;
  readonly capabilities: readonly ProviderCapability[];
  readonly auth?: {
    readonly kind: "none" | "pat" | "oauth" | "api_key" | "local";
    readonly envVar?: string;
    readonly setupUrl?: string;
    readonly instructions?: string;
  };
  readonly configSchema?: JsonSchemaObject;
}

/** A provider's own settings; `id` tells two accounts of one system apart. */
export type ProviderConfig = Readonly<Record<string, Json>>;

/** What a connecting provider is given. */
export interface ProviderConnectOptions {
  readonly signal?: AbortSignal;
  readonly logger?: Logger;
  readonly fetch?: typeof fetch;
  readonly ports?: Ports;
  readonly owner?: string;
}

/** A provider that can be connected. */
export interface ContextProvider {
  readonly metadata: ProviderMetadata;
  connect(config?: ProviderConfig, options?: ProviderConnectOptions): Promise<ConnectedProvider>;
}

/** Text for a prompt. `remote` text is fenced as data. */
export interface ContextBlock {
  readonly sections: readonly {
    readonly title: string;
    readonly text: string;
    readonly trust?: "owner" | "remote";
  }[];
}

/** What a block is built for. */
export interface ContextRequest {
  readonly signal: AbortSignal;
  readonly maxChars: number;
  readonly now: Date;
  readonly timeZone: string;
  readonly task?: string;
}

/** A connected provider. Nothing it returns, throws or logs holds its credential. */
export interface ConnectedProvider {
  readonly metadata: ProviderMetadata;
  /** Every tool has a contract. */
  createTools(): readonly AnyToolDefinition[];
  buildContext?(request: ContextRequest): Promise<ContextBlock | string | undefined>;
  healthCheck?(signal: AbortSignal): Promise<{ readonly ok: boolean; readonly error?: string }>;
  onToolsChanged?(listener: () => void): () => void;
  disconnect?(): Promise<void>;
}

/** Options of `connectProvider`. */
export interface ConnectProviderOptions extends ProviderConnectOptions {
  readonly config?: ProviderConfig;
  /** Default 10 000. */
  readonly connectTimeoutMs?: number;
  /** A tool name the registry has: the registry's is kept (default), or connecting fails. */
  readonly onConflict?: "keep" | "error";
  /** Only these of the provider's tools. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/** A provider whose tools are in a registry. */
export interface ProviderConnection {
  readonly provider: ConnectedProvider;
  /** The id, or `config.id` where one was given. */
  readonly id: string;
  readonly registered: readonly string[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  /** Removes exactly its tools and disconnects; safe to call twice. */
  dispose(): Promise<void>;
}

const PROVIDER_ID = /^[a-z][a-z0-9_]{0,30}$/;
const CONNECTED = new WeakMap<ToolRegistry, Set<string>>(); // per registry, by identity: which provider ids it holds

/**
 * Connects with a deadline and registers the provider's tools as one batch, tagged `context` and `context:<id>`. On
 * failure nothing stays open or registered; the error names id and phase. The same id twice is a `ConfigError`.
 */
export async function connectProvider(
  provider: ContextProvider,
  registry: ToolRegistry,
  options: ConnectProviderOptions = {},
): Promise<ProviderConnection> {
  const given = options.config?.["id"];
  const id = typeof given === "string" ? given : provider.metadata.id;
  const release = claimId(registry, id);
  try {
    const connected = await connectInTime(provider, id, options);
    return await registerTools({ connected, id, registry, release }, options);
  } catch (cause) {
    release();
    throw cause;
  }
}

function claimId(registry: ToolRegistry, id: string): () => void {
  if (!PROVIDER_ID.test(id)) {
    const rule = "must be a-z, 0-9 and _, beginning with a letter, at most 31 characters";
    throw new ConfigError(`Provider id "${id}" ${rule}.`, { code: "bad_id" });
  }
  const ids = CONNECTED.get(registry) ?? new Set();
  CONNECTED.set(registry, ids);
  if (ids.has(id)) {
    throw new ConfigError(`Provider "${id}" is already connected to this registry.`, {
      code: "invalid_config",
      hint: 'Give the second account its own id: { config: { id: "other" } }.',
    });
  }
  ids.add(id);
  return () => void ids.delete(id);
}

async function connectInTime(
  provider: ContextProvider,
  id: string,
  options: ConnectProviderOptions,
): Promise<ConnectedProvider> {
  const { config, connectTimeoutMs: ms = 10_000, signal, logger, fetch, ports, owner } = options;
  let connecting: Promise<ConnectedProvider> | undefined;
  try {
    return await inTime({ ms, signal }, (both) => {
      connecting = provider.connect(config, defined({ signal: both, logger, fetch, ports, owner }));
      return connecting;
    });
  } catch (cause) {
    // A provider that connects after its deadline is closed again.
    void connecting?.then((late) => late.disconnect?.()).catch(() => {});
    if (signal?.aborted === true) throw signal.reason;
    if (OpenFunctionsError.is(cause)) throw cause;
    const isLate = isTimeout(cause);
    const message = `Provider "${id}" could not connect${isLate ? ` within ${ms} ms` : ""}.`;
    throw new ContextProviderError(message, { code: isLate ? "connect_timeout" : "connect_failed", cause });
  }
}

/** Runs a task with a signal of its own; rejects with the signal's reason when time is up or the caller aborts. */
export async function inTime<T>(
  { ms, signal }: { readonly ms: number; readonly signal?: AbortSignal | undefined },
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const both = AbortSignal.any([AbortSignal.timeout(ms), ...(signal === undefined ? [] : [signal])]);
  both.throwIfAborted();
  return new Promise((resolve, reject) => {
    both.addEventListener("abort", () => reject(both.reason), { once: true });
    task(both).then(resolve, (cause: unknown) => reject(both.aborted ? both.reason : cause));
  });
}

/** True for the reason of a deadline of `inTime`. */
export function isTimeout(cause: unknown): boolean {
  return cause instanceof DOMException && cause.name === "TimeoutError";
}

interface Connecting {
  readonly connected: ConnectedProvider;
  readonly id: string;
  readonly registry: ToolRegistry;
  readonly release: () => void;
}

async function registerTools(
  { connected, id, registry, release }: Connecting,
  { include, exclude = [], onConflict = "keep" }: ConnectProviderOptions,
): Promise<ProviderConnection> {
  const isWanted = ({ name }: Tool): boolean => include?.includes(name) !== false && !exclude.includes(name);
  const registered: string[] = [];
  const skipped: { readonly name: string; readonly reason: string }[] = [];
  const removeAll = (): void => registered.splice(0).forEach((name) => registry.unregister(name));
  const replaceAll = (): void => {
    const next = tagged(connected.createTools(), id).filter(isWanted);
    removeAll();
    const free = onConflict === "error" ? next : next.filter((tool) => !registry.has(tool.name));
    const taken = next.filter((tool) => !free.includes(tool));
    const reason = "the registry already has a tool of this name";
    skipped.splice(0, skipped.length, ...taken.map(({ name }) => ({ name, reason })));
    registered.push(...registry.registerAll(free).map(({ name }) => name));
  };
  try {
    replaceAll();
  } catch (cause) {
    await connected.disconnect?.();
    throw cause;
  }
  const stopListening = connected.onToolsChanged?.(replaceAll);
  let disposed = false;
  const dispose = async (): Promise<void> => {
    if (disposed) return;
    disposed = true;
    stopListening?.();
    removeAll();
    release();
    await connected.disconnect?.();
  };
  return { provider: connected, id, registered, skipped, dispose };
}

function tagged(tools: readonly AnyToolDefinition[], id: string): readonly Tool[] {
  return tools.map((tool) => {
    const tags = [...new Set([...(tool.tags ?? []), "context", `context:${id}`])];
    return isTool(tool) ? defineTool({ ...tool, tags }) : defineTool({ ...tool, tags });
  });
}

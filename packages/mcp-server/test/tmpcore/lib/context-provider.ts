/** How an outside system becomes tools and context. */

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
  /** A tool name the registry has: kept (default), or an error. */
  readonly onConflict?: "keep" | "error";
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
  const id = typeof options.config?.["id"] === "string" ? options.config["id"] : provider.metadata.id;
  claimId(registry, id);
  try {
    const connected = await connectInTime(provider, id, options);
    return await registerTools({ connected, id }, registry, options);
  } catch (cause) {
    CONNECTED.get(registry)?.delete(id);
    throw cause;
  }
}

function claimId(registry: ToolRegistry, id: string): void {
  if (!PROVIDER_ID.test(id)) {
    throw new ConfigError(
      `Provider id "${id}" must be a-z, 0-9 and _, beginning with a letter, at most 31 characters.`,
      { code: "bad_id" },
    );
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
}

const CONNECT_TIMEOUT_MS = 10_000;

async function connectInTime(
  provider: ContextProvider,
  id: string,
  options: ConnectProviderOptions,
): Promise<ConnectedProvider> {
  const { config, connectTimeoutMs = CONNECT_TIMEOUT_MS, signal, logger, fetch, ports, owner } = options;
  const deadline = AbortSignal.timeout(connectTimeoutMs);
  const both = signal === undefined ? deadline : AbortSignal.any([deadline, signal]);
  const given = { logger, fetch, ports, owner };
  const connecting = provider.connect(config, { signal: both, ...withoutUndefined(given) });
  const aborted = new Promise<never>((_resolve, reject) => {
    both.addEventListener("abort", () => reject(both.reason), { once: true });
  });
  try {
    return await Promise.race([connecting, aborted]);
  } catch (cause) {
    // A provider that connects after its deadline is closed again.
    void connecting.then((late) => late.disconnect?.()).catch(() => {});
    if (signal?.aborted === true) throw signal.reason;
    if (OpenFunctionsError.is(cause) && !deadline.aborted) throw cause;
    throw new ContextProviderError(
      `Provider "${id}" could not connect${deadline.aborted ? ` within ${connectTimeoutMs} ms` : ""}.`,
      {
        code: deadline.aborted ? "connect_timeout" : "connect_failed",
        cause,
      },
    );
  }
}

type Without<T> = { -readonly [K in keyof T]?: NonNullable<T[K]> };

function withoutUndefined<T extends object>(options: T): Without<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Without<T>; // Proof: only undefined values are gone
}

async function registerTools(
  { connected, id }: { readonly connected: ConnectedProvider; readonly id: string },
  registry: ToolRegistry,
  options: ConnectProviderOptions,
): Promise<ProviderConnection> {
  const registered: string[] = [];
  const skipped: { readonly name: string; readonly reason: string }[] = [];
  const replaceAll = (): void => {
    const next = selectTools(connected, id, options);
    for (const name of registered.splice(0)) registry.unregister(name);
    skipped.length = 0;
    const free = next.filter((tool) => !registry.has(tool.name) || options.onConflict === "error");
    const taken = next.filter((tool) => !free.includes(tool));
    registered.push(...registry.registerAll(free).map(({ name }) => name));
    skipped.push(
      ...taken.map(({ name }) => ({ name, reason: "the registry already has a tool of this name" })),
    );
  };
  try {
    replaceAll();
  } catch (cause) {
    await connected.disconnect?.();
    throw cause;
  }
  const stopListening = connected.onToolsChanged?.(replaceAll);
  let disposed = false;
  return {
    provider: connected,
    id,
    registered,
    skipped,
    dispose: async () => {
      if (disposed) return;
      disposed = true;
      stopListening?.();
      for (const name of registered.splice(0)) registry.unregister(name);
      CONNECTED.get(registry)?.delete(id);
      await connected.disconnect?.();
    },
  };
}

function selectTools(
  connected: ConnectedProvider,
  id: string,
  { include, exclude = [] }: ConnectProviderOptions,
): readonly Tool[] {
  return connected
    .createTools()
    .filter(({ name }) => (include === undefined || include.includes(name)) && !exclude.includes(name))
    .map((tool) => {
      const tags = [...new Set([...(tool.tags ?? []), "context", `context:${id}`])];
      return isTool(tool) ? defineTool({ ...tool, tags }) : defineTool({ ...tool, tags });
    });
}

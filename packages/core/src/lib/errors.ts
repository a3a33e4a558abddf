/** Every deliberate failure: a code, and (by table, so they cannot disagree) whose move it is. */

import { defined } from "./defined.ts";

/** The one table: each stable code and whose move it is. Renaming a code is a breaking change. */
const FAULT_BY_CODE = {
  invalid_tool: "developer",
  invalid_contract: "developer",
  duplicate_tool: "developer",
  unknown_tool_in_filter: "developer",
  registry_frozen: "developer",
  invalid_config: "developer",
  package_missing: "developer",
  unsupported: "developer",
  missing_key: "developer",
  no_model: "developer",
  bad_store_name: "developer",
  bad_prompt: "developer",
  bad_chunking: "developer",
  owner_required: "developer",
  bad_id: "developer",
  port_in_use: "developer",
  token_required: "developer",
  missing_values: "developer",
  invalid_argument: "developer",
  not_json: "developer",
  empty_document: "developer",
  unsupported_media: "developer",
  bad_filter: "developer",
  too_large: "developer",
  invalid_history: "developer",
  unknown_tool: "model",
  invalid_input: "model",
  repeated_call: "model",
  approval_required: "authority",
  not_permitted: "authority",
  approval_expired: "authority",
  approval_used: "authority",
  approval_mismatch: "authority",
  tool_failed: "tool",
  tool_timeout: "tool",
  invalid_result: "tool",
  quota_exceeded: "tool",
  conflict: "tool",
  outcome_unknown: "unknown",
  provider_failed: "provider",
  provider_auth: "provider",
  context_overflow: "provider",
  protocol_error: "provider",
  store_corrupt: "environment",
  store_locked: "environment",
  store_conflict: "environment",
  store_failed: "environment",
  store_closed: "environment",
  store_migration: "environment",
  embedding_failed: "environment",
  embedding_mismatch: "environment",
  no_pgvector: "environment",
  context_unavailable: "environment",
  connect_failed: "environment",
  connect_timeout: "environment",
  auth_required: "environment",
  blocked_address: "environment",
  fetch_failed: "environment",
  run_failed: "run",
  structured_output_failed: "run",
  record_invalid: "run",
  run_not_found: "run",
  resume_mismatch: "run",
  replay_failed: "run",
  cancelled: "cancelled",
} as const;

/** A stable error code. Codes are lower snake case and are API. */
export type ErrorCode = keyof typeof FAULT_BY_CODE;

/** Who has to act on a failure (spec core.md section 14). */
export type Fault = (typeof FAULT_BY_CODE)[ErrorCode] | "limit";

/** True for a code that openFunctions itself uses; a tool handler may not claim one of these. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(FAULT_BY_CODE, code);
}

/** What an error carries besides its message. */
export interface ErrorOptions {
  readonly code: ErrorCode;
  /** What would work, as one sentence. */
  readonly hint?: string;
  /** True where the same call may succeed later. Default false. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
  /** JSON-safe facts for programs; never secrets or argument values. */
  readonly details?: unknown;
}

const BRAND: unique symbol = Symbol.for("openfunctions.error") as never; // Proof: Symbol.for always returns one registered symbol; unique symbol only names it

/**
 * The base of every error thrown on purpose. Recognise it with `OpenFunctionsError.is(value)`, not
 * `instanceof`: one process can hold two copies of core.
 */
export class OpenFunctionsError extends Error {
  readonly code: ErrorCode;
  readonly fault: Fault;
  readonly hint?: string;
  readonly retryable: boolean;
  readonly details?: unknown;

  constructor(message: string, options: ErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.fault = FAULT_BY_CODE[options.code];
    this.retryable = options.retryable ?? false;
    if (options.hint !== undefined) this.hint = options.hint;
    if (options.details !== undefined) this.details = options.details;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for an error made by this or any other copy of core. */
  static is(value: unknown): value is OpenFunctionsError {
    return value instanceof Error && Reflect.get(value, BRAND) === true;
  }
}

/** A tool was defined wrongly; `field` is the property at fault. */
export class DefinitionError extends OpenFunctionsError {
  readonly field: string;
  readonly tool: string;
  constructor(message: string, options: { readonly field: string; readonly tool: string }) {
    super(message, { code: "invalid_tool", details: { field: options.field, tool: options.tool } });
    this.field = options.field;
    this.tool = options.tool;
  }
}

/** A capability contract breaks a rule; `path` is the dotted place, such as `idempotency.keyParam`. */
export class ContractError extends OpenFunctionsError {
  readonly path: string;
  constructor(message: string, options: { readonly path: string }) {
    super(message, { code: "invalid_contract", details: { path: options.path } });
    this.path = options.path;
  }
}

/** A registration, filter or lookup in a registry is wrong. */
export class RegistryError extends OpenFunctionsError {}

/** An option, key or environment is wrong or missing. */
export class ConfigError extends OpenFunctionsError {}

/** A value handed to a function of ours is not what it takes. */
export class InputError extends OpenFunctionsError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super(message, { code: "invalid_argument", ...options });
  }
}

/** A message history that cannot be repaired; `index` is the message at fault. */
export class HistoryError extends OpenFunctionsError {
  readonly index: number;
  constructor(message: string, options: { readonly index: number }) {
    super(message, { code: "invalid_history", details: { index: options.index } });
    this.index = options.index;
  }
}

/** A provider or a scripted model broke the adapter contract. */
export class ProtocolError extends OpenFunctionsError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super(message, { code: "protocol_error", ...options });
  }
}

/** The kinds of provider failure (spec adapters.md section 9). */
export type ProviderErrorKind =
  | "auth"
  | "permission"
  | "rate_limit"
  | "quota"
  | "overloaded"
  | "invalid_request"
  | "context_length"
  | "content_filter"
  | "not_found"
  | "timeout"
  | "network"
  | "cancelled"
  | "protocol";

/** What a provider failure carries. Times are milliseconds; `bodyExcerpt` is redacted and at most 2 KB. */
export interface ProviderErrorOptions {
  readonly provider: string;
  readonly kind: ProviderErrorKind;
  readonly status?: number;
  readonly retryAfterMs?: number;
  readonly requestId?: string;
  readonly bodyExcerpt?: string;
  readonly attempts?: number;
  /** Default: rate_limit, overloaded, timeout and network are retryable. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

const CODE_BY_KIND: Partial<Record<ProviderErrorKind, ErrorCode>> = {
  auth: "provider_auth",
  permission: "provider_auth",
  context_length: "context_overflow",
  protocol: "protocol_error",
};
const RETRYABLE_KINDS: readonly ProviderErrorKind[] = ["rate_limit", "overloaded", "timeout", "network"];

/** A model request failed. Made only in an adapter's `to-error.ts` and in the shared request helper. */
export class ProviderError extends OpenFunctionsError {
  readonly provider: string;
  readonly kind: ProviderErrorKind;
  readonly status?: number;
  readonly retryAfterMs?: number;
  readonly requestId?: string;
  readonly bodyExcerpt?: string;
  readonly attempts: number;

  constructor(message: string, options: ProviderErrorOptions) {
    super(message, {
      code: CODE_BY_KIND[options.kind] ?? "provider_failed",
      retryable: options.retryable ?? RETRYABLE_KINDS.includes(options.kind),
      cause: options.cause,
    });
    const { provider, kind, attempts = 1, status, retryAfterMs, requestId, bodyExcerpt } = options;
    Object.assign(this, defined({ status, retryAfterMs, requestId, bodyExcerpt }));
    this.provider = provider;
    this.kind = kind;
    this.attempts = attempts;
  }
}

/** A store could not do what it was asked. */
export class StoreError extends OpenFunctionsError {}

/** A context provider could not connect or answer. */
export class ContextProviderError extends OpenFunctionsError {}

/** A rule of the run record is broken (spec runs.md section 4). */
export class RecordError extends OpenFunctionsError {
  constructor(message: string, options: Partial<ErrorOptions> = {}) {
    super(message, { code: "record_invalid", ...options });
  }
}

/** An approval cannot be given or used; `code` says why. */
export class ApprovalError extends OpenFunctionsError {
  constructor(
    message: string,
    options: ErrorOptions & {
      readonly code: "approval_expired" | "approval_used" | "approval_mismatch" | "not_permitted";
    },
  ) {
    super(message, options);
  }
}

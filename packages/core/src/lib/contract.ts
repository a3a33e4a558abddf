/** The capability contract: what a tool may do, declared once and enforced by the pipeline. */

import { ContractError } from "./errors.ts";
import { isPlainObject } from "./json.ts";
import type { JsonSchemaObject } from "./schema.ts";

/** Who must agree before a call runs (spec core.md section 4). */
export type AuthorityLevel = "none" | "session" | "grant" | "human";

/** What a call does to the world. */
export type EffectKind = "none" | "read" | "write" | "destructive";

/** Whether an effect can be taken back. */
export type UndoKind = "not_needed" | "reversible" | "compensable" | "impossible";

/** Whether repeating a call repeats its effect. */
export type IdempotencyMode = "natural" | "keyed" | "none";

/** Ways in which an outcome can be checked. */
export type VerificationKind =
  | "receipt"
  | "state_readback"
  | "deterministic_oracle"
  | "external_reconciliation"
  | "semantic_review"
  | "human_judgment";

/** What an author writes. Everything left out has the default named at `NormalContract`. */
export interface CapabilityContract {
  /** Bump it when the meaning changes. */
  readonly version: string;
  readonly authority: {
    readonly level: AuthorityLevel;
    readonly scopes?: readonly string[];
    /** Why a destructive tool needs no grant; recorded in every run. */
    readonly waiver?: string;
  };
  readonly effects: {
    readonly kind: EffectKind;
    readonly domains?: readonly string[];
    readonly openWorld?: boolean;
    readonly undo?: UndoKind;
    readonly compensateWith?: string;
  };
  readonly idempotency: {
    readonly mode: IdempotencyMode;
    readonly keyParam?: string;
    readonly scope?: "call" | "run" | "task";
  };
  readonly concurrency?: {
    readonly parallelSafe?: boolean;
    readonly conflictParam?: string;
    readonly revisionParam?: string;
  };
  readonly limits?: {
    readonly timeoutMs?: number;
    readonly maxCallsPerRun?: number;
    readonly maxResultChars?: number;
  };
  readonly verification?: {
    readonly methods: readonly VerificationKind[];
    readonly coverage?: readonly string[];
    readonly readback?: { readonly tool: string; readonly argsFromResult: Readonly<Record<string, string>> };
  };
  readonly guidance?: { readonly useWhen?: readonly string[]; readonly avoidWhen?: readonly string[] };
}

/** The two shorthands: `"read"` is a free, natural read; `"write"` is the pessimistic default on purpose. */
export type ContractShorthand = "read" | "write";

/**
 * A contract with every default filled in: `openWorld` true, `undo` `not_needed` for none and read else
 * `impossible`, idempotency scope `run`, `parallelSafe` true for none and read else false, scopes empty.
 */
export interface NormalContract extends CapabilityContract {
  readonly authority: CapabilityContract["authority"] & { readonly scopes: readonly string[] };
  readonly effects: CapabilityContract["effects"] & { readonly openWorld: boolean; readonly undo: UndoKind };
  readonly idempotency: CapabilityContract["idempotency"] & { readonly scope: "call" | "run" | "task" };
  readonly concurrency: NonNullable<CapabilityContract["concurrency"]> & { readonly parallelSafe: boolean };
}

const SHORTHANDS: Record<ContractShorthand, CapabilityContract> = {
  read: {
    version: "1",
    authority: { level: "none" },
    effects: { kind: "read" },
    idempotency: { mode: "natural" },
  },
  write: {
    version: "1",
    authority: { level: "session" },
    effects: { kind: "write" },
    idempotency: { mode: "none" },
  },
};

/** True for an effect that leaves the world as it was. */
export function isReadOnly(contract: CapabilityContract): boolean {
  return contract.effects.kind === "none" || contract.effects.kind === "read";
}

/**
 * True where the contract allows an automatic repeat of a call whose outcome may be anything but `not_started`:
 * reads, and writes that are idempotent.
 */
export function isRepeatable(contract: CapabilityContract): boolean {
  return isReadOnly(contract) || contract.idempotency.mode !== "none";
}

/**
 * Expands a shorthand, fills defaults, checks every define-time rule. No contract at all is `"write"`: open
 * world, undo impossible, idempotency none, authority session. Throws `ContractError` with the path at fault.
 */
export function normalizeContract(
  contract: CapabilityContract | ContractShorthand | undefined,
  schema: JsonSchemaObject,
): NormalContract {
  const given = contract ?? "write";
  if (typeof given === "string" && !Object.hasOwn(SHORTHANDS, given)) {
    throw new ContractError(`Contract "${given}" is not known. Use "read", "write" or a contract object.`, {
      path: "",
    });
  }
  const source = typeof given === "string" ? SHORTHANDS[given] : given;
  checkShape(source);
  const normal = fillDefaults(source);
  checkEffects(normal);
  checkParams(normal, schema);
  checkLimits(normal);
  return normal;
}

function fillDefaults(contract: CapabilityContract): NormalContract {
  const readOnly = isReadOnly(contract);
  const { version, authority, effects, idempotency, concurrency, limits, verification, guidance } = contract;
  return {
    version,
    authority: { ...authority, scopes: [...(authority.scopes ?? [])] },
    effects: {
      ...effects,
      openWorld: effects.openWorld ?? true,
      undo: effects.undo ?? (readOnly ? "not_needed" : "impossible"),
    },
    idempotency: { ...idempotency, scope: idempotency.scope ?? "run" },
    concurrency: { ...concurrency, parallelSafe: concurrency?.parallelSafe ?? readOnly },
    ...(limits === undefined ? {} : { limits: { ...limits } }),
    ...(verification === undefined ? {} : { verification: { ...verification } }),
    ...(guidance === undefined ? {} : { guidance: { ...guidance } }),
  };
}

/** The fields a contract may hold, with the values each takes: `null` is free text. */
const FIELDS: Record<string, Record<string, readonly string[] | null>> = {
  authority: { level: ["none", "session", "grant", "human"], scopes: null, waiver: null },
  effects: {
    kind: ["none", "read", "write", "destructive"],
    domains: null,
    openWorld: null,
    undo: ["not_needed", "reversible", "compensable", "impossible"],
    compensateWith: null,
  },
  idempotency: { mode: ["natural", "keyed", "none"], keyParam: null, scope: ["call", "run", "task"] },
  concurrency: { parallelSafe: null, conflictParam: null, revisionParam: null },
  limits: { timeoutMs: null, maxCallsPerRun: null, maxResultChars: null },
  verification: { methods: null, coverage: null, readback: null },
  guidance: { useWhen: null, avoidWhen: null },
};

function checkShape(contract: unknown): void {
  if (!isPlainObject(contract)) throw new ContractError("A contract is an object.", { path: "" });
  if (typeof contract["version"] !== "string" || contract["version"] === "") {
    throw new ContractError('A contract needs a "version", such as "1".', { path: "version" });
  }
  for (const key of Object.keys(contract)) {
    if (key !== "version" && !Object.hasOwn(FIELDS, key)) throw unknownField(key, Object.keys(FIELDS));
  }
  for (const [part, fields] of Object.entries(FIELDS)) checkPart(part, contract[part], fields);
}

function checkPart(part: string, value: unknown, fields: Record<string, readonly string[] | null>): void {
  const required = part === "authority" || part === "effects" || part === "idempotency";
  if (value === undefined && !required) return;
  if (!isPlainObject(value))
    throw new ContractError(`Contract needs "${part}" as an object.`, { path: part });
  for (const key of Object.keys(value)) {
    if (!Object.hasOwn(fields, key)) throw unknownField(`${part}.${key}`, Object.keys(fields));
  }
  const [first = ""] = Object.keys(fields);
  if (required && value[first] === undefined) {
    throw new ContractError(`Contract needs "${part}.${first}".`, { path: `${part}.${first}` });
  }
  for (const [key, allowed] of Object.entries(fields)) {
    const item = value[key];
    if (item === undefined || allowed === null) continue;
    if (typeof item !== "string" || !allowed.includes(item)) {
      throw new ContractError(
        `"${part}.${key}" is ${JSON.stringify(item)}; use one of ${allowed.join(", ")}.`,
        {
          path: `${part}.${key}`,
        },
      );
    }
  }
}

function unknownField(path: string, known: readonly string[]): ContractError {
  return new ContractError(`Contract field "${path}" is not known. Known: ${known.join(", ")}.`, { path });
}

function checkEffects(contract: NormalContract): void {
  const { authority, effects, idempotency } = contract;
  if (isReadOnly(contract) && effects.undo !== "not_needed") {
    throw new ContractError(
      `A tool of kind "${effects.kind}" has nothing to undo; set undo to "not_needed".`,
      {
        path: "effects.undo",
      },
    );
  }
  if (isReadOnly(contract) && idempotency.mode === "none") {
    throw new ContractError(`A tool of kind "${effects.kind}" can be repeated; set the mode to "natural".`, {
      path: "idempotency.mode",
    });
  }
  const guarded = authority.level === "grant" || authority.level === "human";
  if (effects.kind === "destructive" && !guarded && (authority.waiver ?? "").trim() === "") {
    throw new ContractError(
      'A destructive tool needs level "grant" or "human", or a "waiver" that says why not.',
      {
        path: "authority.level",
      },
    );
  }
  for (const scope of authority.scopes) {
    if (!/^[a-z0-9_.:-]+$/.test(scope)) {
      throw new ContractError(`Scope "${scope}" may hold only a-z, 0-9 and _ . : -`, {
        path: "authority.scopes",
      });
    }
  }
}

function checkParams(contract: NormalContract, schema: JsonSchemaObject): void {
  const { keyParam, mode } = contract.idempotency;
  if (keyParam !== undefined && mode !== "keyed") {
    throw new ContractError('"keyParam" belongs to idempotency mode "keyed".', {
      path: "idempotency.keyParam",
    });
  }
  if (keyParam !== undefined && propertyType(schema, keyParam) !== "string") {
    throw new ContractError(`"${keyParam}" must be a declared property of type string.`, {
      path: "idempotency.keyParam",
    });
  }
  for (const key of ["conflictParam", "revisionParam"] as const) {
    const name = contract.concurrency[key];
    if (name !== undefined && propertyType(schema, name) === undefined) {
      throw new ContractError(`"${name}" must be a declared property.`, { path: `concurrency.${key}` });
    }
  }
}

function propertyType(schema: JsonSchemaObject, name: string): unknown {
  const properties = schema.properties ?? {};
  if (!Object.hasOwn(properties, name)) return undefined;
  const property = properties[name];
  return typeof property === "object" ? (property.type ?? "any") : "any";
}

const MAX_TIMEOUT_MS = 3_600_000;

function checkLimits(contract: NormalContract): void {
  for (const [key, max] of [
    ["timeoutMs", MAX_TIMEOUT_MS],
    ["maxCallsPerRun", Number.MAX_SAFE_INTEGER],
    ["maxResultChars", Number.MAX_SAFE_INTEGER],
  ] as const) {
    const value = contract.limits?.[key];
    if (value === undefined) continue;
    if (!Number.isInteger(value) || value < 1 || value > max) {
      throw new ContractError(`"limits.${key}" is ${String(value)}; use a whole number from 1 to ${max}.`, {
        path: `limits.${key}`,
      });
    }
  }
}

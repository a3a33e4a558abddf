/** The capability contract: what a tool may do, declared once and enforced by the pipeline. */

import { defined } from "./defined.ts";
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
  contract: CapabilityContract | ContractShorthand = "write",
  schema: JsonSchemaObject,
): NormalContract {
  const isShorthand = typeof contract === "string";
  if (isShorthand && !Object.hasOwn(SHORTHANDS, contract))
    throw fault("", `Contract "${contract}" is not known. Use "read", "write" or a contract object.`);
  const source = isShorthand ? SHORTHANDS[contract] : contract;
  checkShape(source);
  const normal = fillDefaults(source);
  checkRules(normal, schema);
  return normal;
}

function fault(path: string, message: string): ContractError {
  return new ContractError(message, { path });
}

function fillDefaults(contract: CapabilityContract): NormalContract {
  const readOnly = isReadOnly(contract);
  const { version, authority, effects, idempotency, concurrency, limits, verification, guidance } = contract;
  const undo = effects.undo ?? (readOnly ? "not_needed" : "impossible");
  return defined({
    version,
    authority: { ...authority, scopes: [...(authority.scopes ?? [])] },
    effects: { ...effects, openWorld: effects.openWorld ?? true, undo },
    idempotency: { ...idempotency, scope: idempotency.scope ?? "run" },
    concurrency: { ...concurrency, parallelSafe: concurrency?.parallelSafe ?? readOnly },
    limits: limits && { ...limits },
    verification: verification && { ...verification },
    guidance: guidance && { ...guidance },
  });
}

/** The fields a contract may hold, with the values each takes: `null` is anything. The first field of a part is required. */
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
  if (!isPlainObject(contract)) throw fault("", "A contract is an object.");
  const { version, ...parts } = contract;
  if (typeof version !== "string" || version === "")
    throw fault("version", 'A contract needs a "version", such as "1".');
  checkKnown("", parts, FIELDS);
  for (const [part, fields] of Object.entries(FIELDS)) {
    const isNeeded = part === "authority" || part === "effects" || part === "idempotency";
    if (parts[part] !== undefined || isNeeded) checkPart(part, parts[part], fields);
  }
}

function checkPart(part: string, value: unknown, fields: Record<string, readonly string[] | null>): void {
  if (!isPlainObject(value)) throw fault(part, `Contract needs "${part}" as an object.`);
  checkKnown(`${part}.`, value, fields);
  for (const [index, [key, allowed]] of Object.entries(fields).entries()) {
    const item = value[key];
    const path = `${part}.${key}`;
    if (allowed === null) {
      if (item !== undefined && !isOfKind(key, item)) throw fault(path, `"${path}" is of the wrong type.`);
      continue;
    }
    if (item === undefined && index === 0) throw fault(path, `Contract needs "${path}".`);
    if (item !== undefined && !allowed.some((known) => known === item))
      throw fault(path, `"${path}" is ${JSON.stringify(item)}; use one of ${allowed.join(", ")}.`);
  }
}

const LISTS = ["scopes", "domains", "methods", "coverage", "useWhen", "avoidWhen"];
const FLAGS = ["openWorld", "parallelSafe"];
const NUMBERS = ["timeoutMs", "maxCallsPerRun", "maxResultChars"];

function isOfKind(key: string, item: unknown): boolean {
  if (LISTS.includes(key)) return Array.isArray(item) && item.every((one) => typeof one === "string");
  if (FLAGS.includes(key)) return typeof item === "boolean";
  if (key === "readback") return isPlainObject(item);
  return NUMBERS.includes(key) || typeof item === "string";
}

function checkKnown(prefix: string, value: object, fields: object): void {
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(fields, key)) continue;
    const known = Object.keys(fields).join(", ");
    throw fault(`${prefix}${key}`, `Contract field "${prefix}${key}" is not known. Known: ${known}.`);
  }
}

const MAX_LIMITS = {
  timeoutMs: 3_600_000,
  maxCallsPerRun: Number.MAX_SAFE_INTEGER,
  maxResultChars: Number.MAX_SAFE_INTEGER,
} as const;

/** The define-time rules of spec core.md section 4. */
function checkRules(contract: NormalContract, schema: JsonSchemaObject): void {
  const { authority, effects, idempotency, concurrency, limits = {} } = contract;
  const { keyParam, mode } = idempotency;
  const check = (holds: boolean, path: string, message: string): void => {
    if (!holds) throw fault(path, message);
  };
  if (isReadOnly(contract)) {
    const tool = `A tool of kind "${effects.kind}"`;
    const isClean = effects.undo === "not_needed";
    check(isClean, "effects.undo", `${tool} has nothing to undo; set undo to "not_needed".`);
    check(mode !== "none", "idempotency.mode", `${tool} can be repeated; set the mode to "natural".`);
  }
  const isGuarded = authority.level === "grant" || authority.level === "human" || !!authority.waiver?.trim();
  check(
    effects.kind !== "destructive" || isGuarded,
    "authority.level",
    'A destructive tool needs level "grant" or "human", or a "waiver" that says why not.',
  );
  for (const scope of authority.scopes) {
    const message = `Scope "${scope}" may hold only a-z, 0-9 and _ . : -`;
    check(/^[a-z0-9_.:-]+$/.test(scope), "authority.scopes", message);
  }
  if (keyParam !== undefined) {
    const path = "idempotency.keyParam";
    check(mode === "keyed", path, '"keyParam" belongs to idempotency mode "keyed".');
    const isText = propertyType(schema, keyParam) === "string";
    check(isText, path, `"${keyParam}" must be a declared property of type string.`);
  }
  for (const key of ["conflictParam", "revisionParam"] as const) {
    const name = concurrency[key];
    const isDeclared = name === undefined || propertyType(schema, name) !== undefined;
    check(isDeclared, `concurrency.${key}`, `"${name}" must be a declared property.`);
  }
  for (const key of ["timeoutMs", "maxCallsPerRun", "maxResultChars"] as const) {
    const { [key]: value = 1 } = limits;
    const message = `"limits.${key}" is ${String(value)}; use a whole number from 1 to ${MAX_LIMITS[key]}.`;
    check(Number.isInteger(value) && value >= 1 && value <= MAX_LIMITS[key], `limits.${key}`, message);
  }
}

function propertyType({ properties = {} }: JsonSchemaObject, name: string): unknown {
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return typeof property === "object" ? (property.type ?? "any") : property && "any";
}

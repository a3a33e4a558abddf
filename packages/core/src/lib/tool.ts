/** A named capability: a schema for the model, a contract for us, a handler. */

import { describeThrown } from "./describe-thrown.ts";
import {
  type CapabilityContract,
  type ContractShorthand,
  type NormalContract,
  normalizeContract,
} from "./contract.ts";
import { type Digest, digest } from "./digest.ts";
import { DefinitionError } from "./errors.ts";
import type { EffectIntent, ReconcileDecision } from "./effect-ledger.ts";
import { type Json, type JsonObject, deepFreeze, isPlainObject } from "./json.ts";
import type { Logger } from "./logger.ts";
import type { Ports } from "./ports.ts";
import type { Grant, Principal } from "./principal.ts";
import type { ModelContent, ToolResult } from "./result.ts";
import type { ChildRun, RunContext } from "./run-context.ts";
import { lintSchema } from "./schema-lint.ts";
import { emitJsonSchema } from "./schema-source.ts";
import { type InferOutput, type JsonSchemaObject, type ToolSchema, isStandardSchema } from "./schema.ts";

/** What a handler is given besides its parameters. */
export interface ToolContext {
  readonly callId: string;
  /** The run the call belongs to; absent for a direct call. */
  readonly runId?: string;
  /** Fires on timeout and on cancellation; a handler should stop what it does. */
  readonly signal: AbortSignal;
  /** Hand it to the remote system, so that a repeated call has one effect. */
  readonly idempotencyKey?: string;
  readonly principal: Principal;
  readonly owner: string;
  readonly grants: readonly Grant[];
  readonly logger: Logger;
  /** Reports progress to whoever watches the call. Never throws. */
  progress(update: Json): void;
  readonly ports: Ports;
  /** The context for a run started by this call. */
  child(overrides?: ChildRun): RunContext;
}

/** What `reconcile` is given besides the intent. */
export interface ReconcileContext {
  readonly signal: AbortSignal;
  readonly ports: Ports;
  readonly logger: Logger;
}

/** An example the model and the documentation show. */
export interface ToolExample {
  readonly description: string;
  readonly input: JsonObject;
  readonly output?: Json;
}

/** A unit test that travels with the tool (spec core.md section 15). */
export interface ToolTest {
  readonly description: string;
  readonly input: JsonObject;
  readonly expect: {
    readonly success?: boolean;
    /** Text the error has to contain. */
    readonly error?: string;
    readonly data?: Json;
    /** How `data` is compared: objects by `subset` (default) or `exact`; arrays by length unless `subset` is asked. */
    readonly match?: "subset" | "exact";
  };
}

/** What an author writes. */
export interface ToolDefinition<S extends ToolSchema = ToolSchema, R = unknown> {
  /** `/^[a-z][a-z0-9_]*$/`, at most 64 characters. */
  readonly name: string;
  /** What it does, for the model; at least 5 characters after trimming. */
  readonly description: string;
  readonly inputSchema: S;
  /** Checked against `data` of a success. */
  readonly outputSchema?: ToolSchema;
  /** Runs one call. Params have passed `inputSchema`. */
  handler(params: InferOutput<S>, context: ToolContext): ToolResult<R> | Promise<ToolResult<R>>;
  readonly examples?: readonly ToolExample[];
  readonly tests?: readonly ToolTest[];
  /** Default: the pessimistic contract (`"write"`). */
  readonly contract?: CapabilityContract | ContractShorthand;
  readonly tags?: readonly string[];
  /** Unknown params are errors instead of being dropped. */
  readonly strict?: boolean;
  /** Finds out what became of a call that began and never said; it must change nothing. */
  reconcile?(intent: EffectIntent, context: ReconcileContext): Promise<ReconcileDecision>;
  /** What the model reads, if not the result. */
  toModel?(result: ToolResult<R>): ModelContent;
}

/** A checked, frozen tool. Only `defineTool` makes one. */
export interface Tool<S extends ToolSchema = ToolSchema, R = unknown> extends ToolDefinition<S, R> {
  readonly contract: NormalContract;
  readonly tags: readonly string[];
  readonly strict: boolean;
  /** The JSON Schema that is linted, hashed and sent. */
  readonly parameters: JsonSchemaObject;
  /** The JSON Schema of `data`, where `outputSchema` is given. */
  readonly output?: JsonSchemaObject;
  /** Covers name, description, schemas, tags and the normalised contract. */
  readonly digest: Digest;
}

/** What an author writes who states the parameter type by hand instead of inferring it. */
export interface TypedToolDefinition<P> extends Omit<ToolDefinition, "handler"> {
  handler(params: P, context: ToolContext): ToolResult | Promise<ToolResult>;
}

const BRAND = Symbol.for("openfunctions.tool");
const NAME_PATTERN = /^[a-z][a-z0-9_]*$/;

/** Checks a definition and returns a deep-frozen copy; later edits of the given object change nothing.
 * Throws `DefinitionError` naming the field, or `ContractError` naming the path. */
export function defineTool<const S extends ToolSchema, R>(definition: ToolDefinition<S, R>): Tool<S, R>;
/** The same with a parameter type stated by hand. */
export function defineTool<P>(definition: TypedToolDefinition<P>): Tool;
export function defineTool(definition: ToolDefinition): Tool {
  if (!isPlainObject(definition)) {
    throw new DefinitionError("A tool definition is an object literal.", { field: "definition", tool: "" });
  }
  checkName(definition.name);
  checkDescription(definition);
  const parameters = readSchema(definition, "inputSchema", true);
  checkHandler(definition);
  const tags = readTags(definition);
  const contract = deepFreeze(structuredClone(normalizeContract(definition.contract, parameters)));
  return freezeTool(definition, { parameters, tags, contract });
}

/** True for what `defineTool` of any copy of core returned. */
export function isTool(value: unknown): value is Tool {
  return typeof value === "object" && value !== null && Reflect.get(value, BRAND) === true;
}

interface CheckedParts {
  readonly parameters: JsonSchemaObject;
  readonly tags: readonly string[];
  readonly contract: NormalContract;
}

function freezeTool(definition: ToolDefinition, parts: CheckedParts): Tool {
  const { name, description, handler, toModel, reconcile } = definition;
  const { parameters, tags, contract } = parts;
  const output =
    definition.outputSchema === undefined ? undefined : readSchema(definition, "outputSchema", false);
  let known: Digest | undefined;
  const tool = {
    name,
    description,
    // A Standard Schema is kept by reference: it validates; the JSON Schema it emits is what we freeze.
    inputSchema: isStandardSchema(definition.inputSchema) ? definition.inputSchema : parameters,
    ...(definition.outputSchema === undefined || output === undefined
      ? {}
      : {
          outputSchema: isStandardSchema(definition.outputSchema) ? definition.outputSchema : output,
          output,
        }),
    handler: handler.bind(definition),
    ...(toModel === undefined ? {} : { toModel: toModel.bind(definition) }),
    ...(reconcile === undefined ? {} : { reconcile: reconcile.bind(definition) }),
    ...copyList("examples", definition.examples),
    ...copyList("tests", definition.tests),
    contract,
    tags,
    strict: definition.strict === true,
    parameters,
    get digest(): Digest {
      known ??= digest("tool/1", {
        name,
        description,
        input: parameters,
        output,
        tags: [...tags].sort(),
        contract,
      });
      return known;
    },
  };
  Object.defineProperty(tool, BRAND, { value: true });
  return Object.freeze(tool);
}

function copyList<K extends string, T>(
  key: K,
  list: readonly T[] | undefined,
): { readonly [P in K]?: readonly T[] } {
  if (list === undefined) return {};
  const entry: { [P in K]?: readonly T[] } = {};
  entry[key] = deepFreeze(structuredClone(list));
  return entry;
}

function checkName(name: unknown): void {
  const shown = JSON.stringify(name) ?? String(name);
  if (typeof name !== "string" || !NAME_PATTERN.test(name)) {
    throw new DefinitionError(
      `Tool name ${shown} is not snake_case: use a-z, 0-9 and _, beginning with a letter, as in "add_task".`,
      { field: "name", tool: String(name) },
    );
  }
  if (name.length > 64) {
    throw new DefinitionError(`Tool name ${shown} has ${name.length} characters; at most 64 are allowed.`, {
      field: "name",
      tool: name,
    });
  }
}

function checkDescription({ name, description }: ToolDefinition): void {
  if (typeof description === "string" && description.trim().length >= 5) return;
  const shown = JSON.stringify(description) ?? String(description);
  throw new DefinitionError(
    `Tool "${name}" has the description ${shown}; say in at least 5 characters what it does.`,
    { field: "description", tool: name },
  );
}

function checkHandler({ name, handler }: ToolDefinition): void {
  if (typeof handler === "function") return;
  throw new DefinitionError(`Tool "${name}" has no handler function (got ${typeof handler}).`, {
    field: "handler",
    tool: name,
  });
}

function readSchema(
  definition: ToolDefinition,
  field: "inputSchema" | "outputSchema",
  root: boolean,
): JsonSchemaObject {
  const { name } = definition;
  const source = definition[field];
  const fail = (message: string, cause?: unknown): DefinitionError =>
    Object.assign(new DefinitionError(`Tool "${name}", ${field}: ${message}`, { field, tool: name }), {
      cause,
    });
  if (source === undefined || source === null || (!isStandardSchema(source) && !isPlainObject(source))) {
    throw fail("give a JSON Schema object or a Standard Schema.");
  }
  let schema: JsonSchemaObject;
  try {
    schema = emitJsonSchema(source);
  } catch (cause) {
    throw fail(describeThrown(cause), cause);
  }
  const [first] = lintSchema(schema, { root });
  if (first !== undefined) throw fail(`${first.path === "" ? "" : `at "${first.path}": `}${first.problem}`);
  return deepFreeze(structuredClone(schema));
}

function readTags(definition: ToolDefinition): readonly string[] {
  const tags = definition.tags ?? [];
  const bad = tags.find(
    (tag, index) => typeof tag !== "string" || tag.trim() === "" || tags.indexOf(tag) !== index,
  );
  if (bad === undefined) return Object.freeze([...tags]);
  throw new DefinitionError(
    `Tool "${definition.name}" has the tag ${JSON.stringify(bad)}; tags are non-empty and unique.`,
    {
      field: "tags",
      tool: definition.name,
    },
  );
}

/** Arguments as they came become arguments that fit, or one message that says why they do not. */

import { dropUnknown, namesAdded, noteNames, planOf, removeNulls } from "./argument-plan.ts";
import { decodeText, repairArguments } from "./argument-repair.ts";
import { copyJson, isPlainObject, joinPath, type Json, type JsonObject } from "./json.ts";
import type { JsonSchemaObject, StandardIssue, StandardResult, StandardSchema } from "./schema.ts";
import { shortJson, shortText } from "./short-json.ts";
import { type ValidationProblem, validatorFor } from "./validate.ts";
import { describeProblems } from "./validation-message.ts";

/** What arguments are held to. */
export interface ToolInput {
  readonly toolName: string;
  /** The frozen JSON Schema of the input; for a Standard Schema the one it emitted. */
  readonly schema: JsonSchemaObject;
  /** Validates instead of the JSON Schema. */
  readonly standard?: StandardSchema;
  /** Unknown arguments are errors instead of being dropped. */
  readonly strict: boolean;
}

/** Who wrote the arguments. Only a model's are repaired. */
export interface PrepareOptions {
  readonly origin: "model" | "program";
}

/** Arguments ready for the handler, or why not. `message` and the values are content; `paths` may be logged. */
export type PreparedArguments =
  | {
      readonly ok: true;
      /** What the record keeps: a copy, with defaults filled in, before a Standard Schema's transforms. */
      readonly args: JsonObject;
      /** What the handler receives: `args`, or the output of the Standard Schema. */
      readonly params: unknown;
      readonly argsOrigin: "model" | "repaired" | "program";
      /** Unknown top-level names that were left out. */
      readonly droppedArgs: readonly string[];
      /** Dotted paths that a default filled in. */
      readonly defaulted: readonly string[];
    }
  | {
      readonly ok: false;
      readonly message: string;
      readonly paths: readonly { readonly path: string; readonly keyword: string }[];
    };

/**
 * Copies, cleans and validates arguments (spec core.md section 2): `undefined` is `{}`, nulls that mean "left out" go,
 * unknown names are dropped, defaults land on the copy. A model's arguments that fail get one lossless repair. The given
 * value is never changed. Answers without a promise unless ajv has to be loaded or a Standard Schema is asynchronous.
 * Never throws for what the arguments are.
 */
export function prepareArguments(
  input: ToolInput,
  value: unknown,
  options: PrepareOptions,
): PreparedArguments | Promise<PreparedArguments> {
  const decoded =
    options.origin === "model" && typeof value === "string" ? decodeText(value, isPlainObject) : undefined;
  const source = value === undefined ? {} : (decoded ?? value);
  if (!isPlainObject(source))
    return refuse(input, source, [jsonProblem("", `must be a plain object, got ${nameOf(source)}`)]);
  const { copy, problems } = copyJson(source);
  if (problems.length > 0)
    return refuse(
      input,
      {},
      problems.map(({ path, problem }) => jsonProblem(path, problem)),
    );
  const dropped = Object.hasOwn(source, "__proto__") ? ["__proto__"] : [];
  const origin = decoded === undefined ? options.origin : "repaired";
  return then(check(input, copy), (attempt) => {
    if (attempt.problems.length === 0) return accept(attempt, origin, dropped);
    const refused = refuse(input, attempt.args, attempt.problems);
    if (options.origin !== "model") return refused;
    const repaired = then(faultsOf(input, source, attempt), (faults) =>
      repair(input, { value: copyJson(source).copy, faults, rounds: MAX_REPAIR_ROUNDS }),
    );
    return then(repaired, (better) => (better === undefined ? refused : accept(better, "repaired", dropped)));
  });
}

/** Text inside decoded text: `"{\"limit\":\"5\"}"` takes two rounds. */
const MAX_REPAIR_ROUNDS = 3;

const MAX_PATHS = 100;

interface Attempt {
  readonly args: JsonObject;
  readonly params: unknown;
  readonly problems: readonly ValidationProblem[];
  readonly dropped: readonly string[];
  readonly defaulted: readonly string[];
}

/** Cleans and validates a copy of our own, in place. */
function check(input: ToolInput, copy: Json): Attempt | Promise<Attempt> {
  if (!isObject(copy))
    return {
      args: {},
      params: {},
      problems: [jsonProblem("", "must be an object")],
      dropped: [],
      defaulted: [],
    };
  const plan = planOf(input.schema);
  removeNulls(copy, plan.nulls);
  const { kept: args, unknown } =
    plan.known === undefined ? { kept: copy, unknown: [] } : dropUnknown(copy, plan.known);
  const strange = input.strict ? unknown.map(unknownProblem) : [];
  const dropped = input.strict ? [] : unknown;
  const { standard } = input;
  if (standard !== undefined) {
    return then(validateStandard(standard, args), (result) => {
      const problems = [...strange, ...(result.issues ?? []).map((issue) => issueProblem(issue, args))];
      const params = result.issues === undefined ? result.value : undefined;
      return {
        args,
        params,
        problems,
        dropped,
        defaulted: plan.hasDefaults ? filledIn(args, params, input.schema) : [],
      };
    });
  }
  const before = plan.hasDefaults ? noteNames(args) : [];
  return then(validatorFor(input.schema).validate(args), (found) => {
    const problems = strange.length === 0 ? found : [...strange, ...found];
    return { args, params: args, problems, dropped, defaulted: namesAdded(before) };
  });
}

function isObject(value: Json): value is JsonObject {
  return isPlainObject(value);
}

function accept(
  attempt: Attempt,
  argsOrigin: "model" | "repaired" | "program",
  dropped: readonly string[],
): PreparedArguments {
  const { args, params, defaulted } = attempt;
  return { ok: true, args, params, argsOrigin, droppedArgs: [...dropped, ...attempt.dropped], defaulted };
}

function refuse(input: ToolInput, value: unknown, problems: readonly ValidationProblem[]): PreparedArguments {
  const message = describeProblems(input.toolName, problems, { schema: input.schema, value });
  return {
    ok: false,
    message,
    paths: problems.slice(0, MAX_PATHS).map(({ path, keyword }) => ({ path: shortText(path, 200), keyword })),
  };
}

/** Problems that say what type was wanted. A Standard Schema's issues do not, so its JSON Schema is asked. */
function faultsOf(
  input: ToolInput,
  source: unknown,
  attempt: Attempt,
): Attempt["problems"] | Promise<Attempt["problems"]> {
  if (input.standard === undefined) return attempt.problems;
  return then(check(jsonInput(input), copyJson(source).copy), ({ problems }) => problems);
}

function jsonInput({ toolName, schema, strict }: ToolInput): ToolInput {
  return { toolName, schema, strict };
}

interface RepairState {
  readonly value: Json;
  readonly faults: readonly ValidationProblem[];
  readonly rounds: number;
}

/** The attempt that fits after decoding, or undefined. */
function repair(input: ToolInput, state: RepairState): Attempt | undefined | Promise<Attempt | undefined> {
  const value = state.rounds === 0 ? undefined : repairArguments(state.value, state.faults);
  if (value === undefined) return undefined;
  return then(check(input, copyJson(value).copy), (attempt) => {
    if (attempt.problems.length === 0) return attempt;
    return then(faultsOf(input, value, attempt), (faults) =>
      repair(input, { value, faults, rounds: state.rounds - 1 }),
    );
  });
}

/** Goes on at once when there is nothing to wait for. */
function then<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

function validateStandard(
  standard: StandardSchema,
  args: JsonObject,
): StandardResult<unknown> | Promise<StandardResult<unknown>> {
  const failed = (cause: unknown): StandardResult<unknown> => ({
    issues: [{ message: `could not be checked: ${cause instanceof Error ? cause.message : String(cause)}` }],
  });
  try {
    const result = standard["~standard"].validate(args);
    return result instanceof Promise ? result.catch(failed) : result;
  } catch (cause) {
    return failed(cause);
  }
}

/** The names that have a default in the schema, were left out, and are in the output. */
function filledIn(args: JsonObject, params: unknown, schema: JsonSchemaObject): readonly string[] {
  if (typeof params !== "object" || params === null) return [];
  return Object.entries(schema.properties ?? {})
    .filter(
      ([name, property]) =>
        typeof property === "object" &&
        property.default !== undefined &&
        !Object.hasOwn(args, name) &&
        Object.hasOwn(params, name),
    )
    .map(([name]) => name);
}

function nameOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return shortJson(value);
  return Array.isArray(value) ? "an array" : `a ${value.constructor?.name ?? "special object"}`;
}

function jsonProblem(path: string, message: string): ValidationProblem {
  return { path, segments: [], keyword: "json", message, params: {}, schemaPath: "" };
}

function unknownProblem(name: string): ValidationProblem {
  const message = "is not a known property";
  return {
    path: name,
    segments: [name],
    keyword: "additionalProperties",
    message,
    params: {},
    schemaPath: "#/additionalProperties",
  };
}

/** An issue of a Standard Schema as one of our problems; what is absent reads as missing, like everywhere else. */
function issueProblem(issue: StandardIssue, args: JsonObject): ValidationProblem {
  const segments = (issue.path ?? []).map((step) => segmentOf(typeof step === "object" ? step.key : step));
  const found = segments.reduce<unknown>(
    (here, step) =>
      typeof here === "object" && here !== null && Object.hasOwn(here, step)
        ? Reflect.get(here, step)
        : undefined,
    args,
  );
  const path = segments.reduce<string>(joinPath, "");
  const absent = found === undefined && typeof segments.at(-1) === "string";
  const pointer = segments
    .slice(0, -1)
    .map((step) =>
      typeof step === "number" ? "items" : `properties/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`,
    );
  const schemaPath = absent ? ["#", ...pointer, "required"].join("/") : "";
  return {
    path,
    segments,
    keyword: absent ? "required" : "schema",
    message: issue.message,
    params: {},
    schemaPath,
  };
}

function segmentOf(key: PropertyKey): string | number {
  return typeof key === "symbol" ? String(key) : key;
}

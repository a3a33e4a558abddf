/** Arguments as they came become arguments that fit, or one message that says why they do not. */

import { describeThrown } from "./describe-thrown.ts";
import { dropUnknown, namesAdded, planOf, removeNulls } from "./argument-plan.ts";
import { decodeText, repairArguments } from "./argument-repair.ts";
import { copyJson, isPlainObject, joinPath, type Json, type JsonObject } from "./json.ts";
import { ownValue } from "./schema-walk.ts";
import type { JsonSchemaObject, StandardIssue, StandardResult, StandardSchema } from "./schema.ts";
import { shortJson, shortText } from "./short-json.ts";
import { jsonProblem, type ValidationProblem, validatorFor } from "./validate.ts";
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

/** Arguments ready for the handler. */
export interface AcceptedArguments {
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

/** Why arguments do not fit. `message` holds values: it is content. `paths` (at most 100) may be logged. */
export interface RefusedArguments {
  readonly ok: false;
  readonly message: string;
  readonly paths: readonly { readonly path: string; readonly keyword: string }[];
}

/** What became of arguments. */
export type PreparedArguments = AcceptedArguments | RefusedArguments;

/**
 * Copies, cleans and validates arguments (spec core.md section 2): `undefined` is `{}`, nulls that mean "left out" go,
 * unknown names are dropped, defaults land on the copy. A model's arguments that fail get one lossless repair. The
 * given value is never changed. Answers without a promise unless ajv has to be loaded or a Standard Schema is
 * asynchronous. Never throws for what the arguments are.
 */
export function prepareArguments(
  input: ToolInput,
  value: unknown,
  { origin }: PrepareOptions,
): PreparedArguments | Promise<PreparedArguments> {
  const decoded = origin === "model" ? decodeText(value, isPlainObject) : undefined;
  const source = value === undefined ? {} : (decoded ?? value);
  if (!isPlainObject(source))
    return refuse(input, {}, [jsonProblem("", `must be a plain object, got ${nameOf(source)}`)]);
  const { copy, problems } = copyJson(source);
  const faults = problems.map(({ path, problem }) => jsonProblem(path, problem));
  if (faults.length > 0) return refuse(input, {}, faults);
  const dropped = Object.hasOwn(source, "__proto__") ? ["__proto__"] : [];
  return after(check(input, copy), (attempt) => {
    if (attempt.problems.length === 0)
      return accept(attempt, decoded === undefined ? origin : "repaired", dropped);
    const refused = refuse(input, attempt.args, attempt.problems);
    if (origin === "program") return refused;
    const repaired = repair(input, { value: copyJson(source).copy, attempt, rounds: MAX_REPAIR_ROUNDS });
    return after(repaired, (better) =>
      better === undefined ? refused : accept(better, "repaired", dropped),
    );
  });
}

interface Attempt {
  readonly args: JsonObject;
  readonly params: unknown;
  readonly problems: readonly ValidationProblem[];
  readonly dropped: readonly string[];
  readonly defaulted: readonly string[];
}

/** Cleans and validates a copy of our own, in place. */
function check(input: ToolInput, copy: Json): Attempt | Promise<Attempt> {
  const { schema, standard, strict } = input;
  const plan = planOf(schema);
  removeNulls(copy, plan.nulls);
  const { kept: args, unknown } = dropUnknown(isObject(copy) ? copy : {}, plan.known);
  const strange = strict ? unknown.map(unknownProblem) : [];
  const dropped = strict ? [] : unknown;
  const before = plan.hasDefaults ? copyJson(args).copy : undefined;
  return after(validate(schema, standard, args), ({ problems: found, params }) => {
    const problems = strange.length === 0 ? found : [...strange, ...found];
    return { args, params, problems, dropped, defaulted: namesAdded(before, params) };
  });
}

type Checked = Pick<Attempt, "problems" | "params">;

function validate(
  schema: JsonSchemaObject,
  standard: StandardSchema | undefined,
  args: JsonObject,
): Checked | Promise<Checked> {
  if (standard === undefined)
    return after(validatorFor(schema).validate(args), (problems) => ({ problems, params: args }));
  const failed = (cause: unknown): StandardResult<unknown> => ({
    issues: [{ message: `could not be checked: ${describeThrown(cause)}` }],
  });
  const toChecked = (result: StandardResult<unknown>): Checked =>
    result.issues === undefined
      ? { problems: [], params: result.value }
      : { problems: result.issues.map((issue) => issueProblem(issue, args)), params: undefined };
  try {
    const result = standard["~standard"].validate(args);
    return result instanceof Promise ? result.catch(failed).then(toChecked) : toChecked(result);
  } catch (cause) {
    return toChecked(failed(cause));
  }
}

function isObject(value: Json): value is JsonObject {
  return isPlainObject(value);
}

function accept(
  attempt: Attempt,
  argsOrigin: AcceptedArguments["argsOrigin"],
  dropped: readonly string[],
): AcceptedArguments {
  const { args, params, defaulted } = attempt;
  return { ok: true, args, params, argsOrigin, droppedArgs: [...dropped, ...attempt.dropped], defaulted };
}

function refuse(input: ToolInput, value: unknown, problems: readonly ValidationProblem[]): RefusedArguments {
  const message = describeProblems(input.toolName, problems, { schema: input.schema, value });
  const paths = problems.slice(0, 100).map(({ path, keyword }) => ({ path: shortText(path, 200), keyword }));
  return { ok: false, message, paths };
}

/** Text inside decoded text: `"{\"limit\":\"5\"}"` takes two rounds. */
const MAX_REPAIR_ROUNDS = 3;

/** The attempt that fits after decoding, or undefined. `attempt` is what validating the value gave. */
function repair(
  input: ToolInput,
  { value, attempt, rounds }: { readonly value: Json; readonly attempt: Attempt; readonly rounds: number },
): Attempt | undefined | Promise<Attempt | undefined> {
  const { toolName, schema, strict, standard } = input;
  // The issues of a Standard Schema do not say what type was wanted, so its JSON Schema is asked.
  const typed = standard === undefined ? attempt : check({ toolName, schema, strict }, copyJson(value).copy);
  return after(typed, ({ problems }) => {
    const repaired = repairArguments(value, problems);
    if (repaired === undefined) return undefined;
    return after(check(input, copyJson(repaired).copy), (next) => {
      if (next.problems.length === 0) return next;
      return rounds <= 1 ? undefined : repair(input, { value: repaired, attempt: next, rounds: rounds - 1 });
    });
  });
}

/** Goes on at once when there is nothing to wait for. */
function after<T, U>(value: T | Promise<T>, next: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

function nameOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return shortJson(value);
  return Array.isArray(value) ? "an array" : `a ${value.constructor?.name ?? "special object"}`;
}

function unknownProblem(name: string): ValidationProblem {
  const keyword = "additionalProperties";
  return { path: name, segments: [name], keyword, message: "", params: {}, schemaPath: `#/${keyword}` };
}

/** An issue of a Standard Schema as one of our problems; what is absent reads as missing, like everywhere else. */
function issueProblem({ message, path: steps = [] }: StandardIssue, args: JsonObject): ValidationProblem {
  const keys = steps.map((step) => (typeof step === "object" ? step.key : step));
  const segments = keys.map((key) => (typeof key === "symbol" ? String(key) : key));
  const absent =
    typeof segments.at(-1) === "string" && segments.reduce<unknown>(ownValue, args) === undefined;
  const holders = segments
    .slice(0, -1)
    .map((step) => (typeof step === "number" ? "items" : `properties/${encodeURIComponent(step)}`));
  const schemaPath = absent ? ["#", ...holders, "required"].join("/") : "";
  const path = segments.reduce<string>(joinPath, "");
  return { path, segments, keyword: absent ? "required" : "schema", message, params: {}, schemaPath };
}

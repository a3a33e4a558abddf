/** Why these params do not fit, one problem per fault. The only file that knows ajv. */

import { describeThrown } from "./describe-thrown.ts";
import type { Ajv2020, ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { InputError } from "./errors.ts";
import { isPlainObject, type Json, joinPath } from "./json.ts";
import { quickCheck } from "./quick-check.ts";
import { type Keywords, mapSubschemas, ownValue, pointerSteps } from "./schema-walk.ts";
import type { JsonSchemaObject } from "./schema.ts";

/** One fault of a value. */
export interface ValidationProblem {
  /** Dotted place in the value, a missing or unknown property included: `o.k`, `list[2]`, "" for the whole value. */
  readonly path: string;
  /** The same place, step by step. */
  readonly segments: readonly (string | number)[];
  /** The JSON Schema keyword that failed; `json` for what is not JSON, `schema` for an issue of a Standard Schema. */
  readonly keyword: string;
  /** What the keyword asks, to read after the path: `must be integer`. */
  readonly message: string;
  /** What the keyword holds: `{ type }`, `{ allowedValues }`, `{ missingProperty }`, and so on as ajv names them. */
  readonly params: Readonly<Record<string, unknown>>;
  /** JSON pointer of the keyword in the schema, as ajv gives it; "" where there is none. */
  readonly schemaPath: string;
}

type CreateAjv = () => Ajv2020;

// What is memoised in this module cannot be observed: one schema object always means the same validator, and loading
// or renewing ajv changes no answer. So it is not the module-level state that two registries could meet in.
const validators = new WeakMap<JsonSchemaObject, SchemaValidator>();
const shared: { create?: CreateAjv; ajv?: Ajv2020; compiled: number } = { compiled: 0 };

/** The validator of a schema, one per (frozen) schema object. Loads and compiles nothing. */
export function validatorFor(schema: JsonSchemaObject): SchemaValidator {
  const validator = validators.get(schema) ?? new SchemaValidator(schema);
  validators.set(schema, validator);
  return validator;
}

/** Loads ajv once and compiles all these schemas, so that no later call pays for it. */
export async function warmValidators(schemas: Iterable<JsonSchemaObject>): Promise<void> {
  for (const schema of schemas) await validatorFor(schema).warm();
}

const NO_PROBLEMS: readonly ValidationProblem[] = Object.freeze([]);

/** Valid calls answered without ajv before a schema counts as long-lived and is compiled. */
const QUICK_ANSWERS = 16;

/** Checks values against one schema. Compiles when it has to. */
export class SchemaValidator {
  readonly #schema: JsonSchemaObject;
  #compiled: ValidateFunction | undefined;
  #quickAnswers = 0;

  constructor(schema: JsonSchemaObject) {
    this.#schema = schema;
  }

  /** True once the compiled validator answers; then `validate` never returns a promise. */
  get isWarm(): boolean {
    return this.#compiled !== undefined;
  }

  /**
   * The faults of the value (at most 500), empty when it fits. Fills defaults into the value in place. Answers with a
   * promise when ajv has to be loaded first. Throws `InputError` for a schema that does not compile (none that passed
   * the lint).
   */
  validate(value: Json): readonly ValidationProblem[] | Promise<readonly ValidationProblem[]> {
    if (this.#compiled !== undefined) return run(this.#compiled, value);
    const isFine = quickCheck(this.#schema, value) === "valid";
    if (isFine) this.#quickAnswers += 1;
    if (isFine && this.#quickAnswers < QUICK_ANSWERS) return NO_PROBLEMS;
    if (shared.create !== undefined) return run(this.#compile(shared.create), value);
    const loading = loadAjv();
    if (!isFine) return loading.then((create) => run(this.#compile(create), value));
    loading.catch(() => undefined); // in the background; the first call that needs ajv reports the failure
    return NO_PROBLEMS;
  }

  /** Loads ajv when needed and compiles. */
  async warm(): Promise<void> {
    this.#compile(await loadAjv());
  }

  #compile(create: CreateAjv): ValidateFunction {
    this.#compiled ??= compile(this.#schema, create);
    return this.#compiled;
  }
}

async function loadAjv(): Promise<CreateAjv> {
  const { Ajv2020: Ajv } = await import("ajv/dist/2020.js");
  // The formats alone: the root of ajv-formats would load a second, draft-07 ajv.
  const { fullFormats: formats } = await import("ajv-formats/dist/formats.js");
  const rules = {
    allErrors: true,
    useDefaults: true,
    ownProperties: true,
    strictNumbers: true,
    strict: false,
  };
  // Unknown formats would be logged, and packages do not print. Schemas were linted (schema-lint.ts), and compiling
  // the meta-schemas would cost 50 ms.
  shared.create ??= () => new Ajv({ ...rules, formats, logger: false, meta: false, validateSchema: false });
  return shared.create;
}

/**
 * ajv's code scope keeps every schema and function it ever compiled, and `removeSchema` does not empty it. A new
 * instance costs 0.1 ms without meta-schemas, so the shared one is renewed after this many; validators outlive it.
 */
const RENEW_AFTER = 100;

function compile(schema: JsonSchemaObject, create: CreateAjv): ValidateFunction {
  if (shared.ajv === undefined || shared.compiled % RENEW_AFTER === 0) shared.ajv = create();
  shared.compiled += 1;
  const source = compilable(schema);
  try {
    return shared.ajv.compile(source);
  } catch (cause) {
    throw new InputError(`The schema does not compile: ${describeThrown(cause)}`, { cause });
  } finally {
    shared.ajv.removeSchema(source);
  }
}

/**
 * The schema without names, which two tools may share (references are local pointers), and without extensions, in
 * which ajv would look for names too.
 */
function compilable(schema: Keywords): Record<string, unknown> {
  const entries = Object.entries(schema).filter(([keyword]) => !/^(\$id|\$anchor|x-.*)$/s.test(keyword));
  return mapSubschemas(Object.fromEntries(entries), ({ schema: below }) =>
    isPlainObject(below) ? compilable(below) : below,
  );
}

// A wrong array of a megabyte has a million faults, and nobody reads them.
const MAX_PROBLEMS = 500;

function run(validate: ValidateFunction, value: Json): readonly ValidationProblem[] {
  try {
    if (validate(value)) return NO_PROBLEMS;
  } catch (cause) {
    // ajv compares objects (enum, const, uniqueItems) by calling their toString, which a value may define as it likes.
    return [jsonProblem("", `cannot be compared: ${describeThrown(cause)}`)];
  }
  const errors = validate.errors ?? [];
  validate.errors = null; // the compiled function lives on; the values in its errors should not
  return errors.slice(0, MAX_PROBLEMS).map((error) => toProblem(error, value));
}

/** A fault found without the schema. */
export function jsonProblem(path: string, message: string): ValidationProblem {
  return { path, segments: [], keyword: "json", message, params: {}, schemaPath: "" };
}

function toProblem(error: ErrorObject, value: Json): ValidationProblem {
  const { keyword, schemaPath, params, message = `breaks "${keyword}"` } = error;
  const segments: (string | number)[] = [];
  let here: unknown = value;
  for (const step of pointerSteps(error.instancePath)) {
    segments.push(Array.isArray(here) ? Number(step) : step);
    here = ownValue(here, step);
  }
  const { missingProperty, additionalProperty, unevaluatedProperty } = params;
  const name: unknown = missingProperty ?? additionalProperty ?? unevaluatedProperty;
  const propertyName: unknown = params["propertyName"] ?? error.propertyName;
  if (typeof (name ?? propertyName) === "string") segments.push(String(name ?? propertyName));
  return { path: segments.reduce<string>(joinPath, ""), segments, keyword, message, params, schemaPath };
}

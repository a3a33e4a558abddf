/** Why these params do not fit, one problem per fault. The only file that knows ajv. */

import type { Ajv2020, ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { InputError } from "./errors.ts";
import { isPlainObject, type Json, joinPath } from "./json.ts";
import { quickCheck } from "./quick-check.ts";
import { mapSubschemas, pointerSteps } from "./schema-walk.ts";
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

/** Checks values against one schema. */
export interface SchemaValidator {
  /** True once the compiled validator answers; then `validate` never returns a promise. */
  readonly isWarm: boolean;
  /**
   * The faults of the value (at most 1,000), empty when it fits. Fills defaults into the value in place. The first call that needs ajv
   * answers with a promise. Throws `InputError` for a schema that does not compile (none that passed the lint).
   */
  validate(value: Json): readonly ValidationProblem[] | Promise<readonly ValidationProblem[]>;
  /** Loads ajv when needed and compiles. */
  warm(): Promise<void>;
}

// What is memoised in this module has no observable state: the same schema object always means the same validator, and
// loading or renewing ajv changes no answer. Both copies of core in one process may hold their own.
const validators = new WeakMap<JsonSchemaObject, LazyValidator>();
const shared: { loading?: Promise<() => Ajv2020>; create?: () => Ajv2020; ajv?: Ajv2020 | undefined; compiled: number } = { compiled: 0 };

/** The validator of a schema, one per (frozen) schema object. Loads and compiles nothing. */
export function validatorFor(schema: JsonSchemaObject): SchemaValidator {
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = new LazyValidator(schema);
    validators.set(schema, validator);
  }
  return validator;
}

/** Loads ajv once and compiles all these schemas, so that no later call pays for it. */
export async function warmValidators(schemas: Iterable<JsonSchemaObject>): Promise<void> {
  for (const schema of schemas) await validatorFor(schema).warm();
}

const NO_PROBLEMS: readonly ValidationProblem[] = Object.freeze([]);

/** Valid calls answered without ajv before a schema counts as long-lived and is compiled. */
const QUICK_ANSWERS = 16;

class LazyValidator implements SchemaValidator {
  readonly #schema: JsonSchemaObject;
  #compiled: ValidateFunction | undefined;
  #quickAnswers = 0;

  constructor(schema: JsonSchemaObject) {
    this.#schema = schema;
  }

  get isWarm(): boolean {
    return this.#compiled !== undefined;
  }

  validate(value: Json): readonly ValidationProblem[] | Promise<readonly ValidationProblem[]> {
    if (this.#compiled !== undefined) return run(this.#compiled, value);
    if (quickCheck(this.#schema, value) === "valid") {
      this.#countQuickAnswer();
      return NO_PROBLEMS;
    }
    if (shared.create !== undefined) return run(this.#compile(shared.create), value);
    return loadAjv().then((create) => run(this.#compile(create), value));
  }

  async warm(): Promise<void> {
    this.#compile(await loadAjv());
  }

  #countQuickAnswer(): void {
    this.#quickAnswers += 1;
    if (this.#quickAnswers < QUICK_ANSWERS) return;
    if (shared.create !== undefined) this.#compile(shared.create);
    else loadAjv().catch(() => undefined); // in the background; the first call that needs ajv reports the failure
  }

  #compile(create: () => Ajv2020): ValidateFunction {
    this.#compiled ??= compile(this.#schema, create);
    return this.#compiled;
  }
}

function loadAjv(): Promise<() => Ajv2020> {
  shared.loading ??= importAjv();
  return shared.loading;
}

async function importAjv(): Promise<() => Ajv2020> {
  // The formats alone: the root of ajv-formats would load a second, draft-07 ajv.
  const [{ Ajv2020: Ajv }, { fullFormats }] = await Promise.all([import("ajv/dist/2020.js"), import("ajv-formats/dist/formats.js")]);
  shared.create = () =>
    new Ajv({
      allErrors: true,
      useDefaults: true,
      ownProperties: true,
      strictNumbers: true,
      strict: false,
      // Unknown formats would be logged, and packages do not print.
      logger: false,
      formats: fullFormats,
      // Schemas were linted (schema-lint.ts); compiling the meta-schemas would cost 50 ms.
      meta: false,
      validateSchema: false,
    });
  return shared.create;
}

/**
 * ajv's code scope keeps every schema and function it ever compiled, and `removeSchema` does not empty it. A new
 * instance costs 0.1 ms without meta-schemas, so the shared one is renewed after this many; validators outlive it.
 */
const RENEW_AFTER = 100;

function compile(schema: JsonSchemaObject, create: () => Ajv2020): ValidateFunction {
  if (shared.ajv === undefined || shared.compiled >= RENEW_AFTER) {
    shared.ajv = create();
    shared.compiled = 0;
  }
  shared.compiled += 1;
  const source = compilable(schema);
  try {
    return shared.ajv.compile(source);
  } catch (cause) {
    throw new InputError(`The schema does not compile: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  } finally {
    shared.ajv.removeSchema(source);
  }
}

/**
 * The schema without its name, which two tools may share (references are local), and without extensions, in which ajv
 * would look for names and anchors too.
 */
function compilable(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(schema).filter(([keyword]) => keyword !== "$id" && !keyword.startsWith("x-"));
  return mapSubschemas(Object.fromEntries(entries), (at) => (isPlainObject(at.schema) ? compilable(at.schema) : at.schema));
}

function run(validate: ValidateFunction, value: Json): readonly ValidationProblem[] {
  try {
    if (validate(value)) return NO_PROBLEMS;
  } catch (cause) {
    // ajv compares objects (enum, const, uniqueItems) by calling their toString, which a value may define as it likes.
    return [{ path: "", segments: [], keyword: "json", message: `cannot be compared: ${String(cause)}`, params: {}, schemaPath: "" }];
  }
  const errors = validate.errors ?? [];
  validate.errors = null; // the compiled function lives on; the values in its errors should not
  const missing = errors.length > MAX_PROBLEMS ? errors.filter((error) => error.keyword === "required") : [];
  return [...missing, ...errors].slice(0, MAX_PROBLEMS).map((error) => toProblem(error, value));
}

// A wrong array of a megabyte has a million faults; nobody reads them, and what is missing matters most.
const MAX_PROBLEMS = 1_000;

function toProblem(error: ErrorObject, value: Json): ValidationProblem {
  const { keyword, schemaPath, params } = error;
  const segments = segmentsOf(error, value);
  const path = segments.reduce<string>(joinPath, "");
  return { path, segments, keyword, message: error.message ?? `breaks "${keyword}"`, params, schemaPath };
}

function segmentsOf(error: ErrorObject, value: Json): readonly (string | number)[] {
  const segments: (string | number)[] = [];
  let here: unknown = value;
  for (const step of pointerSteps(error.instancePath)) {
    segments.push(Array.isArray(here) ? Number(step) : step);
    here = typeof here === "object" && here !== null ? Reflect.get(here, step) : undefined;
  }
  const { missingProperty, additionalProperty, unevaluatedProperty, propertyName } = error.params;
  const named: unknown = missingProperty ?? additionalProperty ?? unevaluatedProperty ?? propertyName ?? error.propertyName;
  return typeof named === "string" ? [...segments, named] : segments;
}

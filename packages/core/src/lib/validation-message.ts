/** What to tell the model (or the caller) about values that do not fit: one message, one line per problem. */

import { isPlainObject } from "./json.ts";
import { nearest } from "./nearest.ts";
import { declaredProperties, resolveLocalReference } from "./schema-walk.ts";
import type { JsonSchemaObject } from "./schema.ts";
import { shortJson, shortText } from "./short-json.ts";
import type { ValidationProblem } from "./validate.ts";

/** What the problems are about. */
export interface ProblemSubject {
  readonly schema: JsonSchemaObject;
  /** The value that was validated. */
  readonly value: unknown;
  /** What to call it. Default `arguments`. */
  readonly what?: string;
}

const MAX_LINES = 20;
// Sorting out what hides what is not linear, and nobody reads the thousandth problem.
const MAX_CONSIDERED = 500;

/**
 * The tool's name, then one line per problem with its dotted path: missing properties first, with their description; a
 * type error hides the other errors of its path; a failed `anyOf` or `oneOf` is one line that names the alternatives.
 * At most 20 lines, then how many more. The text holds values: it is content, not for a log.
 */
export function describeProblems(toolName: string, problems: readonly ValidationProblem[], subject: ProblemSubject): string {
  const missing = problems.filter(isMissing);
  const ordered = [...missing, ...problems.filter((problem) => !isMissing(problem))];
  const considered = ordered.slice(0, MAX_CONSIDERED);
  const lines = new Set(essential(considered).map((problem) => `- ${line(problem, subject)}`));
  const total = lines.size + ordered.length - considered.length;
  const more = total > MAX_LINES ? [`... and ${total - Math.min(lines.size, MAX_LINES)} more`] : [];
  const heading = `Tool "${toolName}", ${total} ${total === 1 ? "problem" : "problems"} in the ${subject.what ?? "arguments"}:`;
  return [heading, ...[...lines].slice(0, MAX_LINES), ...more].join("\n");
}

function isMissing({ keyword }: ValidationProblem): boolean {
  return keyword === "required" || keyword === "dependentRequired";
}

function isUnion({ keyword }: ValidationProblem): boolean {
  return keyword === "anyOf" || keyword === "oneOf";
}

/** Leaves out what another line already says. */
function essential(problems: readonly ValidationProblem[]): readonly ValidationProblem[] {
  const unions = problems.filter(isUnion);
  const whole = problems.filter(
    (problem) => problem.keyword !== "if" && problem.keyword !== "propertyNames" && !unions.some((union) => isBranchOf(problem, union)),
  );
  const typed = new Set(whole.filter((problem) => problem.keyword === "type").map((problem) => problem.path));
  const kept = whole.filter((problem) => problem.keyword === "type" || !typed.has(problem.path));
  return kept.length > 0 ? kept : problems;
}

/**
 * True for a problem inside one of the alternatives of `union`. A branch behind a reference has a schema path of its
 * own, so everything at or below the union's value counts, except what stands beside the union in its own schema.
 */
function isBranchOf(problem: ValidationProblem, union: ValidationProblem): boolean {
  if (problem === union || problem.schemaPath === "") return false;
  if (problem.schemaPath.startsWith(`${union.schemaPath}/`)) return true;
  const beside = union.schemaPath.slice(0, union.schemaPath.lastIndexOf("/") + 1);
  if (problem.schemaPath.startsWith(beside)) return false;
  return union.segments.every((segment, index) => problem.segments[index] === segment);
}

function line(problem: ValidationProblem, subject: ProblemSubject): string {
  const place = problem.path === "" ? `the ${subject.what ?? "arguments"}` : shortText(problem.path, 200);
  // Names, descriptions and a vendor's message may hold line breaks or half characters; a line may not.
  return `${place}: ${says(problem, subject)}`.replace(/[\r\n\u2028\u2029]+/g, " ").toWellFormed();
}

function says(problem: ValidationProblem, subject: ProblemSubject): string {
  const { keyword, message, params } = problem;
  if (isMissing(problem)) return `is missing${descriptionOf(problem, subject)}`;
  switch (keyword) {
    case "json":
    case "schema":
      return message;
    case "additionalProperties":
    case "unevaluatedProperties":
      return `is not a known property${suggestion(problem, subject)}`;
    case "false schema":
      return "is not allowed";
    case "type":
      return `must be ${[params["type"]].flat().join(" or ")}, got ${kindOf(valueAt(problem, subject))}`;
    case "enum":
      return `must be one of ${listed(params["allowedValues"])}, got ${got(problem, subject)}`;
    case "const":
      return `must be ${shortJson(params["allowedValue"], 200)}, got ${got(problem, subject)}`;
    case "anyOf":
    case "oneOf":
      return `${unionText(problem, subject)}, got ${got(problem, subject)}`;
    default:
      return `${message}, got ${got(problem, subject)}`;
  }
}

function listed(values: unknown): string {
  const texts = Array.isArray(values) ? values.map((value) => shortJson(value)) : [];
  return shortText(texts.join(", "), 1_000);
}

function got(problem: ValidationProblem, subject: ProblemSubject): string {
  return shortJson(valueAt(problem, subject));
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return "an object";
  return value === null || value === undefined ? String(value) : `the ${typeof value} ${shortJson(value)}`;
}

function valueAt(problem: ValidationProblem, subject: ProblemSubject): unknown {
  return problem.segments.reduce<unknown>((here, step) => (typeof here === "object" && here !== null ? Reflect.get(here, step) : undefined), subject.value);
}

/** The schema that holds the keyword which failed. */
function schemaOf(problem: ValidationProblem, subject: ProblemSubject): Record<string, unknown> {
  const holder = problem.schemaPath.slice(0, Math.max(0, problem.schemaPath.lastIndexOf("/")));
  const found = resolveLocalReference(subject.schema, holder || "#");
  return isPlainObject(found) ? found : {};
}

function descriptionOf(problem: ValidationProblem, subject: ProblemSubject): string {
  const { properties } = schemaOf(problem, subject);
  const name = problem.segments.at(-1);
  const property = isPlainObject(properties) && typeof name === "string" && Object.hasOwn(properties, name) ? properties[name] : undefined;
  const description = dereferenced(property, subject)["description"];
  return typeof description === "string" && description !== "" ? ` (${shortText(description, 200)})` : "";
}

function suggestion(problem: ValidationProblem, subject: ProblemSubject): string {
  const { names } = declaredProperties(schemaOf(problem, subject), subject.schema);
  const [near] = nearest(String(problem.segments.at(-1)), names, 1);
  return near === undefined ? "" : `; did you mean "${near}"?`;
}

function unionText(problem: ValidationProblem, subject: ProblemSubject): string {
  if (Array.isArray(problem.params["passingSchemas"])) return "matches more than one alternative where exactly one is allowed";
  const branches = schemaOf(problem, subject)[problem.keyword];
  const names = Array.isArray(branches) ? branches.map((branch) => shortText(alternative(branch, subject), 80)) : [];
  return `must be one of: ${shortText([...new Set(names)].join(" | "), 600)}`;
}

function alternative(branch: unknown, subject: ProblemSubject): string {
  const schema = dereferenced(branch, subject);
  const { title, type, properties, required } = schema;
  if (typeof title === "string") return title;
  if (schema["const"] !== undefined) return shortJson(schema["const"]);
  if (Array.isArray(schema["enum"])) return listed(schema["enum"]);
  const known = isPlainObject(properties) ? properties : {};
  const needed = Array.isArray(required) ? required.map(String) : Object.keys(known);
  if (needed.length === 0) return type === undefined ? "another shape" : [type].flat().join(" or ");
  const parts = needed.map((name) => {
    const property = known[name];
    return isPlainObject(property) && property["const"] !== undefined ? `${name}: ${shortJson(property["const"])}` : name;
  });
  return `object {${parts.join(", ")}}`;
}

function dereferenced(schema: unknown, subject: ProblemSubject): Record<string, unknown> {
  if (!isPlainObject(schema)) return {};
  const reference = schema["$ref"];
  const target = typeof reference === "string" ? resolveLocalReference(subject.schema, reference) : undefined;
  return isPlainObject(target) ? { ...target, ...schema } : schema;
}

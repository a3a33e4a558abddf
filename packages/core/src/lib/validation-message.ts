/** What to tell the model (or the caller) about values that do not fit: one message, one line per problem. */

import { isPlainObject } from "./json.ts";
import { nearest } from "./nearest.ts";
import { declaredProperties, type Keywords, ownValue, resolveLocalReference } from "./schema-walk.ts";
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
export function describeProblems(
  toolName: string,
  problems: readonly ValidationProblem[],
  subject: ProblemSubject,
): string {
  const missingFirst = [...problems.filter(isMissing), ...problems.filter((problem) => !isMissing(problem))];
  const ordered = missingFirst.slice(0, MAX_CONSIDERED);
  const lines = [...new Set(essential(ordered).map((problem) => toLine(problem, subject)))];
  const total = `${lines.length} ${lines.length === 1 ? "problem" : "problems"}`;
  const heading = `Tool "${toolName}", ${total} in the ${subject.what ?? "arguments"}:`;
  const more = lines.length > MAX_LINES ? [`... and ${lines.length - MAX_LINES} more`] : [];
  return [heading, ...lines.slice(0, MAX_LINES), ...more].join("\n");
}

function isMissing({ keyword }: ValidationProblem): boolean {
  return keyword === "required" || keyword === "dependentRequired";
}

/** Leaves out what another line already says. */
function essential(problems: readonly ValidationProblem[]): readonly ValidationProblem[] {
  const unions = problems.filter(({ keyword }) => keyword === "anyOf" || keyword === "oneOf");
  const inside = (problem: ValidationProblem): boolean => unions.some((union) => isBranchOf(problem, union));
  const whole = problems.filter(
    (problem) => problem.keyword !== "if" && problem.keyword !== "propertyNames" && !inside(problem),
  );
  const typed = new Set(whole.filter(({ keyword }) => keyword === "type").map(({ path }) => path));
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
  if (problem.schemaPath.startsWith(`${holderOf(union)}/`)) return false;
  return union.segments.every((segment, index) => problem.segments[index] === segment);
}

/** The pointer of the schema that holds the keyword which failed. */
function holderOf({ schemaPath }: ValidationProblem): string {
  return schemaPath.slice(0, Math.max(0, schemaPath.lastIndexOf("/")));
}

function toLine(problem: ValidationProblem, subject: ProblemSubject): string {
  const place = problem.path === "" ? `the ${subject.what ?? "arguments"}` : shortText(problem.path, 200);
  const holder = dereferenced({ $ref: holderOf(problem) || "#" }, subject);
  // Names, descriptions and a vendor's message may hold line breaks or half characters; a line may not.
  return `- ${place}: ${says(problem, holder, subject)}`.replace(/[\r\n\u2028\u2029]+/g, " ").toWellFormed();
}

function says(
  { keyword, message, params, segments }: ValidationProblem,
  holder: Keywords,
  subject: ProblemSubject,
): string {
  const got = segments.reduce<unknown>(ownValue, subject.value);
  const name = String(segments.at(-1));
  switch (keyword) {
    case "json":
    case "schema":
      return message;
    case "required":
    case "dependentRequired": {
      const { description } = dereferenced(ownValue(holder["properties"], name), subject);
      return `is missing${typeof description === "string" ? ` (${shortText(description, 200)})` : ""}`;
    }
    case "additionalProperties":
    case "unevaluatedProperties": {
      const [near] = nearest(name, declaredProperties(holder, subject.schema).names, 1);
      return `is not a known property${near === undefined ? "" : `; did you mean "${near}"?`}`;
    }
    case "false schema":
      return "is not allowed";
    case "type":
      return `must be ${typeNames(params["type"])}, got ${kindOf(got)}`;
    case "enum":
      return `must be one of ${listed(params["allowedValues"])}, got ${shortJson(got)}`;
    case "const":
      return `must be ${shortJson(params["allowedValue"], 200)}, got ${shortJson(got)}`;
    case "anyOf":
    case "oneOf":
      if (Array.isArray(params["passingSchemas"]))
        return "matches more than one alternative, exactly one is allowed";
      return `must be one of: ${alternatives(holder[keyword], subject)}, got ${shortJson(got)}`;
    default:
      return `${message}, got ${shortJson(got)}`;
  }
}

function listed(values: unknown): string {
  const texts = [values].flat().map((value) => shortJson(value));
  return shortText(texts.join(", "), 1_000);
}

function typeNames(types: unknown): string {
  return [types].flat().join(" or ");
}

function kindOf(value: unknown): string {
  if (typeof value !== "object" || value === null)
    return value === null ? "null" : `the ${typeof value} ${shortJson(value)}`;
  return Array.isArray(value) ? "an array" : "an object";
}

function alternatives(branches: unknown, subject: ProblemSubject): string {
  const names = [branches].flat().map((branch) => shortText(alternative(dereferenced(branch, subject)), 80));
  return shortText([...new Set(names)].join(" | "), 600);
}

function alternative(schema: Keywords): string {
  const { title, type, properties, required } = schema;
  if (typeof title === "string") return title;
  if (schema["const"] !== undefined || schema["enum"] !== undefined)
    return listed(schema["const"] ?? schema["enum"]);
  const names: readonly unknown[] = Array.isArray(required) ? required : Object.keys(Object(properties));
  if (names.length === 0) return type === undefined ? "another shape" : typeNames(type);
  const parts = names.map((name) => {
    const fixed = ownValue(ownValue(properties, String(name)), "const");
    return fixed === undefined ? String(name) : `${String(name)}: ${shortJson(fixed)}`;
  });
  return `object {${parts.join(", ")}}`;
}

function dereferenced(schema: unknown, subject: ProblemSubject): Keywords {
  if (!isPlainObject(schema)) return {};
  const target = resolveLocalReference(subject.schema, schema["$ref"]);
  return isPlainObject(target) ? { ...target, ...schema } : schema;
}

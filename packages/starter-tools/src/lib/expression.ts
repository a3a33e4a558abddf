/** Arithmetic as people write it: "15% of 2,340", "(3 + 4) * 2", "sqrt(2)". No code is evaluated. */

/** A value, or where and why the text is no arithmetic. */
export type Evaluation =
  | { readonly ok: true; readonly value: number }
  | { readonly ok: false; readonly problem: string };

const MAX_LENGTH = 500;
const MAX_DEPTH = 64;

const CONSTANTS: ReadonlyMap<string, number> = new Map([
  ["pi", Math.PI],
  ["e", Math.E],
  ["tau", 2 * Math.PI],
]);

const FUNCTIONS: ReadonlyMap<string, (...values: number[]) => number> = new Map<
  string,
  (...values: number[]) => number
>([
  ["sqrt", Math.sqrt],
  ["abs", Math.abs],
  ["round", Math.round],
  ["floor", Math.floor],
  ["ceil", Math.ceil],
  ["ln", Math.log],
  ["log", Math.log10],
  ["exp", Math.exp],
  ["sin", Math.sin],
  ["cos", Math.cos],
  ["tan", Math.tan],
  ["min", Math.min],
  ["max", Math.max],
]);

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bdivided\s+by\b/g, "/"],
  [/\bmultiplied\s+by\b|\btimes\b|×/g, "*"],
  [/\bplus\b/g, "+"],
  [/\bminus\b|−/g, "-"],
  [/\bpercent\b/g, "%"],
  [/÷/g, "/"],
  [/\*\*/g, "^"],
];

/** Evaluates a text. Percent: `15% of x` is a share, `x + 15%` adds a share of x, anything else is a hundredth. */
export function evaluate(text: string): Evaluation {
  if (text.length > MAX_LENGTH) return { ok: false, problem: `is longer than ${MAX_LENGTH} characters` };
  const plain = WORDS.reduce(
    (result, [pattern, sign]) => result.replace(pattern, sign),
    text.toLowerCase().replace(/[=?]\s*$/, ""),
  );
  try {
    const parser = new Parser(tokensOf(plain));
    return { ok: true, value: parser.whole() };
  } catch (cause) {
    if (cause instanceof NotArithmetic) return { ok: false, problem: cause.message };
    throw cause;
  }
}

class NotArithmetic extends Error {}

interface Token {
  readonly kind: "number" | "name" | "sign";
  readonly text: string;
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const pattern =
    /\s*(?:(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e[+-]?\d+)?|\.\d+)|([a-z]+)|([+\-*/^%(),]))/gy;
  const end = text.trimEnd().length;
  while (pattern.lastIndex < end) {
    const at = pattern.lastIndex;
    const match = pattern.exec(text);
    if (match === null) throw new NotArithmetic(`cannot be read at "${text.slice(at, at + 12).trim()}"`);
    const [, number, name, sign] = match;
    if (number !== undefined) tokens.push({ kind: "number", text: number.replaceAll(",", "") });
    else tokens.push(name === undefined ? { kind: "sign", text: sign ?? "" } : { kind: "name", text: name });
  }
  return tokens;
}

/** A value, and whether it was written as a percentage. */
interface Term {
  readonly value: number;
  readonly percent: boolean;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): number {
    if (this.#tokens.length === 0) throw new NotArithmetic("is empty");
    const { value } = this.#sum();
    const rest = this.#tokens[this.#at];
    if (rest !== undefined) throw new NotArithmetic(`has "${rest.text}" where it should end`);
    if (!Number.isFinite(value))
      throw new NotArithmetic("has no finite result (a division by zero, or too large)");
    return value;
  }

  #sum(): Term {
    let left = this.#product();
    for (;;) {
      const sign = this.#take("+") ?? this.#take("-");
      if (sign === undefined) return left;
      const right = this.#product();
      const amount = right.percent && !left.percent ? left.value * right.value : right.value;
      left = {
        value: sign === "+" ? left.value + amount : left.value - amount,
        percent: left.percent && right.percent,
      };
    }
  }

  #product(): Term {
    let left = this.#power();
    for (;;) {
      const sign = this.#take("*") ?? this.#take("/") ?? this.#take("of");
      if (sign === undefined) return left;
      const right = this.#power();
      left = { value: sign === "/" ? left.value / right.value : left.value * right.value, percent: false };
    }
  }

  #power(): Term {
    const base = this.#signed();
    if (this.#take("^") === undefined) return base;
    return { value: base.value ** this.#power().value, percent: false };
  }

  #signed(): Term {
    if (this.#take("-") !== undefined) {
      const { value, percent } = this.#power();
      return { value: -value, percent };
    }
    this.#take("+");
    return this.#percentage();
  }

  #percentage(): Term {
    const value = this.#atom();
    if (this.#take("%") === undefined) return { value, percent: false };
    return { value: value / 100, percent: true };
  }

  #atom(): number {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new NotArithmetic("ends too early");
    this.#at += 1;
    if (token.kind === "number") return Number(token.text);
    if (token.text === "(") return this.#group();
    const constant = CONSTANTS.get(token.text);
    if (constant !== undefined) return constant;
    const apply = FUNCTIONS.get(token.text);
    if (apply !== undefined && this.#take("(") !== undefined) return apply(...this.#list());
    throw new NotArithmetic(`has "${token.text}", which is no number, operator or function`);
  }

  #group(): number {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new NotArithmetic("is nested too deep");
    const { value } = this.#sum();
    this.#depth -= 1;
    if (this.#take(")") === undefined) throw new NotArithmetic('lacks a ")"');
    return value;
  }

  #list(): number[] {
    const values = [this.#sum().value];
    while (this.#take(",") !== undefined) values.push(this.#sum().value);
    if (this.#take(")") === undefined) throw new NotArithmetic('lacks a ")"');
    return values;
  }

  #take(text: string): string | undefined {
    if (this.#tokens[this.#at]?.text !== text) return undefined;
    this.#at += 1;
    return text;
  }
}

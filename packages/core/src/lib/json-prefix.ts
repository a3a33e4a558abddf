/** Could this text still become JSON? Tells a cut from a mistake. */

/**
 * True where `text` is a prefix of some JSON object text that is not yet complete, so that more characters
 * could finish it: `{"path":"a` is, `{bad` and a complete object are not. One pass, constant work per
 * character, no recursion. Grammar: RFC 8259.
 */
export function isJsonObjectPrefix(text: string): boolean {
  const scan = new PrefixScan(text);
  return scan.run();
}

type Expect = "value" | "first-item" | "first-key" | "key" | "colon" | "after" | "end";

const NUMBER_PREFIX = /^-?(?:$|(?:0|[1-9]\d*)(?:$|(?:\.\d*)?(?:$|(?:(?<=\d)[eE](?:$|[+-]?\d*)))))$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const WORDS: Readonly<Record<string, string>> = { t: "true", f: "false", n: "null" };

class PrefixScan {
  readonly #text: string;
  readonly #open: ("{" | "[")[] = [];
  #expect: Expect = "value";
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  run(): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== "{") return false;
    while (this.#at < this.#text.length) {
      const step = this.#step();
      if (step === "cut") return true;
      if (step === "bad") return false;
      this.#skipSpace();
    }
    return this.#expect !== "end";
  }

  /** Reads one token. `cut`: the text ended inside it and could go on. */
  #step(): "ok" | "cut" | "bad" {
    const char = this.#text[this.#at] ?? "";
    switch (this.#expect) {
      case "end":
        return "bad";
      case "colon":
        return char === ":" ? this.#take("value") : "bad";
      case "first-key":
        if (char === "}") return this.#close();
        return char === '"' ? this.#string("colon") : "bad";
      case "key":
        return char === '"' ? this.#string("colon") : "bad";
      case "after":
        return this.#after(char);
      case "first-item":
        return char === "]" ? this.#close() : this.#value(char);
      case "value":
        return this.#value(char);
    }
  }

  #after(char: string): "ok" | "bad" {
    const inside = this.#open.at(-1);
    if (char === ",") return this.#take(inside === "{" ? "key" : "value");
    return char === (inside === "{" ? "}" : "]") ? this.#close() : "bad";
  }

  #value(char: string): "ok" | "cut" | "bad" {
    if (char === "{" || char === "[") {
      this.#open.push(char);
      return this.#take(char === "{" ? "first-key" : "first-item");
    }
    if (char === '"') return this.#string("after");
    const word = WORDS[char];
    return word === undefined ? this.#number() : this.#word(word);
  }

  #take(next: Expect): "ok" {
    this.#at += 1;
    this.#expect = next;
    return "ok";
  }

  #close(): "ok" {
    this.#open.pop();
    return this.#take(this.#open.length === 0 ? "end" : "after");
  }

  #word(word: string): "ok" | "cut" | "bad" {
    const rest = this.#text.slice(this.#at, this.#at + word.length);
    if (!word.startsWith(rest)) return "bad";
    this.#at += rest.length;
    this.#expect = "after";
    return rest === word ? "ok" : "cut";
  }

  #number(): "ok" | "cut" | "bad" {
    const start = this.#at;
    while (this.#at < this.#text.length && "+-.eE0123456789".includes(this.#text[this.#at] ?? "")) this.#at += 1;
    const token = this.#text.slice(start, this.#at);
    if (token === "") return "bad";
    this.#expect = "after";
    if (this.#at === this.#text.length) return NUMBER_PREFIX.test(token) ? "cut" : "bad";
    return NUMBER.test(token) ? "ok" : "bad";
  }

  #string(next: Expect): "ok" | "cut" | "bad" {
    this.#at += 1;
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] ?? "";
      if (char === '"') return this.#take(next);
      if (char < " ") return "bad";
      if (char === "\\") {
        const escape = this.#escape();
        if (escape !== "ok") return escape;
      } else {
        this.#at += 1;
      }
    }
    return "cut";
  }

  #escape(): "ok" | "cut" | "bad" {
    const kind = this.#text[this.#at + 1];
    if (kind === undefined) return "cut";
    if (kind !== "u") {
      this.#at += 2;
      return '"\\/bfnrt'.includes(kind) ? "ok" : "bad";
    }
    const digits = this.#text.slice(this.#at + 2, this.#at + 6);
    if (!/^[0-9a-fA-F]*$/.test(digits)) return "bad";
    this.#at += 2 + digits.length;
    return digits.length === 4 ? "ok" : "cut";
  }

  #skipSpace(): void {
    while (" \t\n\r".includes(this.#text[this.#at] ?? "x")) this.#at += 1;
  }
}
